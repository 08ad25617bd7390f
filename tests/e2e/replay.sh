#!/bin/sh
# What weft-replay counts as passed and as failed, and the one tolerance that it has in exact data.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

# one_case OPERATOR INPUT EXPECTED [DTYPE]: a case of one step, whose exact result is expected.
one_case() {
  printf '{"id":"a/b/0","steps":[{"op":"tensor","out":["x"],"args":{"data":[%s],"shape":[1],"dtype":"%s"}},{"op":"%s","in":["x"],"out":["y"]}],"expect":{"y":{"data":[%s],"exact":true}},"error":null,"tol":{"rtol":0.0,"atol":0.0}}\n' \
    "$2" "${4:-float32}" "$1" "$3" >"$work/case.jsonl"
}

# replays LAST_LINE [NOTES]: replays it; the last line and the number of notes are as told.
replays() {
  "$build/weft-replay" "$work/case.jsonl" >"$work/output"
  cat "$work/output"
  equal "$(tail -n 1 "$work/output")" "$1" && equal "$(grep -c '^note: ' "$work/output")" "${2:-0}"
}

one_case sqrt 4.75 2.1794496
ok "a correctly rounded root passes without a note" replays "1 passed, 0 failed"
one_case sqrt 4.75 2.1794493
ok "the neighbour below a correctly rounded root passes with a note" replays "1 passed, 0 failed" 1
one_case sqrt 2.625 1.6201853
ok "the neighbour above passes with a note" replays "1 passed, 0 failed" 1
one_case sqrt 4.75 2.1794490
ok "two units beside fail" replays "0 passed, 1 failed"
one_case sqrt 2.0 1.4142135623730951 float64
ok "a double's root passes" replays "1 passed, 0 failed"
one_case sqrt 2.0 1.4142135623730949 float64
ok "a double's neighbour passes with a note" replays "1 passed, 0 failed" 1
one_case sqrt 2.0 1.4150390625 float16
ok "a half's neighbour fails" replays "0 passed, 1 failed"
one_case reciprocal 3.0 0.33333334
ok "another operator's exact result passes" replays "1 passed, 0 failed"
one_case reciprocal 3.0 0.33333331
ok "another operator's neighbour fails" replays "0 passed, 1 failed"
one_case neg 2.1794496 -2.1794493
ok "so does that of an operator which keeps the value" replays "0 passed, 1 failed"

cat >"$work/case.jsonl" <<'END'
{"id":"a/b/1","steps":[{"op":"tensor","out":["x"],"args":{"data":[4.75],"shape":[1],"dtype":"float32"}},{"op":"sqrt","in":["x"],"out":["y"]},{"op":"detach","in":["y"],"out":["z"]}],"expect":{"z":{"data":[2.1794493],"exact":true}},"error":null,"tol":{"rtol":0.0,"atol":0.0}}
END
ok "a detached root is one" replays "1 passed, 0 failed" 1
cat >"$work/case.jsonl" <<'END'
{"id":"a/b/2","steps":[{"op":"tensor","out":["x"],"args":{"data":[4.75],"shape":[1],"dtype":"float32"}},{"op":"sqrt","in":["x"],"out":["y"]},{"op":"fill_","in":["x"],"args":{"value":4}}],"expect":{"y":{"data":[2.1794493],"exact":true}},"error":null,"tol":{"rtol":0.0,"atol":0.0}}
END
ok "nothing is tolerated when the argument has changed" replays "0 passed, 1 failed"

finish
