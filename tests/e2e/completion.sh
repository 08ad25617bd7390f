#!/bin/sh
# What Tab offers in bash: each command that the help lists, and each command's options, asked of the command itself.
# shellcheck disable=SC2016 # for bash -c, with arguments of its own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
PATH=$(CDPATH='' cd -- "$build" && pwd):$PATH
export PATH
if ! command -v bash >/dev/null 2>&1; then
  skip "completion" "no bash here"
  finish
  exit
fi

# offered WORD...: what completes the last of the words of a command line.
offered() {
  bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\n" "${COMPREPLY[@]}"' \
    "$root/docs/completion/weft.bash" "$@" 2>/dev/null | sort
}

commands=$(weft --help | sed -n '/^  --help/q; s/^  \([a-z][^ ]*\).*/\1/p' | sort)
ok "the help lists commands" test "$(echo "$commands" | wc -l)" -ge 9
ok "all of them are offered, and two options" equal "$(offered weft '')" "$(printf '%s\n' "$commands" --help --version | sort)"
ok "one by its beginning" equal "$(offered weft rep)" replay-alloc
for command in $commands; do
  ok "options of $command" equal "$(offered weft "$command" --)" \
    "$(weft "$command" --help | grep -oE '^ +(-., )?--[a-z][a-z-]*=?' | grep -oE -e '--[a-z][a-z-]*=?' | sort -u)"
done
ok "no option is begun by a letter" equal "$(offered weft memory m)" ""
finish
