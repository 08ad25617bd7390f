#!/bin/sh
# What a command prints gets through, or the command says that it didn't and fails: on a full device, and where standard output is closed.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
trace=$root/docs/traces/slow.json.gz
snapshot=$work/a.pickle
export OMP_NUM_THREADS=1

full() { "$@" >/dev/full; }
closed() { "$@" >&-; }
is_lost() { ends 1 "^weft: the output can't be written" "$@"; }
each_way() {
  ok "on a full device, $1 fails" is_lost full "$weft" "$@"
  ok "with standard output closed, $1 fails" is_lost closed "$weft" "$@"
}

ok "there is a snapshot" "$build/tests/make_snapshot" "$snapshot" 2000
each_way --help
each_way --version
for command in $("$weft" --help | sed -n '/^  --help/q; s/^  \([a-z][a-z-]*\) .*/\1/p'); do
  each_way "$command" --help
  each_way "$command" --usage
done
each_way info
each_way info --json
each_way ops
each_way ops --json
each_way bench micro --runs 1 --filter '^view$'
each_way bench micro --runs 1 --filter '^view$' --json
each_way bench copy --runs 1 --filter '^memcpy'
each_way copy-plan --from 'f32[3,5]'
each_way copy-plan --from 'f32[3,5]' --json
each_way memory "$snapshot"
each_way memory "$snapshot" --json
each_way memory "$snapshot" --map
each_way memory "$snapshot" "$snapshot"
each_way replay-alloc "$snapshot"
each_way replay-alloc "$snapshot" --json
each_way audit "$trace"
each_way audit "$trace" --json
each_way check "$trace" "$trace"
each_way check "$trace" "$trace" --json
if [ -e /usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz ]; then
  each_way train --limit 128 --epochs 0
  each_way train --limit 128 --epochs 0 --json
else
  skip "on a full device, train fails" "dataset-fashion-mnist isn't installed"
fi

replay=$build/weft-replay
printf '{"id":"a/b/0","steps":[{"op":"arange","out":["x"],"args":{"end":2}}],"expect":{"x":{"data":[0,1],"exact":true}},"error":null,"tol":{"rtol":0.0,"atol":0.0}}\n' >"$work/case.jsonl"
ok "a replay passes" ends 0 "1 passed, 0 failed" "$replay" "$work/case.jsonl"
ok "on a full device, it doesn't" ends 2 "^weft-replay: the output can't be written" full "$replay" "$work/case.jsonl"
ok "nor does its --help" ends 2 "^weft-replay: the output can't be written" full "$replay" --help

ok "a file that is written meanwhile gets none of it" is_lost closed "$weft" copy-plan --from 'f32[3,5]' --svg "$work/a.svg"
ok "but what belongs into it" python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$work/a.svg"
ok "a bench ends as soon as nobody gets its figures" sh -c 'timeout 60 "$1" bench copy >/dev/full 2>&1; [ $? = 1 ]' sh "$weft"
ok "so does one whose reader has gone" sh -c 'timeout 60 "$1" bench micro --runs 3 | head -n 1 >/dev/null' sh "$weft"
finish
