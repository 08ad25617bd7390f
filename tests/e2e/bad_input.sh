#!/bin/sh
# Files that a command can't use, each given to every command that reads files of PyTorch: exit status 2, one line on stderr that says
# what the file is and, behind a semicolon, what to do; nothing on stdout; and no more memory than a small file takes and 100 MB.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$(CDPATH="" cd -- "$build" && pwd)/weft
export LC_ALL=C

python3 "$here/memory_pickles.py" "$work"
python3 "$here/bad_traces.py" "$work"
cd "$work" || exit 1

# refused FILE COMMAND [FILE]
refused() {
  file=$1
  shift
  status=0
  timeout 60 python3 "$root/tests/harness/peak_memory.py" used "$weft" "$@" >printed 2>said_of || status=$?
  used=$(cat used)
  lines=$(wc -l <said_of)
  [ "$status" = 2 ] && [ "$lines" = 1 ] && [ ! -s printed ] && grep -q "$file.*; [a-z]" said_of && [ "$used" -lt 110000 ] && return 0
  echo "status $status, $lines lines, $used kB"
  head -c 500 said_of printed
  return 1
}

snapshots="p2.pickle list.pickle rmm.csv"
traces="trace.json cut.json.gz noise.json.gz behind.json.gz cut_in_first.json no_events.json not_events.json deep_lists.json \
  deep_objects.json deep_events.json digits.json nan.json control.json zeros.gz spaces.json.gz string.json.gz execution.json"
for file in $traces timeline.json page.html torch.pt empty noise cut.pickle cut.gz evil2.pickle evil4.pickle memo.pickle long.pickle \
  nest.pickle marks.pickle other.pickle number.pickle zero.pickle hole.pickle text.pickle bad.csv; do
  ok "$file is no snapshot" refused "$file" memory "$file"
  ok "$file has no history" refused "$file" replay-alloc "$file"
done
for file in $traces $snapshots timeline.json page.html torch.pt empty noise evil4.pickle nest.pickle bad.csv; do
  ok "$file is no trace" refused "$file" audit "$file"
done
for file in cut.json.gz no_events.json deep_events.json digits.json zeros.gz evil4.pickle memo.pickle cut.gz empty timeline.json; do
  ok "$file can't be compared" refused "$file" check "$file" "$file"
done
ok "two snapshots of which one is refused" refused evil2.pickle memory p2.pickle evil2.pickle
ok "a trace beside a snapshot" refused p2.pickle check "$root/docs/traces/fast.json.gz" p2.pickle
finish
