#!/bin/sh
# An installed tree serves users: found by pkg-config and by CMake, from C and C++, and it can be moved.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

prefix="$work/usr local"
ok "installs to a prefix" cmake --install "$build" --prefix "$prefix"
# Moved, so that nothing in it can lean on where it was first.
mv "$prefix" "$work/moved"
prefix="$work/moved"
pc=$(find "$prefix" -name weft.pc -exec dirname {} \;)
lib=$(dirname "$pc")
PKG_CONFIG_PATH="$pc"
export PKG_CONFIG_PATH

mkdir "$work/user"
cat >"$work/user/user.c" <<'EOF'
#include <stdio.h>
#include <weft/weft.h>
int main(void) {
  wf_dims size = WF_SHAPE(2, 3);
  printf("%s %d\n", wf_version(), size.n);
  return wf_error_peek().status;
}
EOF
cp "$work/user/user.c" "$work/user/user.cc"
cat >"$work/user/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(weft 0.1 REQUIRED)
add_executable(user_c user.c)
target_link_libraries(user_c PRIVATE weft::weft)
add_executable(user_cc user.cc)
target_link_libraries(user_cc PRIVATE weft::weft)
EOF

# by_pkg_config COMPILER SOURCE: pkg-config escapes the spaces of its paths, hence eval.
by_pkg_config() {
  eval "$1 \"\$work/user/$2\" -o \"\$work/user/out\" $(pkg-config --cflags --libs weft)" || return 1
  equal "$(LD_LIBRARY_PATH="$lib" "$work/user/out")" "$(pkg-config --modversion weft) 2"
}

by_cmake() {
  cmake -G Ninja -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/user/build" || return 1
  equal "$("$work/user/build/user_c")" "0.1.0 2" && equal "$("$work/user/build/user_cc")" "0.1.0 2"
}

# Whatever a library needs at run time must be found, and OpenBLAS in its OpenMP build.
libraries_found() {
  found=$(ldd "$lib/libweft.so")
  case $found in *"not found"*) echo "$found"; return 1 ;; esac
  case $found in
    *openblas-openmp/libopenblas*) return 0 ;;
    *libopenblas*) echo "$found"; return 1 ;;
  esac
}

soname() { equal "$(readelf -d "$lib/libweft.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" libweft.so.0; }
versioned() { equal "$(readlink "$lib/libweft.so.0")" libweft.so.0.1.0; }
no_other_library() { equal "$(find "$prefix" -name '*.a' -o -name '*cmocka*')" ""; }
only_public_headers() {
  equal "$(cd "$prefix/include" && find . -type f | sort)" "$(cd "$root/include" && find . -name '*.h' | sort)"
}

ok "a C program by pkg-config" by_pkg_config "${CC:-cc}" user.c
ok "a C++ program by pkg-config" by_pkg_config "${CXX:-c++}" user.cc
ok "C and C++ programs by find_package" by_cmake
ok "the library's name is libweft.so.0" soname
ok "libweft.so.0 leads to the full version" versioned
ok "every library that it needs is found" libraries_found
ok "all public headers are installed and no other" only_public_headers
ok "no library for tests is installed" no_other_library

# Each command of the list has a page that names each of its options, and the completions know both.
commands() { "$prefix/bin/weft" --help | sed -n '/^  --help/q; s/^  \([a-z][a-z-]*\)  .*/\1/p'; }
options_of() { "$prefix/bin/weft" "$1" --help | grep -o -e '--[a-z][a-z-]*' | sort -u; }
pages_complete() {
  for command in $(commands); do
    page="$prefix/share/man/man1/weft-$command.1"
    for option in $(options_of "$command"); do
      sed 's/\\-/-/g' "$page" | grep -q -e "$option" || { echo "$page lacks $option"; return 1; }
    done
  done
  [ "$(commands | wc -l)" -ge 5 ]
}
pages_format() {
  command -v groff >/dev/null 2>&1 || return 0
  said=$(for page in "$prefix"/share/man/man1/*.1; do groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null; done)
  equal "$said" ""
}
# completes WORD...: what bash offers for the last word.
completes() {
  bash -c '. "$1/share/bash-completion/completions/weft"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\n" "${COMPREPLY[@]}"' bash "$prefix" "$@"
}
bash_commands() { equal "$(completes "$prefix/bin/weft" au)" audit; }
bash_options() { equal "$(completes "$prefix/bin/weft" check --max-con)" "--max-contiguous="; }
if [ -x "$build/weft" ]; then
  ok "each command has its man page with each option" pages_complete
  ok "man pages format without a warning" pages_format
  ok "bash completes commands" bash_commands
  ok "bash completes options" bash_options
fi
if [ -x "$build/weft" ]; then
  ok "the installed command runs" "$prefix/bin/weft" --version
fi
finish
