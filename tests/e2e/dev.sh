#!/bin/sh
# ./dev itself: what it says and how it ends when something isn't as it should be. Stand-ins for programs come first in the path.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

stand_in() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

with_stand_ins() { env PATH="$work/bin:$PATH" WEFT_NO_PACKAGES="$no_packages" "$@"; }

no_packages=
cd / || exit 1
ok "help lists the commands" ends 0 "^  test " "$root/dev" help
ok "no command is misuse" ends 2 "^Usage" "$root/dev"
ok "an unknown command is misuse" ends 2 "no command 'tset'" "$root/dev" tset
ok "an unknown preset is misuse" ends 2 "no preset 'fast'" "$root/dev" build fast

stand_in dpkg-query 'exit 1'
stand_in id 'echo 1000'
stand_in sudo 'exit 1'
ok "without root it prints the command that installs" ends 2 "^  apt-get update && apt-get install -y .* cmake" with_stand_ins "$root/dev" build

stand_in id 'echo 0'
stand_in env 'shift; exec "$@"'
stand_in apt-get 'echo "no network"; exit 100'
ok "a failed installation shows why and names the log" ends 1 "no network" with_stand_ins "$root/dev" build
rm "$work/bin/env"

no_packages=1
mkdir "$work/tree"
cp "$root/dev" "$work/tree/dev"
stand_in cmake 'echo "error: broken"; exit 1'
ok "a failed build shows the end of the log" ends 1 "error: broken" with_stand_ins "$work/tree/dev" build
ok "and names it" ends 1 "whole log is .*/tree/build/logs/build.log" with_stand_ins "$work/tree/dev" build
stand_in cmake 'sleep 20'
ok "Ctrl-C ends it with 130" ends 130 "interrupted" with_stand_ins timeout --preserve-status -s INT 1 "$work/tree/dev" build
finish
