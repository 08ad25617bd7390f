#!/bin/sh
# The pictures of the documentation are what the program draws now.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

ok "the pictures can be drawn" sh "$root/docs/pictures.sh" "$build" "$work/pictures"
for picture in "$root"/docs/pictures/*.svg; do
  ok "$(basename "$picture") is up to date (docs/pictures.sh draws it)" cmp "$picture" "$work/pictures/$(basename "$picture")"
done
finish
