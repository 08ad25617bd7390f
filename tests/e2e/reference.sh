#!/bin/sh
# The API reference can be made, without a warning.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

has_page_of() { grep -l "$1" "$work"/docs/*.html; }

ok "Doxygen makes the reference without a warning" sh "$root/docs/reference.sh" "$work"
ok "a function has its page" has_page_of wf_from_data
finish
