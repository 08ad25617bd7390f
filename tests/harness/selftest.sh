#!/bin/sh
# The counter of ./dev test counted against logs whose outcome is known. Prints TAP.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
number=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME STATUS "PASSED FAILED": the log comes on standard input.
expect() {
  number=$((number + 1))
  cat >"$work/log"
  result=$(awk -v status="$2" -v failures="$work/failures" -f "$here/tally.awk" "$work/log")
  if [ "$result" = "$3" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    echo "# came $result, expected $3"
  fi
}

expect "plain TAP is counted" 0 "2 0" <<'EOF'
1..2
ok 1 - a
ok 2 - b
EOF
expect "a failure is counted once" 1 "1 1" <<'EOF'
ok 1 - a
not ok 2 - b
# why
EOF
expect "a script that fails without saying so is a failure" 1 "1 1" <<'EOF'
ok 1 - a
EOF
expect "a script that says nothing ran no check" 0 "0 1" </dev/null
expect "results that were announced and didn't come are a failure" 0 "1 1" <<'EOF'
1..3
ok 1 - a
EOF
expect "a skipped check counts as neither" 0 "1 0" <<'EOF'
1..2
ok 1 - a
not ok 2 # SKIP b
EOF
expect "programs under ctest are counted by their checks" 8 "3 2" <<'EOF'
3: 1..2
1: 1..2
1: ok 1 - a
3: ok 1 - b
1: ok 2 - c
3: not ok 2 - d
3: # 0x1 != 0x2
1/2 Test #1: base/convert .....................   Passed    0.01 sec
2/2 Test #3: exec/threads .....................***Failed    0.27 sec
1: not ok 9 - late
EOF
expect "a crash under ctest is a failure" 8 "1 1" <<'EOF'
1: 1..2
1: ok 1 - a
1/1 Test #1: base/convert .....................***Exception: SegFault  0.01 sec
EOF
expect "a program without checks of its own is one check" 0 "1 0" <<'EOF'
1: hello
1/1 Test #1: base/convert .....................   Passed    0.01 sec
EOF
expect "a sanitizer's exit status after passing checks is a failure" 8 "1 1" <<'EOF'
1: 1..1
1: ok 1 - a
1/1 Test #1: base/convert .....................***Failed    0.01 sec
EOF
echo "1..$number"
