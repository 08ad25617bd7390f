#!/bin/sh
# weft dry-run from the outside, without torch: reports of folders that are made here, options, exit statuses, what can't be started; and the
# Python that watches, as far as it goes without torch.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
maker=$build/tests/make_snapshot
run=$work/run

holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }
narrow() { [ "$(LC_ALL=C.UTF-8 wc -L <"$1")" -le "$2" ]; }

# ---- a folder as a run leaves it ----
mkdir "$run"
"$maker" "$run/snapshot.7.pickle" 20000 >/dev/null
cat >"$run/events.7.jsonl" <<'END'
{"kind":"run","pid":7,"argv":["train.py","--lr","0.1"],"runtime":13020,"ended":"exit"}
{"kind":"device","name":"a100-80","count":1,"major":8,"minor":0,"memory":84975550464,"context":545259520}
{"kind":"copy","what":"Memcpy HtoD (Pageable -> Device)","device":0,"step":2,"file":"proj/train.py","line":12,"function":"main","count":1,"bytes":1000000}
{"kind":"copy","what":"Memcpy HtoD (Pageable -> Device)","device":0,"step":3,"file":"proj/train.py","line":12,"function":"main","count":1,"bytes":1000000}
{"kind":"sync","what":"cudaStreamSynchronize","device":0,"step":3,"file":"proj/train.py","line":20,"function":"main","count":2,"bytes":0}
{"kind":"limit","what":"cusolverDnSgetrf","text":"counted as success","count":3}
END
cat >"$run/roles.7.jsonl" <<'END'
{"kind":"python","python":"3.11.7","executable":"python","torch":"2.15.0","cuda":"13.2","state":"cuda","argv":["train.py"]}
{"kind":"end","ended":"steps","text":"","steps":4}
END
ok "a run is reported" ends 0 "fits, .* to spare" "$weft" dry-run --report "$run"
ok "in 80 columns" narrow "$work/output" 80
ok "with who holds the memory" grep -q "train/model.py:88 mlp" "$work/output"
ok "with the line that copies" grep -q "proj/train.py:12 main" "$work/output"
ok "and what it doesn't know" grep -q "cusolverDnSgetrf: counted as success (3 times)" "$work/output"
ok "a GPU that is too small is exit 1" ends 1 "DOESN'T FIT" "$weft" dry-run --report "$run" --mem 2GiB --mem 700MiB
ok "and the larger one fits all the same" grep -q "2GiB.*fits" "$work/output"
ok "one that is too small is so by itself" ends 1 "DOESN'T FIT" "$weft" dry-run --report "$run" --mem 600MiB
ok "and so is one that the driver takes" ends 1 "DOESN'T FIT" "$weft" dry-run --report "$run" --context 79GiB
ok "or from which the driver leaves too little for any setting to help" ends 1 "DOESN'T FIT" "$weft" dry-run --report "$run" --mem 530MiB
ok "none is praised then" sh -c '! grep -q "suffice" "$1"' sh "$work/output"
ok "and from which it leaves nothing" ends 1 " 0 B .*DOESN'T FIT" "$weft" dry-run --report "$run" --mem 300MiB
ok "says so" grep -q "what the driver takes for itself is all of it" "$work/output"
cp -r "$run" "$work/t4" && sed -i 's/"a100-80"\(.*\)"major":8,"minor":0,"memory":84975550464/"t4"\1"major":7,"minor":5,"memory":15633219584/' "$work/t4/events.7.jsonl"
ok "a report is for the GPU that it ran as" ends 0 "t4 .*14.56 GiB .*14.05 GiB" "$weft" dry-run --report "$work/t4"
ok "without what it took for itself, if so" ends 0 "t4 .*14.56 GiB .*14.56 GiB" "$weft" dry-run --report "$work/t4" --context 0
mkdir "$work/t4/late"
ok "of a second run that left nothing, as of none" ends 0 "late: no program was recorded" "$weft" dry-run --report "$work/t4"
ok "with what the first one found" grep -q "t4 .*14.56 GiB .*14.05 GiB" "$work/output"
rmdir "$work/t4/late"
ok "a size is of that GPU's kind" sh -c '"$1" dry-run --report "$2" --mem 24gb --mem 1e3GiB --json >"$3"' sh "$weft" "$work/t4" "$work/sizes.json"
ok "whatever the unit" holds "$work/sizes.json" "[(x['memory_bytes'], x['context_bytes']) for x in d['devices']] == [(1000 << 30, 520 << 20), (24 * 10**9, 520 << 20)] and not any('capability' in l for l in d['limits'])"
ok "as JSON" sh -c '"$1" dry-run --report "$2" --json --gpu t4 --mem 24GiB >"$3"' sh "$weft" "$run" "$work/json"
ok "with an answer for each" holds "$work/json" "d['verdict'] == 'fine' and [x['name'] for x in d['devices']] == ['24GiB', 't4'] and d['devices'][1]['memory_bytes'] == 14909 << 20 and not d['devices'][0]['ran_as_this']"
ok "with what a step does in the steady state" holds "$work/json" "d['steady'] == {'warm_up_steps': 2, 'steps': 2, 'pageable_copies': 1.0, 'syncs': 1.0, 'launches': 0.0, 'driver_allocations': 0.0, 'complete': True}"
ok "the peak is that of weft memory" sh -c '"$1" memory --json "$2" >"$3"' sh "$weft" "$run/snapshot.7.pickle" "$work/memory.json"
ok "to the byte" python3 -c 'import json,sys; a,b=[json.load(open(p)) for p in sys.argv[1:]]; assert a["peak"]["allocated_bytes"] == b["peak_allocated_bytes"] == sum(a["peak"]["roles"].values())' "$work/json" "$work/memory.json"
ok "bounds that are kept" ends 0 "kept" "$weft" dry-run --report "$run" --max-pageable 1 --max-syncs-per-step 1
ok "and one that is broken" ends 1 "BROKEN" "$weft" dry-run --report "$run" --max-pageable 0
mkdir "$work/crashed" && cp "$run"/* "$work/crashed" && sed -i 's/"steps","text":""/"exception","text":"ValueError: no boxes.."/' "$work/crashed/roles.7.jsonl"
ok "what crashed can't be judged" ends 2 "ValueError: no boxes\. What" "$weft" dry-run --report "$work/crashed"
ok "and nobody knows whether it fits" sh -c '"$1" dry-run --report "$2" --json --mem 80GiB --mem 600MiB >"$3"; [ $? = 1 ]' sh "$weft" "$work/crashed" "$work/crashed.json"
ok "but where it doesn't already" holds "$work/crashed.json" "[x['fits'] for x in d['devices']] == ['unknown', 'no']"
mkdir "$work/nothing left"
cat >"$work/nothing left/events.7.jsonl" <<'END'
{"kind":"run","pid":7,"argv":["train.py"],"runtime":12010,"ended":"exit"}
{"kind":"device","name":"a100-80","count":1,"major":8,"minor":0,"memory":524288000,"context":545259520}
END
cat >"$work/nothing left/roles.7.jsonl" <<'END'
{"kind":"python","torch":"2.4.1","cuda":"12.1","state":"cuda"}
{"kind":"end","ended":"oom","text":"OutOfMemoryError","steps":0}
END
ok "a run on a GPU that the driver takes all of" python3 -c 'import pickle, sys; pickle.dump({"segments": [], "device_traces": [[{"action": "oom", "size": 16 << 20, "stream": 0, "device_free": 0, "frames": []}]]}, open(sys.argv[1], "wb"))' "$work/nothing left/snapshot.7.pickle"
ok "is out of memory" ends 1 "DOESN'T FIT" "$weft" dry-run --report "$work/nothing left" --mem 500MiB
ok "as a page" sh -c '"$1" dry-run --report "$2" --html "$3" >/dev/null && grep -q "Does it fit" "$3" && grep -q "</html>" "$3"' sh "$weft" "$run" "$work/page.html"
ok "the snapshot is PyTorch's" sh -c '"$1" dry-run --report "$2" --snapshot "$3" >/dev/null && cmp "$2/snapshot.7.pickle" "$3"' sh "$weft" "$run" "$work/copy.pickle"
ok "a page that can't be written" ends 2 "no/such" "$weft" dry-run --report "$run" --html "$work/no/such/page.html"

mkdir "$work/raw"
esc=$(printf '\033')
cat >"$work/raw/events.5.jsonl" <<'END'
{"kind":"run","argv":["a\u001b[2Jb\u009bc.py"],"ended":"exit"}
{"kind":"sync","what":"cuda\u001b]0;xSync","step":0,"file":"d/e\u001bf.py","line":3,"function":"g\u0007h","count":2}
{"kind":"limit","what":"\u001bcall","why":"w\u001by","count":1}
END
cat >"$work/raw/roles.5.jsonl" <<'END'
{"kind":"python","state":"cuda","torch":"2.15\u001b"}
{"kind":"note","text":"n\u001bote"}
{"kind":"end","ended":"exception","text":"Value\u001bError: two\nlines"}
END
ok "what a program's names would do to a terminal is left out" ends 2 "Value?Error: two lines" "$weft" dry-run --report "$work/raw"
ok "everywhere in the report" sh -c '! grep -q "$1" "$2"' sh "$esc" "$work/output"
ok "which names them all the same" grep -q "a?.2Jb??c.py" "$work/output"
ok "a snapshot that can't be written" ends 2 "/dev/full can't be written: No space left" "$weft" dry-run --report "$run" --snapshot /dev/full
ok "is known before the program runs" sh -c '"$1" dry-run --snapshot "$2/no/such/file" -- touch "$2/ran" 2>&1 | grep -q "can.t be written: No such file" && ! [ -e "$2/ran" ]' sh "$weft" "$work"
ok "so is a folder" ends 2 "Is a directory" "$weft" dry-run --html "$work" -- true

# ---- misuse ----
ok "no program is misuse" ends 2 "which program" "$weft" dry-run
ok "a GPU that might be meant" ends 2 "did you mean a100-80 or a100-40" "$weft" dry-run --gpu A100 -- true
ok "a GPU that there isn't" ends 2 "there is no GPU 'gtx1'" "$weft" dry-run --gpu gtx1 -- true
ok "a size that is none" ends 2 "24GiB" "$weft" dry-run --mem lots -- true
ok "a size beyond all" ends 2 "24GiB" "$weft" dry-run --mem inf -- true
ok "a size without its unit" ends 2 "24 is 24 bytes: .*24GiB" "$weft" dry-run --mem 24 -- true
ok "or of less than a byte" ends 2 "24GiB" "$weft" dry-run --mem 0.1 -- true
ok "or below nothing" ends 2 "24GiB" "$weft" dry-run --mem -1 -- true
ok "or for no GPU that there is" ends 2 "less than 1MiB" "$weft" dry-run --mem 0.5KiB -- true
ok "nor was" ends 2 "at most 1TiB" "$weft" dry-run --mem 2TiB -- true
ok "what the driver takes has a unit, too" ends 2 "520 is 520 bytes" "$weft" dry-run --context 520 -- true
ok "no GPUs" ends 2 "from 1 to 16" "$weft" dry-run --gpus 0 -- true
ok "no steps" ends 2 "from 1 to" "$weft" dry-run --steps 0 -- true
ok "a bound that is none" ends 2 "0 or more" "$weft" dry-run --max-pageable -1 -- true
ok "a folder that isn't there" ends 2 "No such file" "$weft" dry-run --report "$work/nothing"
ok "a folder without a run" sh -c 'mkdir "$2" && "$1" dry-run --report "$2" 2>&1 | grep -q "no program was recorded"' sh "$weft" "$work/empty"
ok "a folder to keep that isn't empty" ends 2 "new or an empty folder" "$weft" dry-run --keep "$run" -- true
ok "Python that is told to look away" ends 2 "leave them out" "$weft" dry-run -- python3 -I train.py
ok "the list of GPUs" ends 0 "a100-80 .*79.14 GiB" "$weft" dry-run --list-gpus
ok "a stand-in that isn't there" ends 2 "isn't there" env WEFT_DRY_LIBRARY="$work/none.so" "$weft" dry-run --keep "$work/unkept" -- true
ok "leaves no folder" test ! -e "$work/unkept"

# ---- a GPU described by a file ----
stand_in=$(find "$build" -name libweft-dry.so | head -n 1)
outside=${TMPDIR:-}
# As on a machine with that GPU: the stand-in is its driver. Nothing runs there that could be judged.
capture() { ends 2 "" "$weft" dry-run --gpu "$1" -- "$weft" dry-run --capture -o "$2"; }
# changed FILE KEY VALUE: with another value of one key, or of an attribute.
changed() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); (d["attributes"] if sys.argv[2].isdigit() else d)[sys.argv[2]]=json.loads(sys.argv[3]); json.dump(d,sys.stdout)' "$1" "$2" "$3"; }
if "$weft" dry-run --capture >"$work/gpu.json" 2>"$work/capture.said"; then
  ok "--capture on a machine with a GPU" holds "$work/gpu.json" "d['memory_bytes'] > d['context_bytes'] > 0"
else
  ok "--capture without a driver says so" grep -q "there is no driver of NVIDIA's.*the machine that it runs on" "$work/capture.said"
fi
for gpu in h100 t4; do
  ok "the $gpu is captured" capture "$gpu" "$work/$gpu.json"
  ok "as it is" sh -c '"$1" dry-run --gpu "$2" --report "$3" --json >"$4"; [ $? -lt 2 ]' sh "$weft" "$gpu" "$run" "$work/asked.json"
  ok "to the byte" python3 -c 'import json,sys; a,b=[json.load(open(p)) for p in sys.argv[1:3]]; d=a["devices"][0]; assert (d["memory_bytes"], d["context_bytes"]) == (b["memory_bytes"], b["context_bytes"])' "$work/asked.json" "$work/$gpu.json"
  ok "and as a GPU of its own once more" sh -c '"$1" dry-run --gpu "$2" -- "$1" dry-run --capture -o "$2.again" >/dev/null 2>&1; cmp "$2" "$2.again"' sh "$weft" "$work/$gpu.json"
done
ok "with what a data sheet has" holds "$work/h100.json" "d['title'] == 'NVIDIA H100 80GB HBM3' and d['name'] == 'h100-80gb-hbm3' and [d['attributes'][k] for k in ('75', '76', '16', '38', '10', '39', '81', '106')] == [9, 0, 132, 50 << 20, 32, 2048, 228 << 10, 32] and not d['attributes'].keys() & {'33', '34', '50'}"
ok "one that there isn't" sh -c 'python3 -c "import json,sys; d=json.load(open(sys.argv[1])); d.update(name=\"own\", title=\"A GPU\", memory_bytes=10<<30, context_bytes=300<<20); d[\"attributes\"].update({\"16\": 33, \"38\": 4096, \"39\": 1024, \"75\": 8, \"76\": 7, \"81\": 102400, \"106\": 16}); json.dump(d, open(sys.argv[2], \"w\"))" "$1" "$2"' sh "$work/h100.json" "$work/own.json"
ok "is captured as it is described" capture "$work/own.json" "$work/own.again"
ok "in each figure" python3 -c 'import json,sys; a,b=[json.load(open(p)) for p in sys.argv[1:3]]; a["name"]=b["name"]="x"; assert a == b' "$work/own.json" "$work/own.again"
changed "$work/h100.json" 116 1 >"$work/rdma.json"
ok "but for what the stand-in can't do" sh -c '"$1" dry-run --gpu "$2" -- "$1" dry-run --capture -o "$3" >/dev/null 2>&1; cmp "$3" "$4"' sh "$weft" "$work/rdma.json" "$work/rdma.again" "$work/h100.json"
changed "$work/own.json" title '"A \"B\""' >"$work/quoted.json"
ok "one with quotes in its title" capture "$work/quoted.json" "$work/quoted.again"
ok "keeps them" holds "$work/quoted.again" "d['title'] == 'A \"B\"'"
ok "what the driver takes can be said" sh -c '"$1" dry-run --gpu t4 -- "$1" dry-run --capture --context 300MiB -o "$2" >/dev/null 2>&1; [ -s "$2" ]' sh "$weft" "$work/said.json"
ok "and is then what it takes" holds "$work/said.json" "d['context_bytes'] == 300 << 20"
ok "a report is for such a GPU" ends 0 "own  *10.00 GiB .*9.71 GiB" "$weft" dry-run --report "$run" --gpu "$work/own.json"
ok "in 80 columns" narrow "$work/output" 80
ok "two of one name" ends 2 "two GPUs are called own" "$weft" dry-run --gpu "$work/own.json" --gpu "$work/own.json" -- true
changed "$work/own.json" name '"T4"' >"$work/namesake.json"
ok "be it of one that Weft knows" ends 2 "two GPUs are called T4" "$weft" dry-run --gpu t4 --gpu "$work/namesake.json" -- true
ok "in any order" ends 2 "two GPUs are called t4" "$weft" dry-run --gpu "$work/namesake.json" --gpu t4 -- true
set --
for i in $(seq 32); do
  changed "$work/own.json" name "\"own$i\"" >"$work/own$i.json"
  set -- "$@" --gpu "$work/own$i.json"
done
ok "more than there is room for" ends 2 "at most 32 devices" "$weft" dry-run "$@" --gpu "$work/own.json" -- true
ok "a file that isn't there" ends 2 "none.json can't be read: No such file" "$weft" dry-run --gpu "$work/none.json" -- true
ok "a folder" ends 2 "can't be read\|isn't a description" "$weft" dry-run --gpu "$work" -- true
printf '{"format": "weft gpu 1",\n"name": }' >"$work/bad.json"
ok "a file that is no JSON, by its line" ends 2 "bad.json isn't a description of a GPU: line 2: .*--capture writes one" "$weft" dry-run --gpu "$work/bad.json" -- true
while IFS='|' read -r key value says; do
  changed "$work/h100.json" "$key" "$value" >"$work/bad.json"
  ok "$key $value" ends 2 "bad.json isn't a description of a GPU: .*$says" "$weft" dry-run --gpu "$work/bad.json" -- true
done <<'END'
format|"weft gpu 2"|this version reads
name|""|must be a text
name|"a b"|letters, digits
name|"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"|47 characters at most
title|"a\u001b[2J"|no control characters
memory_bytes|0|no such size
memory_bytes|1e10|whole number
memory_bytes|8796093022208|no such size
context_bytes|-1|no such size
attributes|[]|must be an object
attributes|{"16": 3}|attribute "1" .* is missing
16|0|attribute "16" (multiprocessors) can't be 0
75|8.6|attribute "75" must be a whole number
160|1|no attribute "160"
0|1|no attribute "0"
memory|1|"memory" means nothing there
END
ok "a file for --capture that can't be written" ends 2 "No such file" "$weft" dry-run --capture -o "$work/no/such/file"
ok "--capture beside a program" ends 2 "runs nothing" "$weft" dry-run --capture -- true
ok "--output without it" ends 2 "of --capture" "$weft" dry-run -o "$work/x" -- true

# ---- running; any library serves as stand-in here ----
WEFT_DRY_LIBRARY=$(find "$build" -name 'libweft-tools.so' | head -n 1)
export WEFT_DRY_LIBRARY
ok "a program that isn't there" ends 2 "can't be started: No such file" "$weft" dry-run -- ./no-such-program
ok "one that isn't Python can't be watched" ends 2 "dry-run: true: no program was recorded" "$weft" dry-run -- true
cat >"$work/plain.py" <<'END'
import os, sys
assert not [p for p in sys.path if "weft" in p and p.endswith("python")], sys.path
print("arguments", sys.argv[1:], "preloaded", os.environ["LD_PRELOAD"].count("weft"))
sys.exit(int(sys.argv[1]))
END
ok "one without torch says so" ends 2 "never imported torch\|No torch in this Python" "$weft" dry-run -- python3 "$work/plain.py" 0 --gpu none
ok "and is named as it was typed, ready for a shell" grep -q "^python3 '.*plain.py' 0 --gpu none" "$work/output"
ok "and got its own arguments" grep -q "arguments \['0', '--gpu', 'none'\]" "$work/output"
mkdir "$work/site"
echo 'import sys; print("the own sitecustomize ran", __name__, __file__)' >"$work/site/sitecustomize.py"
ok "a sitecustomize of the user's own runs as well" sh -c 'PYTHONPATH="$3" "$1" dry-run -- python3 "$2" 0 2>&1 | grep -q "own sitecustomize ran sitecustomize .*/site/"' sh "$weft" "$work/plain.py" "$work/site"
ok "what it says goes to standard error under --json" sh -c '"$1" dry-run --json -- python3 "$2" 0 2>/dev/null | python3 -c "import json,sys; assert json.load(sys.stdin)[\"verdict\"] == \"unjudged\""' sh "$weft" "$work/plain.py"
ok "--keep leaves what was recorded" sh -c '"$1" dry-run --keep "$3" -- python3 "$2" 0 >/dev/null 2>&1; ls "$3" | grep -q roles' sh "$weft" "$work/plain.py" "$work/kept"
ok "of which a report has the words of the first" sh -c '"$1" dry-run --gpu t4 --gpu l4 --keep "$3" -- python3 "$2" 3 "a b" >"$4" 2>/dev/null; [ $? = 2 ] || exit 1; "$1" dry-run --report "$3" >"$5"; [ $? = 2 ] && grep -v ^arguments "$4" | cmp - "$5" && grep -q "^python3 .*plain.py. 3 .a b.$" "$5"' sh "$weft" "$work/plain.py" "$work/again" "$work/first" "$work/second"
ok "with its GPUs and its exit status" sh -c '"$1" dry-run --report "$2" --json >"$3"; [ $? = 2 ]' sh "$weft" "$work/again" "$work/again.json"
ok "which are these" holds "$work/again.json" "[x['name'] for x in d['devices']] == ['l4', 't4'] and d['program']['exit_status'] == 3"
bad=$(printf 'no utf\377 8')
ok "a launch that can't be recorded says why" ends 2 "launch.jsonl can't be written: File too large" sh -c 'trap "" XFSZ; ulimit -f 100; long=$(printf "%01000d" 0); for i in $(seq 100); do set -- "$@" "$long"; done; exec "$@"' sh "$weft" dry-run -- true
ok "names of any bytes" sh -c '"$1" dry-run --keep "$2" -- python3 -c "import sys" "$3" >/dev/null 2>&1; grep -q "no utf? 8" "$2/launch.jsonl"' sh "$weft" "$work/bytes ü" "$bad"
ok "and without it nothing is left" sh -c 'mkdir "$3" && TMPDIR="$3" "$1" dry-run -- python3 "$2" 0 >/dev/null 2>&1; [ -z "$(ls "$3")" ]' sh "$weft" "$work/plain.py" "$work/tmp"
# Its own session, so that nothing else is hung up on.
cat >"$work/hang_up.py" <<'END'
import os, signal, subprocess, sys
weft, folder, ignored = sys.argv[1], sys.argv[2], sys.argv[3] == "ignored"
program = "import os, signal, time; os.kill(os.getppid(), signal.SIGHUP); time.sleep(0.5 if %r else 20)" % ignored
signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
done = subprocess.run([weft, "dry-run", "--", "python3", "-c", program], env=dict(os.environ, TMPDIR=folder), stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, start_new_session=True, timeout=15, restore_signals=False)
came_to_its_end = b"Dry run as" in done.stdout
sys.exit(0 if done.returncode == 2 and came_to_its_end == ignored and not os.listdir(folder) else "%d, %r, left: %r" % (done.returncode, done.stdout, os.listdir(folder)))
END
ok "a terminal that is closed ends the program, and leaves nothing" python3 "$work/hang_up.py" "$weft" "$work/tmp" closed
ok "under nohup it runs on" python3 "$work/hang_up.py" "$weft" "$work/tmp" ignored
cat >"$work/term.py" <<'END'
import os, signal, sys, time, types
import weft_dry
weft_dry._catch_term(types.SimpleNamespace(finishing=False))
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)
except SystemExit as end:
    sys.exit(0 if end.code == 143 else 3)
END
ok "SIGTERM ends Python in order, beside the stand-in's handler" env LD_PRELOAD="$stand_in" WEFT_DRY_DIR="$work/tmp" PYTHONPATH="$root/src/dryrun" python3 "$work/term.py"
# With a build of torch, as far as that is looked at, but without the stand-in.
mkdir "$work/bare" "$work/bare/torch"
printf 'from . import version\n__version__ = "9.9+cu132"\n' >"$work/bare/torch/__init__.py"
echo 'cuda = "13.2"; hip = None' >"$work/bare/torch/version.py"
ok "a real GPU isn't used where the stand-in wasn't loaded" ends 2 "wasn't loaded into .*LD_PRELOAD" env PYTHONPATH="$work/bare" "$weft" dry-run --json -- env -u LD_PRELOAD python3 -c 'import torch; print("goes on for hours")'
ok "nor anything else done" sh -c '! grep -q "^goes on" "$1"' sh "$work/output"
mkdir "$work/a b" "$work/c:d"
cp "$stand_in" "$(dirname -- "$stand_in")/libweft-dry-nvml.so" "$work/a b/"
ok "a stand-in in a folder with a blank is loaded by a link" sh -c 'WEFT_DRY_LIBRARY="$2/a b/libweft-dry.so" TMPDIR=${3:-/tmp} "$1" dry-run -- sh -c "cat /proc/self/maps" 2>/dev/null | grep -q "a b/libweft-dry.so"' sh "$weft" "$work" "$outside"
ok "if there can be one" ends 2 "can't be loaded first" env WEFT_DRY_LIBRARY="$work/a b/libweft-dry.so" TMPDIR="$work" "$weft" dry-run -- true
ok "a folder in which Python wouldn't look" ends 2 "may have no ':'" env TMPDIR="$work/c:d" "$weft" dry-run -- true
said_nothing() {
  "$@" >"$work/output" 2>&1
  equal "$(cat "$work/output")" ""
}
cat >"$work/full.py" <<'END'
import errno, os, weft_dry
rows = weft_dry._Rows(os.environ["WEFT_DRY_DIR"])
for number in range(3):
    rows.put(kind="note", text="row %d" % number)
rows._file.close()
rows._file = open("/dev/full", "w")  # as of a disk that has no room any more
rows.put(kind="note", text="row 3")
rows.flush()
rows.put(kind="note", text="row 4")
rows.flush()
assert open(rows._path).read() == '{"kind": "lost", "text": "%s"}\n' % os.strerror(errno.ENOSPC), open(rows._path).read()
END
mkdir "$work/nearly"
ok "a full disk is no error of the program's" env WEFT_DRY_DIR="$work/nearly" PYTHONPATH="$root/src/dryrun" python3 -S "$work/full.py"
ok "but a run that can't be judged" ends 2 "couldn't be recorded (No space left" "$weft" dry-run --report "$work/nearly"
ok "nor are its bounds kept" ends 2 "Waits: 0, at most 1 are asked for: that can't be told" "$weft" dry-run --report "$work/nearly" --max-syncs-per-step 1
ok "nor its counts whole" sh -c '"$1" dry-run --report "$2" --json | grep -q "\"complete\": *false"' sh "$weft" "$work/nearly"
ok "a process that outlives the command says nothing" said_nothing env WEFT_DRY_DIR="$work/gone" PYTHONPATH="$root/src/dryrun" python3 -S -c 'import os, weft_dry; weft_dry._Rows(os.environ["WEFT_DRY_DIR"]).put(kind="note")'
mkdir "$work/fake" "$work/fake/torch"
cat >"$work/fake/torch/__init__.py" <<'END'
from . import version
__version__ = "9.9+cpu"
END
echo 'cuda = hip = None' >"$work/fake/torch/version.py"
echo 'import torch; print("goes on for hours")' >"$work/cpu.py"
ok "a CPU build of torch ends at once" ends 2 "9.9+cpu of" env PYTHONPATH="$work/fake" "$weft" dry-run -- python3 "$work/cpu.py"
ok "before the program's hours" sh -c '! grep -q hours "$1"' sh "$work/output"
echo 'cuda = None; hip = "6.2"' >"$work/fake/torch/version.py"
ok "so does one for ROCm" ends 2 "ROCm" env PYTHONPATH="$work/fake" "$weft" dry-run -- python3 "$work/cpu.py"
ok "Ctrl-C is exit 130, after the report" sh -c '"$1" dry-run -- python3 -c "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(0.2); raise KeyboardInterrupt" >"$2" 2>&1; [ $? = 130 ] && grep -q "Dry run as" "$2"' sh "$weft" "$work/interrupted"
cat >"$work/twice.py" <<'END'
import os, signal, subprocess, sys, time
program = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(60)"
for i in range(3):
    begun = "%s/begun%d" % (sys.argv[2], i)
    run = subprocess.Popen([sys.argv[1], "dry-run", "--", sys.executable, "-c", program, begun], start_new_session=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while not os.path.exists(begun) and run.poll() is None:
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGINT)
    time.sleep(i * 0.002)  # at once both may come as one
    os.killpg(run.pid, signal.SIGINT)
    report = run.communicate(timeout=60)[0]
    if run.returncode != 130 or b"Dry run as" not in report:
        sys.exit("%d %s" % (run.returncode, report.decode()))
END
ok "and so it is where two signals come at once, as timeout's do" python3 "$work/twice.py" "$weft" "$work"
cat >"$work/alone.py" <<'END'
import os, signal, subprocess, sys, time
weft, folder, ignores, pause = sys.argv[1:]
program = "import signal, sys, time; %s; open(sys.argv[1], 'w').close(); time.sleep(60)" % (
    "signal.signal(signal.SIGINT, signal.SIG_IGN)" if ignores == "yes" else "pass")
begun = os.path.join(folder, "begun-" + ignores)
home = os.path.join(folder, "home-" + ignores)
os.mkdir(home)
run = subprocess.Popen([weft, "dry-run", "--", sys.executable, "-c", program, begun], start_new_session=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, TMPDIR=home))
while not os.path.exists(begun) and run.poll() is None:
    time.sleep(0.01)
os.kill(run.pid, signal.SIGINT)
if float(pause):
    time.sleep(float(pause))
    os.kill(run.pid, signal.SIGINT)
report = run.communicate(timeout=40)[0]
# Python writes what it did when it ends; one that is killed, and never used CUDA, leaves nothing.
said = b"no program was recorded" if ignores == "yes" else b"Dry run as"
if run.returncode != 130 or said not in report or os.listdir(home):
    sys.exit("%d %s %s" % (run.returncode, os.listdir(home), report.decode()))
END
ok "an interrupt that only the command gets comes to the program" python3 "$work/alone.py" "$weft" "$work" no 0
ok "a second one ends a program that doesn't heed it, and what is known is said" python3 "$work/alone.py" "$weft" "$work" yes 0.3
finish
