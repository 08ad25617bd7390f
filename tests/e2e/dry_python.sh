#!/bin/sh
# The stand-in driver in each Python of this machine, without torch: it names the lines that Python itself would name, or says that it can't; and it
# names what a PyTorch newer than itself imports.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
build=$(cd "$build" && pwd)
programs=$root/tests/e2e/dry_programs
stand_in=$(find "$build" -name libweft-dry.so | head -n 1)

cat >"$work/compare.py" <<'CHECK'
import glob, json, sys

expected, came = {}, {}
for size, (file, line, function) in json.load(open(sys.argv[1])).items():
    expected[file, line, function] = expected.get((file, line, function), 0) + int(size)
for row in map(json.loads, open(glob.glob(sys.argv[2] + "/events.*")[0], encoding="utf-8")):
    assert row["kind"] in ("run", "device", "malloc"), row
    if row["kind"] == "malloc":
        came[row["file"], row["line"], row["function"]] = row["bytes"]
wrong = ["%s: expected %s, came %s" % (key, expected.get(key), came.get(key)) for key in {**expected, **came} if expected.get(key) != came.get(key)]
assert not wrong and len(came) > 10, "\n".join(wrong)
CHECK

# alone FOLDER PYTHON PROGRAM ARGUMENT...: runs it on the stand-in, without weft; its counts are left in the folder.
alone() {
  folder=$1
  shift
  mkdir "$folder"
  WEFT_DRY_DIR=$folder LD_PRELOAD="$stand_in${PRELOAD:+:$PRELOAD}" "$@" >"$folder/printed"
}

# ---- lines ----
PRELOAD=
found=
for python in python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.13t python3.14 python3.14t python3.15 \
  "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
  path=$("$python" -c 'import sys; assert sys.version_info >= (3, 8); print(sys.executable)' 2>/dev/null) || continue
  case $found in *" $path "*) continue ;; esac
  found="$found $path "
  version=$("$path" -V)
  folder=$work/$(basename "$(dirname "$(dirname "$path")")")-$(basename "$path")
  ok "$version runs a program of many lines" alone "$folder" "$path" "$programs/lines.py"
  ok "and each of them is named as $version names it" python3 "$work/compare.py" "$folder/printed" "$folder"
done

cat >"$work/text.sh" <<'END_OF_SH'
"$1" -c "import ctypes
ask = ctypes.CDLL(None).cudaMalloc
def function():
    ask(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(4096))
for _ in range(20):
    function()"
END_OF_SH
ok "a program without a file" alone "$work/text" sh "$work/text.sh" python3
ok "has the lines of its text" grep -q '"malloc".*"file":"<string>","line":4,"function":"function"' "$work"/text/events.*

# A Python that says something else than its frames: as one would whose frames are of a kind that isn't known.
cat >"$work/strange.c" <<'END_OF_C'
int PyFrame_GetLineNumber(void *frame);
int PyFrame_GetLineNumber(void *frame) { return 7; }
END_OF_C
ok "a strange Python" cc -shared -fPIC -o "$work/strange.so" "$work/strange.c"
cd "$work" || exit 1 # whose name has a space, which LD_PRELOAD doesn't take
PRELOAD=./strange.so
ok "runs all the same" alone "$work/strange" python3 "$programs/lines.py"
PRELOAD=
ok "its lines are said to be unknown" sh -c 'grep -q "\"limit\".*lines aren.t known" "$1"/events.*' sh "$work/strange"
ok "and none is named" sh -c '! grep -q "\"line\":[1-9]" "$1"/events.*' sh "$work/strange"

# ---- a PyTorch that is newer than the stand-in ----
# Its library imports from NVIDIA's what the stand-in hasn't; NVIDIA's import from one another what is theirs alone, and are found by PyTorch's path.
mkdir -p "$work/new/torch/lib" "$work/new/nvidia/lib"
cat >"$work/inner.c" <<'END_OF_C'
int cublasLtInnerMatter(void);
int cublasLtInnerMatter(void) { return 0; }
END_OF_C
cat >"$work/nvidia.c" <<'END_OF_C'
int cudaIsNewerThanThis(void), cublasLtInnerMatter(void);
int cudaIsNewerThanThis(void) { return cublasLtInnerMatter(); }
END_OF_C
cat >"$work/torch.c" <<'END_OF_C'
int cudaIsNewerThanThis(void), cudaGetDeviceCount(int *), cudaMalloc(void **, long), begin(void);
int begin(void) {
  void *address;
  int count, failed = cudaGetDeviceCount(&count) || cudaMalloc(&address, 1);
  return failed ? cudaIsNewerThanThis() : 0;
}
END_OF_C
# library FILE SOURCE OPTION...
library() {
  into=$1 source=$2
  shift 2
  cc -shared -fPIC -o "$work/new/$into" "$work/$source" -Wl,--disable-new-dtags "-Wl,-rpath,\$ORIGIN/../../nvidia/lib" -L"$work/new/nvidia/lib" "$@"
}
ok "a library that is known to NVIDIA's alone" library nvidia/lib/libinner.so inner.c
ok "NVIDIA's" library nvidia/lib/libnvidia.so nvidia.c -linner
ok "and PyTorch's" library torch/lib/libtorch_new.so torch.c -lnvidia -Wl,--unresolved-symbols=ignore-all
ok "run" alone "$work/imports" python3 -c 'import ctypes, sys; assert ctypes.CDLL(sys.argv[1]).begin() == 0' "$work/new/torch/lib/libtorch_new.so"
ok "what the stand-in hasn't is named, by symbol" sh -c 'grep -q "\"limit\",\"what\":\"cudaIsNewerThanThis\".*isn.t known here" "$1"/events.*' sh "$work/imports"
ok "and nothing besides" sh -c '[ "$(grep -c isn.t.known.here "$1"/events.*)" = 1 ]' sh "$work/imports"
finish
