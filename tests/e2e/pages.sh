#!/bin/sh
# What README and docs show runs as shown. Blocks of a page run in order, in one folder a page:
#   c     a program that opens with "/* NAME.c" is written to NAME.c, and compiles alone
#   sh    runs as if in this tree: ./dev, build/, bench/ and docs/ are there; what one exports holds for the later ones.
#         `./dev test` doesn't run: it runs this
#   text  right after sh: what that printed
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

# A home without a space: $(pkg-config …) in a shell can't have one.
HOME=$(mktemp -d)
WEFT_DEV="$root/dev"
build=$(cd "$build" && pwd)
export HOME WEFT_DEV
trap 'rm -rf "$work" "$HOME"' EXIT

compiles() {
  name=$(sed -n '1s|^/\* \([a-z_0-9]*\.c\).*|\1|p' "$1")
  cp "$1" "${name:=program.c}"
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$root/include" "$name"
}

runs() {
  sed "s|\./dev |\"\$WEFT_DEV\" |g" "$1" >"$1.run"
  {
    [ ! -e exports ] || cat exports
    cat "$1.run"
  } >script
  sed -n '/^export /p' "$1.run" >>exports
  sh -eu script >printed 2>errors || {
    tail -n 20 printed errors
    return 1
  }
}

printed() { diff -u "$1" printed; }

ok "no page shows what only this test knows" sh -c '! grep -n "WEFT_DEV" "$@"' sh "$root/README.md" "$root/CONTRIBUTING.md" "$root"/docs/*.md
for page in "$root/README.md" "$root/CONTRIBUTING.md" "$root"/docs/*.md; do
  title=${page#"$root/"}
  folder="$work/$(echo "$title" | tr / _)"
  mkdir -p "$folder/blocks"
  cd "$folder" || exit 1
  ln -s "$build" build
  ln -s "$root/bench" "$root/docs" .
  awk -v folder="$folder/blocks" -f "$root/tests/e2e/extract.awk" "$page" >list
  before=none
  while read -r block language line; do
    file="$folder/blocks/$block.$language"
    case $language in
      c) ok "$title:$line compiles" compiles "$file" ;;
      sh)
        if grep -q '^\./dev test' "$file"; then
          skip "$title:$line runs" "it is what runs this"
        else
          ok "$title:$line runs" runs "$file"
        fi
        ;;
      text) if [ "$before" = sh ]; then ok "$title:$line is what that printed" printed "$file"; fi ;;
    esac
    before=$language
  done <list
done
finish
