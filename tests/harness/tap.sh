# Sourced by shell tests: results as TAP, and a folder for what they write. Sets $root, $build (first argument) and $work.
# shellcheck shell=sh
# shellcheck disable=SC2034 # for those who source this
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
# shellcheck disable=SC2034
build=${1:?"usage: $0 BUILD_FOLDER"}
number=0
failures=0
work=$(mktemp -d "${TMPDIR:-/tmp}/weft test.XXXXXX") # with a space, as users' folders have
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# ok CHECK COMMAND...: the command must succeed; what it says is shown when it doesn't.
ok() {
  check=$1
  shift
  number=$((number + 1))
  if "$@" >"$work/said" 2>&1; then
    echo "ok $number - $check"
  else
    echo "not ok $number - $check"
    failures=$((failures + 1))
    head -n 40 "$work/said" | sed 's/^/# /'
  fi
}

# skip CHECK WHY
skip() {
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}

# equal GOT EXPECTED: for ok.
equal() {
  [ "$1" = "$2" ] && return 0
  printf 'came:     %s\nexpected: %s\n' "$1" "$2"
  return 1
}

# ends STATUS PATTERN COMMAND...: for ok. With that exit status, and having said something that matches; leaves it in $work/output.
ends() {
  status=0 expected=$1 pattern=$2
  shift 2
  "$@" >"$work/output" 2>&1 </dev/null || status=$?
  grep -q -e "$pattern" "$work/output" && [ "$status" = "$expected" ] && return 0
  echo "exit status $status, expected $expected and '$pattern' in:"
  cat "$work/output"
  return 1
}

# interrupted MILLISECONDS FILE COMMAND...: for ok. Presses Ctrl-C after so long: the command must end with 130. FILE: what it printed; what
# it said besides is left in $work/output.
interrupted() {
  python3 - "$work/output" "$@" <<'END'
import signal, subprocess, sys, time

said, pause, printed, *command = sys.argv[1:]
child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=open(printed, "w"), stderr=open(said, "w"))
time.sleep(float(pause) / 1000)
child.send_signal(signal.SIGINT)
status = child.wait(timeout=120)
if status != 130:
    sys.exit(f"exit status {status}, and said: {open(said).read()}")
END
}

# finish: the last line of each test.
finish() {
  echo "1..$number"
  [ "$failures" -eq 0 ]
}
