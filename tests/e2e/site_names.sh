#!/bin/sh
# The ledger names the lines of a program, whichever compiler made its debug information, and addresses where there is none.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

build=$(cd "$build" && pwd)

# compiled COMPILER OPTION...
compiled() { "$@" -I"$root/include" "$root/examples/ledger.c" -o "$work/ledger" -L"$build" -lweft -Wl,-rpath,"$build"; }

prints_lines() {
  compiled "$@" && "$work/ledger" >"$work/out" && diff -u "$root/examples/ledger.out" "$work/out"
}

prints_addresses() {
  compiled "$@" && "$work/ledger" >"$work/out" && grep -q '^ledger+0x[0-9a-f]*  full' "$work/out"
}

for compiler in gcc clang; do
  if ! command -v "$compiler" >/dev/null 2>&1; then
    skip "lines of $compiler" "it isn't here"
    continue
  fi
  ok "$compiler -O0: the lines of the program" prints_lines "$compiler" -g -O0
  ok "$compiler -O3: the lines of the program" prints_lines "$compiler" -g -O3
  ok "$compiler -gdwarf-4: the lines of the program" prints_lines "$compiler" -g -gdwarf-4 -O2
  ok "$compiler without -g: addresses in the program" prints_addresses "$compiler" -O2
done
finish
