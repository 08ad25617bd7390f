#!/bin/sh
# The shared library shows what the public headers declare. The lint prints TAP itself.
here=$(dirname -- "$0")
exec "$here/../../tools/lint/lint" --self-test --library "${1:?"usage: $0 BUILD_FOLDER"}/libweft.so" exports
