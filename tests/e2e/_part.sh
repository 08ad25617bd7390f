#!/bin/sh
# weft dry-run with a CUDA build of PyTorch: figures by hand, lines and counts, ends of every kind. WEFT_TORCH_PYTHON names the Python that has
# it (./dev test --with-torch installs one); without, nothing is tested here.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
build=$(CDPATH='' cd -- "$build" && pwd) # the program may run in another folder
weft=$build/weft
python=${WEFT_TORCH_PYTHON:-}
programs=$root/tests/e2e/dry_programs

if [ -z "$python" ]; then
  skip "weft dry-run with PyTorch" "WEFT_TORCH_PYTHON isn't set"
  finish
  exit
fi

holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }
# dry NAME STATUS ARGUMENT...: the JSON of a run in $work/NAME.json, what it said in $work/NAME.said.
dry() {
  name=$1 expected=$2 status=0
  shift 2
  "$weft" dry-run --json "$@" >"$work/$name.json" 2>"$work/$name.said" </dev/null || status=$?
  [ "$status" = "$expected" ] && return 0
  echo "exit status $status, expected $expected:"
  tail -n 30 "$work/$name.said" "$work/$name.json"
  return 1
}

small() {
  dry small "$2" --gpu h100 -- "$python" "$programs/small.py" "$1" && grep -q "^came out $1\$" "$work/small.said"
}
for name in $("$python" "$programs/small.py" list); do
  case $name in
    out_of_memory) ok "$name" small "$name" 1 ;; # which it catches
    *) ok "$name" small "$name" 0 ;;
  esac
done
finish
