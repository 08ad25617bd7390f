#!/bin/sh
# Each public header compiles alone, in C11 and in C++17, with warnings as errors.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

# compiles COMPILER LANGUAGE STANDARD HEADER
compiles() {
  printf '#include <%s>\n#include <%s>\n' "$4" "$4" >"$work/alone.$2"
  "$1" "-std=$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" "$work/alone.$2"
}

cd "$root/include" || exit 1
for header in weft/*.h weft/sys/*.h; do
  for compiler in "${CC:-cc}" clang; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    ok "$header alone in C11 by $compiler" compiles "$compiler" c c11 "$header"
  done
  for compiler in "${CXX:-c++}" clang++; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    ok "$header alone in C++17 by $compiler" compiles "$compiler" cc c++17 "$header"
  done
done
finish
