#!/bin/sh
# Each example runs and prints what examples/NAME.out says.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

prints_what_it_says() {
  "$build/examples/$1" >"$work/out" || return 1
  diff -u "$root/examples/$1.out" "$work/out"
}

build=$(cd "$build" && pwd)
cd "$work" || exit 1 # where an example leaves files
for source in "$root"/examples/*.c; do
  [ -e "$source" ] || continue
  name=$(basename "$source" .c)
  ok "example $name prints what it should" prints_what_it_says "$name"
done
[ "$number" -gt 0 ] || skip "examples" "there are none"
finish
