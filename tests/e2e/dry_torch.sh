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

holds() { python3 -c 'import json,os,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }
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

ok "the self-test" ends 0 "^all figures came out$" "$weft" dry-run --self-test "$python"
ok "misses nothing" sh -c '! grep "^missing" "$1"' sh "$work/output"
# A library that lies where PyTorch's do and imports what there isn't yet.
mkdir -p "$work/new/torch/lib" "$work/site"
echo 'int cudaIsNewerThanThis(void); int cudaIsNewerThanThis(void) { return 0; }' >"$work/cuda.c"
echo 'int cudaIsNewerThanThis(void), begin(void); int begin(void) { return cudaIsNewerThanThis(); }' >"$work/new.c"
echo "import ctypes; ctypes.CDLL('$work/new/torch/lib/libtorch_new.so')" >"$work/site/sitecustomize.py"
ok "with a newer PyTorch" sh -c 'cc -shared -fPIC -o "$1/libcuda_new.so" "$1/cuda.c" && cc -shared -fPIC -o "$1/new/torch/lib/libtorch_new.so" "$1/new.c" -L"$1" -lcuda_new "-Wl,-rpath,$1"' sh "$work"
ok "the self-test says what it can't vouch for" ends 0 "what is missing can't be vouched for" env PYTHONPATH="$work/site" "$weft" dry-run --self-test "$python"
ok "by symbol" grep -q "^missing .*cudaIsNewerThanThis" "$work/output"

# ---- memory ----
ok "the network of three layers" dry mlp 0 --gpu a100-80 -- "$python" "$programs/mlp.py"
# 1024 x 4096 + 4096, 4096 x 4096 + 4096, 4096 x 1024 + 1024 floats, blocks of 512 bytes.
ok "has its parameters as often as it must" holds "$work/mlp.json" "d['peak']['roles']['parameters'] == d['peak']['roles']['gradients'] == 4 * (1024 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 1024 + 1024) == d['peak']['roles']['optimizer_state'] // 2"
ok "and PyTorch's own peak" sh -c 'grep -q "^peak $(python3 -c "import json,sys; print(json.load(open(sys.argv[1]))[\"peak\"][\"allocated_bytes\"])" "$1")$" "$2"' sh "$work/mlp.json" "$work/mlp.said"
for run in 1 2; do
  ok "once more" dry "again$run" 0 --gpu a100-80 -- "$python" "$programs/mlp.py"
  ok "gives the same figures" python3 -c 'import json,sys; a,b=[json.load(open(p)) for p in sys.argv[1:]]; f=lambda d: (d["peak"]["allocated_bytes"], d["peak"]["reserved_bytes"], d["peak"]["roles"], d["devices"], d["steady"], [s for s in d["steps"]]); assert f(a) == f(b)' "$work/mlp.json" "$work/again$run.json"
done
# The environment of a dry run, without what watches.
ok "the stand-in alone" sh -c '"$1" dry-run -- sh -c "env | grep -e ^WEFT_DRY -e ^LD_PRELOAD" 2>/dev/null | grep -e "^WEFT_DRY_[A-Z]*=" -e "^LD_PRELOAD=" | grep -v -e DRY_DIR -e DRY_STEPS >"$2/bare.env"; [ -s "$2/bare.env" ]' sh "$weft" "$work"
ok "runs the program" sh -c 'env $(cat "$3/bare.env") "$1" "$2/mlp.py" stats 2>/dev/null | grep "^stat" >"$3/bare"; [ -s "$3/bare" ]' sh "$python" "$programs" "$work"
ok "with every statistic as it is under the watching" sh -c '"$4" dry-run --json -- "$1" "$2/mlp.py" stats 2>&1 >/dev/null | grep "^stat" | cmp - "$3/bare"' sh "$python" "$programs" "$work" "$weft"
ok "too small a GPU" dry small 1 --mem 500MiB -- "$python" "$programs/mlp.py"
ok "ends out of memory, by PyTorch's words" grep -q "OutOfMemoryError: CUDA out of memory" "$work/small.said"
ok "and says so" holds "$work/small.json" "d['program']['ended'] == 'oom' and d['devices'][0]['fits'] == 'no' and d['verdict'] == 'broken'"
ok "a program that lets itself have less" dry fraction 1 -- "$python" -c 'import torch; torch.cuda.set_per_process_memory_fraction(0.0625); torch.ones(3 << 29, device="cuda")'
ok "is told so" holds "$work/fraction.json" "d['places'][0]['memory_fraction'] == 0.0625 and d['devices'][0]['fits'] == 'no' and d['devices'][0]['room_bytes'] == d['devices'][0]['memory_bytes'] // 16"
ok "of several sizes each has its answer" dry sizes 1 --mem 8GiB --mem 1060MiB --mem 600MiB -- "$python" "$programs/mlp.py"
ok "from one run" holds "$work/sizes.json" "[x['fits'] for x in d['devices']] == ['yes', 'yes', 'no']"

ok "a decoder of 6.74e9 parameters" dry decoder 1 --gpu a100-80 --gpu rtx4090 -- "$python" "$programs/decoder.py"
ok "holds five times its parameters, within 0.5 %" holds "$work/decoder.json" "abs(d['peak']['allocated_bytes'] / (5 * 2 * 6738415616) - 1) < 0.005 and d['peak']['roles']['parameters'] // 1000000 == 2 * 6738415616 // 1000000"
ok "and fits one of two GPUs" holds "$work/decoder.json" "[x['fits'] for x in d['devices']] == ['yes', 'no']"
ok "memory that streams share" dry streams 0 --keep "$work/streams" -- "$python" "$programs/streams.py"
ok "is a bracket" holds "$work/streams.json" "d['places'][0]['peak_reserved_bytes'] == 2 * 64 << 20 and d['peak_reserved_bytes_with_late_events'] == 21 * 64 << 20"
ok "in a later report as well" sh -c '"$1" dry-run --report "$2" --json >"$3"' sh "$weft" "$work/streams" "$work/streams-later.json"
ok "with the same figures" python3 -c 'import json,sys; a,b=[json.load(open(p)) for p in sys.argv[1:]]; assert a == b, [k for k in a if a[k] != b.get(k)]' "$work/streams.json" "$work/streams-later.json"


# ---- work space of cuDNN ----
ok "ResNet-18" dry resnet 0 --gpu h100 -- "$python" "$programs/resnet.py"
cudnn=$(sed -n 's/^cudnn //p' "$work/resnet.said")
if [ "${cudnn:-0}" -ge 90800 ]; then
  ok "asks cuDNN for the work space of 32 plans" holds "$work/resnet.json" "any(l.startswith('cuDNN: work space of its plans') and '(32 times)' in l for l in d['limits'])"
else
  ok "has convolutions whose work space isn't known, the first one's derivative with the largest tensors" holds "$work/resnet.json" "any(l.startswith('cuDNN: its workspaces') and '(32 times, the largest 232.79 MiB)' in l for l in d['limits'])"
fi
if [ "${cudnn:-0}" -ge 90800 ]; then
  ok "which has a role of its own" holds "$work/resnet.json" "d['peak']['roles']['workspace'] > 0"
fi
# What a trial of the same cuDNN gave; it is above every tensor (64 x 64 x 112 x 112 floats).
if [ "${cudnn:-0}" = 92600 ]; then
  ok "the largest of which is known" grep -q "^largest 262972560$" "$work/resnet.said"
else
  skip "the largest of which is known" "it is for cuDNN 9.26, here is ${cudnn:-none}"
fi

ok "other libraries" dry libraries 0 --gpu h100 -- "$python" "$programs/libraries.py"
# 8 x 1024 x 1024 complex numbers of 8 bytes, at most 8 times.
ok "are counted or said, each that was asked for work space" holds "$work/libraries.json" "all(any(l.startswith(name + ':') and l.endswith(end) for l in d['limits']) for name, end in [('cuFFT', '(once, the largest 512.00 MiB)'), ('cusolverDnSgetrf_bufferSize', '(2 times)'), ('cusparseSpMM_bufferSize', '(once)'), ('cusparseSpMV_bufferSize', '(once)'), ('cusparseSpGEMM_compute', 'times)')])"
ok "the transform has its work area" holds "$work/libraries.json" "d['peak']['allocated_bytes'] >= 3 * (64 << 20)"

# Sums by hand are in the programs. Older releases of PyTorch keep a workspace of cuBLAS's for each thread that multiplied, by default 2 x 4 MiB + 16 x 8 KiB.
as_by_hand() {
  python3 - "$work/$1.said" "$work/$1.json" "$2" <<'END'
import json, re, sys

said, report = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
tensors, by_hand, blocks = map(int, re.search(r"^tensors (\d+) by hand (\d+)\nblocks (\d+)$", said, re.M).groups())
workspaces = sum(line["blocks"] for line in report["peak"]["by_line"] if line["role"] == "workspace")
if sys.argv[3] == "kept":
    by_hand += workspaces * (2 * 4096 + 16 * 8) * 1024
assert tensors == by_hand, "%d, by hand %d (%d workspaces)" % (tensors, by_hand, workspaces)
assert tensors <= blocks < 1.01 * tensors, "blocks take %d" % blocks
END
}
for program in "encoder train" "encoder forward" resnet18; do
  for segments in False True; do
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:$segments
    export PYTORCH_CUDA_ALLOC_CONF
    # shellcheck disable=SC2086 # a program and its argument
    set -- $program
    file=$1
    shift
    ok "$program, expandable_segments:$segments" dry by_hand 0 -- "$python" "$programs/$file.py" "$@"
    # ResNet gives cuBLAS's back before it counts: at its peak there are cuDNN's as well.
    case $file in resnet18) workspaces=given_back ;; *) workspaces=kept ;; esac
    ok "is what it is by hand, to the byte" as_by_hand by_hand "$workspaces"
  done
done
unset PYTORCH_CUDA_ALLOC_CONF

# ---- small programs, each with sums of its own ----
small() {
  dry small "$2" --gpu h100 -- "$python" "$programs/small.py" "$1" && grep -q "^came out $1\$" "$work/small.said"
}
for name in $("$python" "$programs/small.py" list); do
  case $name in
    out_of_memory) ok "$name" small "$name" 1 ;; # which it catches
    compiled_by_triton)
      ok "$name" small "$name" 0
      # What launches Triton's kernels, and what Inductor writes, are no files of the program's.
      ok "whose kernels come from its lines" holds "$work/small.json" "{os.path.basename(l['site']['file']) for l in d['lines'] if l['kind'] == 'launch'} == {'small.py'}"
      ;;
    *) ok "$name" small "$name" 0 ;;
  esac
done

# ---- lines ----
for workers in 0 2; do
  ok "a loader of pageable memory, $workers workers" dry pageable 0 -- "$python" "$programs/loader.py" pageable "$workers"
  ok "copies two tensors a step, by their lines" holds "$work/pageable.json" "d['steady']['pageable_copies'] == 2 and sorted(l['site']['line'] for l in d['lines'] if 'Pageable' in l['what'] and l['per_step'] == 1 and 'HtoD' in l['what']) == [17, 18]"
  ok "one of pinned memory, $workers workers" dry pinned 0 -- "$python" "$programs/loader.py" pinned "$workers"
  ok "copies none of them, and waits but for the loss" holds "$work/pinned.json" "d['steady']['pageable_copies'] == 0 and d['steady']['syncs'] == 1"
done
ok "a backward function in Python" dry backward 0 -- "$python" "$programs/backward.py"
# A product; a fill of ones, and of three sines the cosines and products. The gradient is added up from the second step on, in place.
ok "launches what is its own, what comes behind it is the waiting line's" holds "$work/backward.json" "sorted((l['site']['line'], l['count']) for l in d['lines'] if l['kind'] == 'launch' and l['site']['line'] in (12, 19)) == [(12, 5), (19, 5 * 7 + 4)]"
ok "a bound that is broken" dry bound 1 --max-pageable 0 -- "$python" "$programs/loader.py" pageable 0
ok "and one that is kept" dry bound 0 --max-pageable 0 --max-syncs-per-step 1 -- "$python" "$programs/loader.py" pinned 0
ok "the line that reads values is named" holds "$work/pinned.json" "[v['site']['line'] for v in d['values_read']] == [23]"

# ---- ways to start, ways to end ----
ok "--steps ends it" dry steps 0 --steps 2 -- "$python" "$programs/mlp.py"
ok "steps in a CUDA graph" dry graphed 1 --max-pageable 0 -- "$python" "$programs/steps.py" graph
ok "are taken when it is replayed, with what lies between them" holds "$work/graphed.json" "d['program']['steps'] == 8 and d['steady'] == dict(d['steady'], steps=6, pageable_copies=1)"
ok "steps that are compiled" dry compiled 0 -- "$python" "$programs/steps.py" compiled
ok "are counted as well" holds "$work/compiled.json" "d['program']['steps'] == 5"
ok "and end the program" dry compiled 0 --steps 2 -- "$python" "$programs/steps.py" compiled
ok "after as many as are wanted" holds "$work/compiled.json" "d['program']['steps'] == 2 and d['program']['ended'] == 'steps'"
ok "an average of the weights" dry average 0 -- "$python" "$programs/steps.py" average
ok "is parameters, though no optimizer has it" holds "$work/average.json" "d['peak']['roles']['parameters'] == 2 * 4 * (1024 * 1024 + 1024)"
ok "cleanly" holds "$work/steps.json" "d['program']['ended'] == 'steps' and d['program']['steps'] == 2"
ok "before what comes behind" sh -c '! grep -q "^peak" "$1"' sh "$work/steps.said"
mkdir "$work/package"
cp "$programs/mlp.py" "$work/package/__main__.py"
ok "python -m" sh -c 'cd "$1" && "$2" dry-run --json --steps 2 -- "$3" -m package 2>/dev/null >module.json' sh "$work" "$weft" "$python"
ok "is watched as well" holds "$work/module.json" "d['program']['steps'] == 2 and d['peak']['roles']['gradients'] > 0"
printf '#!%s\n' "$python" | cat - "$programs/mlp.py" >"$work/script"
chmod +x "$work/script"
ok "so is a script" dry script 0 --steps 2 -- "$work/script"
ok "with its steps" holds "$work/script.json" "d['program']['steps'] == 2"
ok "torch.compile goes on without a word" dry compile 0 -- "$python" "$programs/compiled.py"
ok "about hooks, and in one graph" sh -c 'grep -q "graphs 1 breaks 0" "$1" && ! grep -q "global hooks" "$1"' sh "$work/compile.said"
PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
export PYTORCH_CUDA_ALLOC_CONF
ok "an allocator that records no history" dry async 2 -- "$python" -c 'import torch; print("came", torch.ones(1 << 20, device="cuda").numel())'
unset PYTORCH_CUDA_ALLOC_CONF
ok "doesn't end the program" grep -q "^came 1048576$" "$work/async.said"
ok "and is why it can't be judged" holds "$work/async.json" "'4.00 MiB of a GPU' in d['why_not'] and any('no memory history' in l for l in d['limits'])"
ok "what Triton compiles" dry triton 2 -- "$python" -c 'import ctypes, os, torch; path = os.path.join(os.environ["TRITON_LIBCUDA_PATH"], "libcuda.so.1"); ctypes.CDLL(path).weft_dry_steps; print("driver", os.path.samefile(path, os.environ["LD_PRELOAD"].split(":")[0]))'
ok "finds the driver by its name" grep -q "^driver True" "$work/triton.said"
ok "two processes with a GPU each" dry parallel 0 --gpus 2 -- "$python" -m torch.distributed.run --nproc-per-node 2 "$programs/parallel.py"
ok "are both looked at" holds "$work/parallel.json" "sorted(p['device'] for p in d['places']) == [0, 1] and d['program']['steps'] == 3 and d['peak']['roles']['parameters'] == 4 << 20 and d['places'][0]['peak_allocated_bytes'] == d['places'][1]['peak_allocated_bytes']"
for how in fork exit; do
  ok "a child that trains, $how" dry forked 0 -- "$python" "$programs/forked.py" "$how"
  ok "is judged as any other process" holds "$work/forked.json" "d['program']['steps'] == 3 and d['peak']['roles']['parameters'] == 4 << 20 and d['peak']['roles']['optimizer_state'] == 8 << 20 and len(d['places']) == 1"
done
ok "two of multiprocessing, by fork" dry pool 0 --gpus 2 -- "$python" "$programs/forked.py" pool
ok "each with the GPU that it chose" holds "$work/pool.json" "[(p['device'], p['gpu']) for p in sorted(d['places'], key=lambda p: p['gpu'])] == [(0, 0), (0, 1)] and d['program']['steps'] == 3"
ok "workers that fail" dry fail 2 --gpus 2 -- "$python" "$programs/forked.py" fail
ok "leave nothing to judge" holds "$work/fail.json" "'exit status 1' in d['why_not'] and d['devices'][0]['fits'] == 'unknown' and d['peak']['roles']['parameters'] == 4 << 20"
ok "workers that are told to end" dry told 0 --gpus 2 -- "$python" "$programs/forked.py" terminate
ok "had their end" holds "$work/told.json" "len(d['places']) == 2 and d['peak']['roles']['optimizer_state'] == 8 << 20"
ok "workers that are killed" dry killed 2 --gpus 2 -- "$python" "$programs/forked.py" kill
ok "leave nothing to judge, and no word of memory that wasn't asked for" holds "$work/killed.json" "'was ended before it could write' in d['why_not']"
ok "a fork after the parent used the GPU" dry late 0 -- "$python" "$programs/forked.py" late
ok "can't use it" grep -q "CUDA error: initialization error" "$work/late.said"
ok "and the report says so" holds "$work/late.json" "any('CUDA in a forked process' in l for l in d['limits'])"
ok "nor begin anew" dry late 0 -- "$python" "$programs/forked.py" late-init
ok "by PyTorch's own words" grep -q "Cannot re-initialize CUDA in forked subprocess" "$work/late.said"
# A bucket is as large as the one weight; 2.8 has the first one still where it is made anew. The timers of DistributedDataParallel wait 8 times in each of the first 10 steps.
ok "with the bucket that gradients are added up in" holds "$work/parallel.json" "d['peak']['roles']['gradient_buckets'] in (4 << 20, 8 << 20)"
ok "and without the waits of the first steps only" holds "$work/parallel.json" "d['steady']['syncs'] == 0 and any('timers' in l and '(32 times)' in l for l in d['limits'])"
ok "integers that go from rank to rank" dry passages 0 --gpus 2 -- "$python" -m torch.distributed.run --nproc-per-node 2 "$programs/passages.py"
printf 'rank 0 all_to_all [[0, 10]]\nrank 0 batch [[41]]\nrank 0 gather [[20], [21]]\nrank 0 scatter [[30]]\nrank 1 all_to_all [[1, 11]]\nrank 1 batch [[40]]\nrank 1 scatter [[31]]\nrank 1 send [[3, 4]]\n' >"$work/passages.expected"
ok "come" sh -c 'grep "^rank" "$1.said" | LC_ALL=C sort | cmp - "$1.expected"' sh "$work/passages"
ok "objects that go from rank to rank" dry objects 0 --gpus 2 -- "$python" -m torch.distributed.run --nproc-per-node 2 "$programs/objects.py"
small='0: 3 word 2' large='1: 100003 word 100002'
for rank in 0 1; do
  echo "rank $rank all_gather ['$small', '$large']"
  echo "rank $rank broadcast ['$large', '1', 'three']"
  [ $rank = 0 ] && echo "rank 0 gather ['None', 'None']" || echo "rank 1 gather ['$small', '$large']"
  [ $rank = 0 ] && echo "rank 0 scatter ['$small']" || echo "rank 1 scatter ['other']"
  echo "rank $rank send ['$small', '7']"
done >"$work/objects.expected"
ok "come, whatever their sizes" sh -c 'grep "^rank" "$1.said" | LC_ALL=C sort | cmp - "$1.expected"' sh "$work/objects"
ok "and nothing was read that isn't known" holds "$work/objects.json" "d['values_read'] == []"
ok "at the program's lines" holds "$work/objects.json" "all(x['site'] and x['site']['file'].endswith('/objects.py') for x in d['peak']['by_line'] + d['lines'])"
ok "a crash is the program's own first" dry crash 2 -- "$python" "$programs/crash.py" python
ok "then what was counted" sh -c 'grep -q "ZeroDivisionError" "$1"' sh "$work/crash.said"
ok "with the line that read zeros" holds "$work/crash.json" "'ZeroDivisionError' in d['why_not'] and d['values_read'][0]['site']['line'] == 10 and d['peak']['allocated_bytes'] >= 4 << 20"
ok "a signal" dry signal 2 -- "$python" "$programs/crash.py" signal
ok "leaves what was counted, too" holds "$work/signal.json" "'signal 11' in d['why_not'] and any(l['kind'] == 'launch' for l in d['lines'])"
ok "os._exit" dry leave 2 -- "$python" "$programs/crash.py" leave
ok "leaves them as well" holds "$work/leave.json" "d['program']['exit_status'] == 3 and any(l['kind'] == 'launch' for l in d['lines'])"
ok "checks of values" dry checks 0 -- "$python" "$programs/checks.py"
ok "are passed" grep -q "^went on$" "$work/checks.said"
ok "and named, as all that is read" holds "$work/checks.json" "{v['site']['line'] for v in d['values_read']} >= {5, 6, 7}"
# A loop of many requests for memory, ended as timeout does it: the whole group is told, and the command tells the program again.
cat >"$work/group.py" <<'END'
import os, signal, subprocess, sys

with open(sys.argv[1], "w") as said, open(sys.argv[2], "w") as report:
    run = subprocess.Popen(sys.argv[3:], stdout=report, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for line in run.stderr:
        said.write(line)
        if "requests for memory are recorded" in line:
            os.killpg(run.pid, signal.SIGTERM)
            break
    said.write(run.stderr.read())
    print("status", run.wait())
END
ok "a loop that waits for a value is spoken of; ended with its group" ends 0 "^status 2$" "$python" "$work/group.py" "$work/group.said" "$work/group.json" "$weft" dry-run --json -- "$python" "$programs/crash.py" wait
ok "it leaves its memory" holds "$work/group.json" "'signal 15' in d['why_not'] and d['peak']['allocated_bytes'] >= 4 << 20"
ok "Ctrl-C is 130" dry interrupt 130 -- "$python" "$programs/crash.py" interrupt
ok "with memory" holds "$work/interrupt.json" "d['program']['ended'] == 'interrupt' and d['peak']['allocated_bytes'] >= 4 << 20"
for gpu in rtx4090 l4; do
  ok "a GPU that runs an older one's code, $gpu" dry older 0 --gpu "$gpu" -- "$python" -c 'import torch; print(torch.ones(3, device="cuda"))'
  ok "has code to run" holds "$work/older.json" "d['devices'][0]['cant_run'] is None"
done
# sm_70 went with CUDA 13; before, nothing older than sm_50 was built.
cat >"$work/ones.py" <<'END'
import torch

torch.ones(3, device="cuda")
print("archs", *torch.cuda.get_arch_list())
END
if "$python" -c 'import sys, torch; sys.exit("sm_70" not in torch._C._cuda_getArchFlags().split())'; then
  ok "one for which this PyTorch has code" dry none 0 --gpu v100-32 -- "$python" "$work/ones.py"
  ok "is said to run it" holds "$work/none.json" "d['devices'][0]['cant_run'] is None"
else
  ok "one for which this PyTorch has none" dry none 1 --gpu v100-32 -- "$python" "$work/ones.py"
  ok "is said to have none" holds "$work/none.json" "d['devices'][0]['fits'] == 'no' and 'no code for compute capability 7.0' in d['devices'][0]['cant_run']"
  ok "from a run as another as well" dry none 1 --gpu v100-32 --gpu a100-80 -- "$python" "$work/ones.py"
  ok "which it fits" holds "$work/none.json" "[x['fits'] for x in d['devices']] == ['yes', 'no'] and 'PyTorch' in d['devices'][1]['cant_run']"
fi
ok "no devices are visible" dry invisible 2 -- env CUDA_VISIBLE_DEVICES= "$python" -c 'import torch; print("found", torch.cuda.is_available(), torch.cuda.device_count())'
ok "and none is found" grep -q "^found False 0" "$work/invisible.said"
ok "a GPU that there isn't is none" dry invisible 2 -- env CUDA_VISIBLE_DEVICES=3 "$python" -c 'import torch; print("found", torch.cuda.is_available(), torch.cuda.device_count())'
ok "for PyTorch either" grep -q "^found False 0" "$work/invisible.said"
ok "with what to do" holds "$work/invisible.json" "'CUDA_VISIBLE_DEVICES=3' in d['why_not'] and '--gpus' in d['why_not']"
ok "a program that asks for no GPU" ends 2 "asked for no memory of a GPU" "$weft" dry-run -- "$python" -c 'import torch; torch.ones(3)'
finish
