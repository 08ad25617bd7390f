#!/bin/sh
# ./dev itself: what it says and how it ends when something isn't as it should be. Stand-ins for programs come first in the path.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

stand_in() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

with_stand_ins() { env PATH="$work/bin:$PATH" WEFT_NO_PACKAGES="$no_packages" "$@"; }

no_packages=
cd / || exit 1
ok "help lists the commands" ends 0 "^  test " "$root/dev" help
ok "no command is misuse" ends 2 "^Usage" "$root/dev"
ok "an unknown command is misuse" ends 2 "no command 'tset'" "$root/dev" tset
ok "an unknown preset is misuse" ends 2 "no preset 'fast'" "$root/dev" build fast

stand_in dpkg-query 'exit 1'
stand_in id 'echo 1000'
stand_in sudo 'exit 1'
ok "without root it prints the command that installs" ends 2 "^  apt-get update && apt-get install -y .* cmake" with_stand_ins "$root/dev" build

stand_in id 'echo 0'
stand_in env 'shift; exec "$@"'
stand_in apt-get 'echo "no network"; exit 100'
ok "a failed installation shows why and names the log" ends 1 "no network" with_stand_ins "$root/dev" build
rm "$work/bin/env"

no_packages=1
mkdir "$work/tree"
cp "$root/dev" "$work/tree/dev"
stand_in cmake 'echo "error: broken"; exit 1'
ok "a failed build shows the end of the log" ends 1 "error: broken" with_stand_ins "$work/tree/dev" build
ok "and names it" ends 1 "whole log is .*/tree/build/logs/build.log" with_stand_ins "$work/tree/dev" build
stand_in cmake 'sleep 20'
ok "Ctrl-C ends it with 130" ends 130 "interrupted" with_stand_ins timeout --preserve-status -s INT 1 "$work/tree/dev" build

# ---- PyTorch for test --with-torch; torch and numpy are small ones that are made here ----
rm "$work/bin/cmake"
mkdir -p "$work/site/torch" "$work/wheels" "$work/none"
echo '__version__ = "2.4.1+cu121"; from . import version' >"$work/site/torch/__init__.py"
echo 'cuda = "12.1"' >"$work/site/torch/version.py"
cp -r "$work/site" "$work/cpu"
echo 'cuda = None' >"$work/cpu/torch/version.py"
python3 - "$work/wheels" <<'END'
import sys, zipfile

for name, version, files in ("torch", "9.9.0", {"__init__": '__version__ = "9.9.0+cu130"; from . import version', "version": 'cuda = "13.0"'}), ("numpy", "9.9", {"__init__": ""}):
    info = "%s-%s.dist-info/" % (name, version)
    with zipfile.ZipFile("%s/%s-%s-py3-none-any.whl" % (sys.argv[1], name, version), "w") as wheel:
        for file, text in files.items():
            wheel.writestr("%s/%s.py" % (name, file), text)
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
END
# torch SETTING...: ./dev torch with these in its environment.
torch() { with_stand_ins env -u WEFT_TORCH -u WEFT_TORCH_PYTHON -u WEFT_TORCH_VERSION PIP_CONFIG_FILE=/dev/null "$@" "$work/tree/dev" torch; }
ok "a Python that has a CUDA build is taken as it is" ends 0 "^python3$" torch WEFT_TORCH_PYTHON=python3 PYTHONPATH="$work/site"
ok "also by the first numbers of its version" ends 0 "^python3$" torch WEFT_TORCH_PYTHON=python3 PYTHONPATH="$work/site" WEFT_TORCH_VERSION=2.4
ok "but not as another version" ends 2 "has PyTorch 2.4.1+cu121, not 2.40" torch WEFT_TORCH_PYTHON=python3 PYTHONPATH="$work/site" WEFT_TORCH_VERSION=2.40
ok "one that has a CPU build is refused" ends 2 "its torch 2.4.1+cu121 is no CUDA build" torch WEFT_TORCH_PYTHON=python3 PYTHONPATH="$work/cpu"
ok "one that isn't there, too" ends 2 "no Python starts there" torch WEFT_TORCH_PYTHON="$work/no/python"
ok "a folder that can't be made" ends 2 "name a folder" torch WEFT_TORCH=/dev/null/torch
real=$(python3 -c 'import sys; print(sys.executable)')
stand_in python3 "case \"\$*\" in *ensurepip*) exit 1 ;; esac; exec \"$real\" \"\$@\""
ok "without venv its package is named" ends 2 "apt-get install python3-venv" torch WEFT_TORCH="$work/torch"
rm "$work/bin/python3"
cd "$work" || exit 1
if python3 -c 'import ensurepip, venv' 2>/dev/null; then
  ok "without a network that is said" ends 1 "index can't be reached" torch WEFT_TORCH="$work/torch" PIP_INDEX_URL=http://127.0.0.1:9/
  ok "a version that there isn't" ends 1 "there is no PyTorch 9.8 for Python" torch WEFT_TORCH="$work/torch" WEFT_TORCH_VERSION=9.8 PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels
  ok "it is installed into the folder that is named, from anywhere" ends 0 "^$work/my torch/bin/python$" torch WEFT_TORCH="my torch" PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels
  ok "which is said" grep -q "installing PyTorch in $work/my torch" "$work/output"
  ok "and is there the next time" ends 0 "^$work/my torch/bin/python$" torch WEFT_TORCH="my torch" PIP_NO_INDEX=1 PIP_FIND_LINKS=none
  ok "without being installed again" sh -c '! grep -q installing "$1"' sh "$work/output"
  ok "another version isn't put over it" ends 2 "name another folder in WEFT_TORCH" torch WEFT_TORCH="my torch" WEFT_TORCH_VERSION=2.4.1
  ok "without a folder each version has its own" ends 0 "^$work/cache/weft/torch-9.9/bin/python$" torch XDG_CACHE_HOME="$work/cache" WEFT_TORCH_VERSION=9.9 PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels
else
  skip "installing PyTorch" "this python3 can't make virtual environments"
fi
finish
