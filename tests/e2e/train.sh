#!/bin/sh
# weft train from the outside: what it learns, what it writes, what it refuses and with which exit status.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
data=/usr/share/datasets/fashion-mnist

# number FILE KEY: a number of a JSON object.
number_of() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }

# ---- it trains ----
ok "trains on the emulated accelerator" sh -c '"$1" train --limit 6000 --threads 1 --json --report "$2/bericht ü.html" --trace "$2/trace.json" --save "$2/state.safetensors" >"$2/sim.json"' sh "$weft" "$work"
ok "trains on the host" sh -c '"$1" train --limit 6000 --threads 1 --json --device cpu >"$2/cpu.json"' sh "$weft" "$work"
ok "learns from 6,000 images in one epoch" holds "$work/cpu.json" "0.70 < d['test_accuracy'] < 0.95"
ok "gives the same on both, to the last digit" equal "$(number_of "$work/sim.json" test_accuracy) $(number_of "$work/sim.json" train_loss)" "$(number_of "$work/cpu.json" test_accuracy) $(number_of "$work/cpu.json" train_loss)"
ok "makes no implicit copy once it is warm" holds "$work/sim.json" "d['implicit_copies'] == 0"
ok "nor on the host" holds "$work/cpu.json" "d['implicit_copies'] == 0"
ok "accounts for every byte of every batch that went to the device" holds "$work/sim.json" \
  "sum(c['bytes_read'] for c in d['copies'] if c['kind'] == 'h2d') >= 46 * 128 * (784 + 8)"
ok "names the five stages with seconds, share and waits" holds "$work/sim.json" \
  "all(set(('seconds', 'share', 'wait_seconds')) <= set(d['stages'][s]) for s in ('load', 'copy', 'forward', 'backward', 'optimizer'))"
ok "names a copy's site as file and line" holds "$work/sim.json" "any('.c:' in c['site'] for c in d['copies'])"
ok "keeps its memory" holds "$work/sim.json" "0 < d['peak_allocated_bytes'] < 200e6 and d['peak_rss_bytes'] < 400e6"
ok "writes a trace that is JSON" holds "$work/trace.json" "len(d['traceEvents']) > 1000"
ok "writes a report" grep -q '</html>' "$work/bericht ü.html"
ok "gives the same order whatever the workers" sh -c '"$1" train --limit 6000 --threads 1 --json --workers 3 --pipeline plain >"$2/three.json"' sh "$weft" "$work"
ok "and the same result" equal "$(number_of "$work/three.json" train_loss)" "$(number_of "$work/sim.json" train_loss)"
ok "evaluates what it saved" sh -c '"$1" train --evaluate --load "$2/state.safetensors" --threads 1 --json >"$2/again.json"' sh "$weft" "$work"
ok "with the accuracy that it had" equal "$(number_of "$work/again.json" test_accuracy)" "$(number_of "$work/sim.json" test_accuracy)"
ok "prints a report of at most 80 columns" sh -c '"$1" train --limit 1280 >"$2/text" && grep -q forward "$2/text" && [ "$(LC_ALL=C.UTF-8 wc -L <"$2/text")" -le 80 ]' sh "$weft" "$work"

# ---- and refuses ----
ok "batch 0 is misuse" ends 2 "whole number from 1 to" "$weft" train --batch 0
ok "more workers than a loader takes are misuse" ends 2 "from 0 to 64, not '65'" "$weft" train --workers 65
ok "more threads than kernels use are misuse" ends 2 "from 1 to 1024, not '1025'" "$weft" train --threads 1025
ok "an unknown instruction set is misuse" ends 2 "none of ref, base, avx2, avx512" env WEFT_CPU_MAX=foo "$weft" info
ok "an unknown option is misuse" ends 2 "unrecognized option" "$weft" train --bathc 3
ok "an unknown pipeline is misuse" ends 2 "plain, pinned, async or prefetch" "$weft" train --pipeline fast
ok "a device that isn't there is unusable" ends 2 "cuda" "$weft" train --device cuda
ok "a report that can't be written is a failure, found before training" ends 1 "no/such/folder" "$weft" train --report "$work/no/such/folder/r.html"
ok "a batch that the images don't fill is misuse, not a training of nothing" ends 2 "100 images don't fill a batch of 128" "$weft" train --limit 100
ok "a data set's folder has a name" ends 2 "names no folder" "$weft" train --data fashion-mnist:
ok "two outputs in one file are misuse" ends 2 "two of --report" "$weft" train --report "$work/same" --trace "$work/same"
ok "a state that finds no room says so" ends 1 "/dev/full.*No space left" "$weft" train --epochs 0 --evaluate --limit 0 --save /dev/full
ok "nor can a folder be written over" ends 1 "directory" "$weft" train --save "$work"
ok "a fault of the device is a failure, not misuse" ends 1 "copy failed" env WEFT_SIM=fault=copy:1 "$weft" train --limit 640
ok "a folder without the files says what to install" ends 2 "dataset-fashion-mnist" "$weft" train --data "fashion-mnist:$work"
ok "a state that isn't one is refused" ends 2 "not a valid safetensors file" "$weft" train --load "$data/t10k-labels-idx1-ubyte.gz"

mkdir "$work/data"
cp "$data"/*.gz "$work/data"
truncate -s 100000 "$work/data/train-images-idx3-ubyte.gz"
ok "a truncated file is refused with its name" ends 2 "train-images-idx3-ubyte.gz" "$weft" train --data "fashion-mnist:$work/data"
cp "$data/t10k-labels-idx1-ubyte.gz" "$work/data/train-images-idx3-ubyte.gz"
ok "a file with another magic is refused" ends 2 "magic" "$weft" train --data "fashion-mnist:$work/data"
cp "$data/t10k-images-idx3-ubyte.gz" "$work/data/train-images-idx3-ubyte.gz"
ok "files of different counts are refused" ends 2 "10000 images" "$weft" train --data "fashion-mnist:$work/data"

ok "too little device memory is an error that says who holds what" ends 1 "out of memory" env WEFT_SIM=mem=64MiB "$weft" train --limit 2000
ok "a bad setting of the emulator is refused" ends 2 "WEFT_SIM" env WEFT_SIM=memory=64MiB "$weft" train

ok "Ctrl-C ends with the report of what there is" interrupted 4000 "$work/report" "$weft" train --epochs 50
ok "in words" grep -q "images" "$work/report"
ok "Ctrl-C ends with a report in JSON as well" interrupted 4000 "$work/stopped.json" "$weft" train --epochs 50 --json
ok "which is JSON" holds "$work/stopped.json" "d['config']['interrupted'] == 'yes'"
finish
