#!/bin/sh
# weft audit and weft check from the outside: what they say of traces, what of other files, and with which exit status.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft

# make NAME [bad]: a trace of 3 steps; bad: with a hidden copy and an item() that waits in each.
make() {
  python3 - "$work/$1" "${2:-}" <<'EOF'
import json, sys
path, bad = sys.argv[1], sys.argv[2] == "bad"
events = []
def put(cat, name, pid, tid, ts, dur, **args):
    events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                   "args": {key.replace("_", " "): value for key, value in args.items()}})
for i in range(3):
    t = 1000 * i
    put("user_annotation", f"ProfilerStep#{i + 4}", 1, 1, t, 1000)
    put("cuda_runtime", "cudaLaunchKernel", 1, 1, t + 1, 2, correlation=10 * i + 1)
    put("kernel", "gemm", 0, 7, t + 3, 998, correlation=10 * i + 1, device=0, stream=7)
    put("cpu_op", "aten::conv2d", 1, 1, t + 100, 300)
    if bad:
        put("python_function", "<built-in method conv2d>", 1, 1, t + 99, 305, CallFrom="train.py:12")
        put("cpu_op", "aten::contiguous", 1, 1, t + 110, 100)
        put("cpu_op", "aten::clone", 1, 1, t + 111, 98)
        put("cpu_op", "aten::copy_", 1, 1, t + 115, 90, **{
            "Input Dims": [[64, 64], [64, 64], []], "Input Strides": [[64, 1], [1, 64], []], "Input type": ["float", "float", "Scalar"]})
        put("cpu_op", "aten::item", 1, 1, t + 500, 300)
        put("cuda_runtime", "cudaStreamSynchronize", 1, 1, t + 510, 280)
json.dump({"schemaVersion": 1, "traceEvents": events}, open(path, "w"), indent=1)
EOF
}
make clean.json
make bad.json bad
gzip -k "$work/bad.json"
cd "$work" || exit 1

holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }
narrow() { [ "$(LC_ALL=C.UTF-8 wc -L <"$1")" -le 80 ]; }

# ---- audit ----
ok "a clean trace ends with 0 and says that nothing was found" ends 0 "Nothing found" "$weft" audit clean.json
ok "findings end with 1" ends 1 "aten::conv2d copies its input into another layout" "$weft" audit bad.json
ok "a finding names its line" grep -q "at train.py:12" output
ok "the output fits 80 columns" narrow output
ok "a packed trace gives the same" sh -c '"$1" audit --json bad.json >plain; "$1" audit --json bad.json.gz | sed "s/bad.json.gz/bad.json/" | cmp - plain' sh "$weft"
ok "JSON has findings with rule, place, numbers and remedy" holds plain \
  "[(f['rule'], f['where']['line'], f['count'], f['bytes']) for f in d['findings']] == [('sync', None, 3, None), ('hidden-copy', 'train.py:12', 3, 49152)] and all(f['remedy'] for f in d['findings'])"
ok "JSON counts each event by its exact name" holds plain \
  "d['counts']['aten::copy_'] == 3 and d['counts']['aten::contiguous'] == 3 and d['counts']['cudaStreamSynchronize'] == 3 and d['counts']['aten::_to_copy'] == 0"
ok "JSON has steps and devices" holds plain \
  "d['steps']['count'] == 3 and d['steps']['median_seconds'] == 0.001 and d['devices'][0]['idle_seconds'] < 1e-5 and d['kind'] == 'cuda'"
ok "as many findings are shown as asked for" sh -c '"$1" audit --most 1 bad.json | grep -q "and 1 more"' sh "$weft"

head -c 2500 bad.json >cut.json
ok "a trace that is cut off is judged and said to be" ends 1 "cut off" "$weft" audit cut.json
{ head -c 2500 bad.json && printf ' "name": "a "b" c" }, ' && tail -c +2501 bad.json; } >damaged.json
ok "damaged events are counted" ends 1 "event.* skipped" "$weft" audit damaged.json
head -c 300 bad.json.gz >cut.json.gz
ok "a packed file that is cut off is refused" ends 2 "cut off" "$weft" audit cut.json.gz
ok "what to do is said" grep -q "gzip -dc" output
: >empty.json
ok "an empty file is refused" ends 2 "an empty file" "$weft" audit empty.json
echo '[[-1, 1, 37888, 7], [-1, 1, 512, 7]]' >memory.json
ok "a memory timeline is told apart" ends 2 "a memory timeline" "$weft" audit memory.json
printf '\200\002}q\000.' >snapshot.pickle
ok "a memory snapshot is told apart" ends 2 "weft memory" "$weft" audit snapshot.pickle
ok "other JSON is refused" sh -c 'echo "{\"a\": 1}" >other.json; "$1" audit other.json 2>said; [ $? = 2 ] && grep -q "without .traceEvents" said' sh "$weft"
python3 - <<'EOF2'
import json

escape = "\x1b]0;title\x07\x1b[31m\u009b"
trace = json.load(open("bad.json"))
for event in trace["traceEvents"]:
    if not event["name"].startswith("aten::co"):
        event["name"] = event["name"].replace("#", escape + "#") if "Step" in event["name"] else event["name"] + escape
    if "CallFrom" in event["args"]:
        event["args"]["CallFrom"] = escape + event["args"]["CallFrom"]
trace["deviceProperties"] = [{"id": 0, "name": "GPU" + escape}]
json.dump(trace, open("escape.json", "w"), ensure_ascii=False)
EOF2
quiet() { "$@" | tr -d '\n' | LC_ALL=C grep -q '[[:cntrl:]]' && "$@" | cat -v | head -n 20 && return 1 || return 0; }
ok "names that a terminal would obey are plain in a report" quiet "$weft" audit escape.json
ok "and in a comparison" quiet "$weft" check escape.json escape.json
ok "a file that isn't there is refused" ends 2 "No such file" "$weft" audit no.json
ok "no file is misuse" ends 2 "which trace" "$weft" audit
ok "a share that is none is misuse" ends 2 "0 to 100" "$weft" audit --least much bad.json
ok "help has an example" ends 0 "weft audit trace.json" "$weft" audit --help

# ---- check ----
ok "the same trace twice is fine" ends 0 "fine" "$weft" check bad.json bad.json
ok "a worse one ends with 1" ends 1 "WORSE" "$weft" check clean.json bad.json
ok "a better one ends with 0" ends 0 "better" "$weft" check bad.json clean.json
ok "the table fits 80 columns" narrow output
ok "limits let pass" ends 0 "fine" "$weft" check clean.json bad.json --copies any --contiguous any --copy-bytes any --syncs any
ok "a bound holds whatever was before" ends 1 "contiguous.*WORSE" "$weft" check bad.json bad.json --max-contiguous 0
ok "a bound that is kept is fine" ends 0 "" "$weft" check bad.json bad.json --max-contiguous 1 --throughput -3% --peak-memory 5%
ok "check --json is JSON" sh -c '"$1" check clean.json bad.json --json >check.json; [ $? = 1 ]' sh "$weft"
ok "and has the verdicts" holds check.json "[m['verdict'] for m in d['metrics'] if m['name'] == 'syncs'] == ['worse'] and d['worse'] == 4"
mkfifo before after
cat clean.json >before &
cat bad.json >after &
ok "traces may come through pipes" ends 1 "syncs.*WORSE" "$weft" check before after
ok "a file that can't be judged ends with 2" ends 2 "a memory timeline" "$weft" check bad.json memory.json
ok "one file is misuse" ends 2 "which two files" "$weft" check bad.json
ok "a limit that is none is misuse" ends 2 "per cent" "$weft" check a b --throughput fast

# snapshot NAME BYTES: one block that stays, in a segment of 20 MiB.
snapshot() {
  python3 - "$1" "$2" <<'EOF'
import pickle, sys
size, total, address = int(sys.argv[2]), 20 << 20, 1 << 40
base = {"size": size, "stream": 0, "frames": [], "time_us": 1}
block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
rest = {"address": address + size, "size": total - size, "requested_size": 0, "state": "inactive", "frames": []}
segment = {"device": 0, "address": address, "total_size": total, "allocated_size": size, "active_size": size, "requested_size": size,
           "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block, rest]}
trace = [dict(base, action="segment_alloc", addr=address, size=total), dict(base, action="alloc", addr=address)]
pickle.dump({"segments": [segment], "device_traces": [trace]}, open(sys.argv[1], "wb"), protocol=4)
EOF
}
snapshot small.pickle 2097152
snapshot large.pickle 4194304
ok "snapshots are compared as well" ends 1 "peak-memory.*2.00 MiB.*4.00 MiB.*WORSE" "$weft" check small.pickle large.pickle
ok "what is reserved stayed" grep -q "peak-reserved.*fine" output
ok "a smaller one is better" ends 0 "better" "$weft" check large.pickle small.pickle
ok "a bound of bytes has units" ends 1 "WORSE" "$weft" check small.pickle small.pickle --max-peak-memory 1MiB
ok "a trace isn't compared with a snapshot" ends 2 "not a trace" "$weft" check bad.json small.pickle
ok "nor a snapshot with a trace" ends 2 "weft audit" "$weft" check small.pickle bad.json

# ---- on a terminal, and interrupted ----
if command -v script >/dev/null 2>&1; then
  # The same events again and again, 600 MB.
  python3 -c 'import json
block = ",\n".join(json.dumps(e) for e in json.load(open("bad.json"))["traceEvents"] * 100) + ",\n"
with open("large.json", "w") as out:
    out.write("{\"traceEvents\": [\n")
    for _ in range(600_000_000 // len(block)): out.write(block)
    out.write("{}]}")'
  # Held up on the way for longer than the second after which progress is shown: a fast machine is through before.
  cat >slowly.sh <<'EOF'
"$1" audit large.json &
sleep 0.1
kill -STOP $!
sleep 1.5
kill -CONT $!
wait $!
EOF
  ok "long input shows progress on a terminal" sh -c 'script -qec "sh slowly.sh \"$1\"" /dev/null </dev/null >shown; grep -q "large.json: .* %" shown' sh "$weft"
  ok "Ctrl-C ends with what was read so far" interrupted 400 partial "$weft" audit large.json
  ok "and says so" grep -q "Interrupted" partial
  ok "in JSON as well" interrupted 400 partial.json "$weft" audit --json large.json
  ok "which is JSON" holds partial.json "d['interrupted'] is True"
  ok "Ctrl-C ends a comparison, of which nothing can be told yet" interrupted 400 partial.json "$weft" check large.json large.json --json
  ok "it says so, and prints nothing" sh -c 'grep -q "weft check: interrupted" output && [ ! -s partial.json ]'
  rm -f large.json
  # Pipes: one that nobody writes, one whose writer stalls amid the events.
  mkfifo unwritten stalled
  ok "Ctrl-C ends the waiting for a writer at the first press" interrupted 400 partial.json "$weft" audit --json unwritten
  ok "of which nothing was read" holds partial.json "d['interrupted'] is True and d['events'] == 0"
  { head -c 1000 bad.json; sleep 20; } >stalled &
  ok "Ctrl-C ends a reading that stalls" interrupted 400 partial.json "$weft" check stalled bad.json
  ok "saying so" sh -c 'grep -q "weft check: interrupted" output && [ ! -s partial.json ]'
  kill $!
fi

# The samples' true counts.
samples=$root/../shared/samples/traces
if [ -d "$samples" ]; then
  sample_is() {
    "$weft" audit --json "$samples/$1" >sample.json
    holds sample.json "$2"
  }
  ok "transformer_copies" sample_is transformer_copies.json.gz "[d['counts'][n] for n in ('aten::contiguous', 'aten::copy_', 'aten::clone', 'aten::_to_copy')] == [4, 24, 10, 6] and d['copies']['bytes_written'] == 278536 and d['events'] == 813 and sum(f['count'] for f in d['findings']) == 22"
  ok "clean_mlp" sample_is clean_mlp.json "[d['counts'][n] for n in ('aten::contiguous', 'aten::copy_', 'aten::clone', 'aten::_to_copy')] == [0, 0, 0, 0] and not d['findings']"
  ok "pinned_and_pageable" sample_is hta/pinned_and_pageable.json.gz "[d['counts'][n] for n in ('aten::copy_', 'aten::to', 'aten::item', 'Memcpy HtoD (Pageable -> Device)', 'Memcpy HtoD (Pinned -> Device)', 'Memcpy DtoH (Device -> Pageable)', 'Memcpy DtoD (Device -> Device)', 'cudaMemcpyAsync')] == [74, 61, 3, 16, 8, 8, 8, 40]"
  ok "alexnet_pageable_sync" sample_is hta/alexnet_pageable_sync.json.gz "[d['counts'][n] for n in ('aten::copy_', 'Memcpy HtoD (Pageable -> Device)', 'cudaStreamSynchronize', 'cudaDeviceSynchronize', 'cudaMalloc', 'cudaFree')] == [18, 16, 16, 5, 24, 15]"
  ok "event_sync" sample_is hta/event_sync.json.gz "[d['counts'][n] for n in ('aten::item', 'cudaStreamSynchronize', 'cudaEventSynchronize', 'cudaDeviceSynchronize')] == [1, 1, 1, 1]"
  ok "memory_timeline" ends 2 "a memory timeline" "$weft" audit "$samples/hta/memory_timeline.raw.gz"
fi
finish
