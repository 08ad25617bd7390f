#!/bin/sh
# weft memory and weft replay-alloc from the outside: snapshots of the project's generator, and of Python's pickle in every protocol; what
# is no snapshot; exit statuses.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
maker=$build/tests/make_snapshot

holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), sys.argv[2]' "$1" "$2"; }
narrow() { [ "$(LC_ALL=C.UTF-8 wc -L <"$1")" -le "$2" ]; }

# ---- the generator's snapshots ----
ok "the generator writes a snapshot" "$maker" "$work/a.pickle" 20000
ok "and one that ends out of memory" "$maker" "$work/oom.pickle" 100000 2 800
ok "the sums of the generator agree with Python's reading" python3 "$here/memory_check.py" "$weft" "$work/a.pickle"
ok "also when memory ran out" python3 "$here/memory_check.py" "$weft" "$work/oom.pickle"
ok "also under other settings" sh -c '"$1" "$3/e.pickle" 5000 3 0 expandable_segments:True && python3 "$2" "$4" "$3/e.pickle"' sh "$maker" "$here/memory_check.py" "$work" "$weft"
ok "also of a history cut at its start" sh -c '"$1" "$3/c.pickle" 20000 4 0 "" 9000 && python3 "$2" "$4" "$3/c.pickle"' sh "$maker" "$here/memory_check.py" "$work" "$weft"
ok "the text fits 80 columns" sh -c '"$1" memory "$2/oom.pickle" >"$2/text"' sh "$weft" "$work"
ok "and is narrow" narrow "$work/text" 80
ok "it names who asked when memory ran out" grep -q "Out of memory at event" "$work/text"
ok "and says that fragmentation was the cause" grep -q "Fragmentation was the cause" "$work/text"
ok "each large hole stands beside the block that keeps it" sh -c '
  "$1" memory --json --top 12 "$2/oom.pickle" >"$2/o.json" && grep -A 1 "beside a block of" "$2/text" | tail -1 >"$2/hole" && python3 -c "
import json, sys
hole = json.load(open(sys.argv[1]))[\"holes\"][0]
row = open(sys.argv[2]).read().split()
assert row[:6] == [\"%.2f\" % (hole[key] / 2**20) if i == 0 else \"MiB\" for key in (\"bytes\", \"pin_bytes\", \"bytes_without_pin\") for i in (0, 1)], row
" "$2/o.json" "$2/hole"' sh "$weft" "$work"
ok "by module" ends 0 "torch/nn/modules\|train/model.py:52 forward\|modules/linear.py:134 forward" "$weft" memory --by module "$work/a.pickle"
ok "by size" ends 0 "each" "$weft" memory --by size "$work/a.pickle"
ok "with stacks" ends 0 "train/train.py:171" "$weft" memory --stacks "$work/a.pickle"
ok "as a map" ends 0 "20.00 MiB L " "$weft" memory --map "$work/a.pickle"
ok "after an event" ends 0 "after event 100" "$weft" memory --at 100 "$work/a.pickle"
ok "as a drawing" sh -c '"$1" memory --svg "$2/a.svg" "$2/a.pickle" >/dev/null && python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$2/a.svg"' sh "$weft" "$work"
ok "as a page" sh -c '"$1" memory --html "$2/a.html" "$2/a.pickle" >/dev/null && grep -q "</html>" "$2/a.html"' sh "$weft" "$work"
ok "a packed file reads the same" sh -c 'gzip -k "$2/a.pickle" && "$1" memory --json "$2/a.pickle.gz" | sed 1,2d >"$2/g" && "$1" memory --json "$2/a.pickle" | sed 1,2d | cmp - "$2/g"' sh "$weft" "$work"

# ---- the same dict in every protocol ----
python3 "$here/memory_pickles.py" "$work"
for protocol in 2 3 4 5; do
  ok "protocol $protocol reads as Python reads it" sh -c '"$1" memory --json "$2/p$3.pickle" >"$2/p$3.json"' sh "$weft" "$work" "$protocol"
  ok "with the sums of its blocks" holds "$work/p$protocol.json" "d['end']['allocated_bytes'] == 4 << 20 and d['peak_allocated_bytes'] == 12 << 20"
  ok "and the user's line" holds "$work/p$protocol.json" "d['holders'][0]['site']['line'] == 42"
done
ok "of several devices the one that has most reserved is taken" ends 0 "devices.pickle: device 1" "$weft" memory "$work/devices.pickle"
ok "and the others are named" grep -q "recorded as well: device 0 (--device N)" "$work/output"
ok "another one by its number" ends 0 "12.00 MiB" "$weft" memory --device 0 "$work/devices.pickle"
ok "all of them in JSON" sh -c '"$1" memory --json "$2/devices.pickle" >"$2/devices.json"' sh "$weft" "$work"
ok "by number" holds "$work/devices.json" "d['device'] == 1 and d['devices'] == [0, 1]"
ok "a bare list of segments has no history but an end" sh -c '"$1" memory "$2/list.pickle" | grep -q "no history"' sh "$weft" "$work"
ok "an RMM log reads" sh -c '"$1" memory --json "$2/rmm.csv" >"$2/rmm.json"' sh "$weft" "$work"
ok "with its peak, an event a line" holds "$work/rmm.json" "d['events'] == 3 and d['peak_allocated_event'] == 2 and d['kind'] == 'rmm_log' and d['peak_allocated_bytes'] == 3 << 20 and d['end']['allocated_bytes'] == 1 << 20"

# ---- texts from a file don't reach the terminal as commands ----
quiet() { "$@" 2>&1 | tr -d '\n' | LC_ALL=C grep -q '[[:cntrl:]]' && "$@" | cat -v | head -n 20 && return 1 || return 0; }
ok "names in reports are plain" quiet "$weft" memory --stacks "$work/escape.pickle"
ok "in maps" quiet "$weft" memory --map "$work/escape.pickle"
ok "by module" quiet "$weft" memory --by module "$work/escape.pickle"
ok "in replays" quiet "$weft" replay-alloc "$work/escape.pickle"
ok "in comparisons" quiet "$weft" memory "$work/p4.pickle" "$work/escape.pickle"
ok "and in refusals" quiet "$weft" memory "$work/escape_global.pickle"
ok "the drawing stays XML" sh -c '"$1" memory --svg "$2/e.svg" "$2/escape.pickle" >/dev/null && python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$2/e.svg"' sh "$weft" "$work"

# ---- two snapshots ----
ok "the same twice is no growth" ends 0 "Nobody holds more" "$weft" memory "$work/a.pickle" "$work/a.pickle"
ok "more is, in the exit status" ends 1 "train/model.py:88 mlp" "$weft" memory "$work/a.pickle" "$work/oom.pickle"
ok "unless it is tolerated" ends 0 "growth" "$weft" memory --tolerance 100 "$work/a.pickle" "$work/oom.pickle"
ok "one that can't be read can't be judged" ends 2 "cut off" "$weft" memory "$work/a.pickle" "$work/cut.pickle"

# ---- replay ----
ok "the replay of a whole history is exact" ends 0 "Replayed as recorded: exact" "$weft" replay-alloc "$work/a.pickle"
ok "also where memory ran out" ends 0 "Replayed as recorded: exact" "$weft" replay-alloc "$work/oom.pickle"
ok "a search recommends" sh -c '"$1" replay-alloc --search --json "$2/oom.pickle" >"$2/r.json"' sh "$weft" "$work"
ok "settings that need less, and fit" holds "$work/r.json" "d['recommended'] == 'expandable_segments:True' and [s for s in d['settings'] if s['conf'] == d['recommended']][0]['fits'] and not d['settings'][0]['fits']"
ok "its text fits 80 columns" sh -c '"$1" replay-alloc --search "$2/oom.pickle" >"$2/text"' sh "$weft" "$work"
ok "and is narrow, too" narrow "$work/text" 80
ok "less memory doesn't fit" ends 0 " no" "$weft" replay-alloc --mem 700MiB "$work/a.pickle"
ok "an RMM log is replayed" ends 0 "can't be known" "$weft" replay-alloc "$work/rmm.csv"

# ---- interrupted ----
mkfifo "$work/unwritten"
ok "Ctrl-C ends the waiting for a pipe at the first press" interrupted 400 "$work/stopped" "$weft" memory "$work/unwritten"
ok "there is a long history" "$maker" "$work/long-history.pickle" 3000000
ok "Ctrl-C ends its reading" interrupted 200 "$work/stopped" "$weft" memory --json "$work/long-history.pickle"
ok "it says so, and prints nothing" sh -c 'grep -q "reading was stopped" "$1/output" && [ ! -s "$1/stopped" ]' sh "$work"
ok "Ctrl-C ends a search" interrupted 1500 "$work/stopped" "$weft" replay-alloc --search --json "$work/long-history.pickle"
ok "it says so as well" sh -c 'grep -q "was stopped" "$1/output" && [ ! -s "$1/stopped" ]' sh "$work"
rm -f "$work/long-history.pickle"

# ---- and what is refused ----
ok "settings that PyTorch refuses are misuse" ends 2 "max_split_size_mb too small" "$weft" replay-alloc --conf max_split_size_mb:1 "$work/a.pickle"
ok "a size that is none is misuse" ends 2 "16GiB" "$weft" replay-alloc --mem lots "$work/a.pickle"
ok "no history, no replay" ends 2 "no history was recorded" "$weft" replay-alloc "$work/list.pickle"
ok "an event that isn't there" ends 2 "there is no event" "$weft" memory --at 99999999 "$work/a.pickle"
ok "a device that isn't there" ends 2 "nothing was recorded of device 3" "$weft" memory --device 3 "$work/a.pickle"
ok "a file that isn't there" ends 2 "No such file" "$weft" memory "$work/nothing"
ok "a folder" ends 2 "directory" "$weft" memory "$work"
ok "a device that is no number of one" ends 2 "from 0 to 4095" "$weft" memory --device 4096 "$work/a.pickle"
ok "a tolerance without a second snapshot" ends 2 "for two snapshots" "$weft" memory --tolerance 5 "$work/a.pickle"
ok "a map as JSON" ends 2 "leave --json away" "$weft" memory --map --json "$work/a.pickle"
ok "a folder to write to" ends 1 "Is a directory" "$weft" memory --svg "$work" "$work/a.pickle"
ok "a page that can't be written" ends 1 "no/such" "$weft" memory --html "$work/no/such/a.html" "$work/a.pickle"
for bad in "cut.pickle cut off" "cut.gz cut off" "evil2.pickle refused: global" "evil4.pickle refused: global" "memo.pickle memo entry 2147483648" \
  "long.pickle an integer of 255 bytes" "nest.pickle stacked" "marks.pickle nested" "other.pickle holds a list or dict of something else" \
  "number.pickle holds a number" "zero.pickle no format" "trace.json weft audit reads it" "timeline.json memory timeline" "page.html page for browsers" \
  "torch.pt archive" "empty empty file" "noise no format" "hole.pickle isn't covered by its blocks" "text.pickle isn't a whole number" "bad.csv not a line of an RMM log"; do
  file=${bad%% *} says=${bad#* }
  ok "$file: exit 2, and what it is" ends 2 "$says" "$weft" memory "$work/$file"
done
finish
