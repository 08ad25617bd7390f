#!/bin/sh
# The page of weft memory --html as a browser shows it: opened, moved through by keys and by the mouse, in the dark and on narrow screens,
# against what the snapshot's JSON says. How long it takes with a million events is in docs/performance.md; here only that nothing hangs.
# shellcheck disable=SC2016 # for sh -c, with arguments of its own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
maker=$build/tests/make_snapshot

ok "a snapshot is made" "$maker" "$work/a.pickle" 30000 3 900
ok "its page is written" "$weft" memory --html "$work/a.html" "$work/a.pickle"
ok "and what it says as JSON" sh -c '"$1" memory --json "$2/a.pickle" >"$2/a.json"' sh "$weft" "$work"
python3 "$root/bench/open_page.py" "$work/a.html" >"$work/used.json"
if grep -q '^no Chromium' "$work/used.json"; then
  skip "the page in a browser" "no Chromium here"
  finish
  exit
fi

# holds EXPRESSION of d, what came of using the page, and s, what the snapshot says.
holds() {
  python3 - "$work/used.json" "$work/a.json" "$1" <<'END'
import json
import re
import sys

d, s = (json.load(open(path)) for path in sys.argv[1:3])


def mib(n):
    return f"{n / 2**20:,.2f} MiB"


view = d["events_in_view"]
assert eval(sys.argv[3]), (sys.argv[3], d)
END
}

ok "it opens and its script ran" holds "d['ready']"
ok "within 10 seconds, without standing still for one" holds "d['opened_s'] < 10 and d['longest_pause_ms'] < 1000"
ok "it asks nobody for anything" holds "d['asked_for'] == []"
ok "before the first event there is nothing" holds "d['shown']['first'].startswith('After event 0 (0.000 s): 0 B allocated')"
ok "at the end it shows what is allocated and reserved then" holds \
  "mib(s['end']['allocated_bytes']) + ' allocated' in d['shown']['last'] and mib(s['end']['reserved_bytes']) + ' reserved' in d['shown']['last']"
ok "p goes to the peak" holds \
  "f\"After event {s['peak_allocated_event']:,} \" in d['shown']['peak'] and mib(s['peak_allocated_bytes']) + ' allocated' in d['shown']['peak']"
ok "a comma goes back by one event" holds "f\"After event {s['peak_allocated_event'] - 20:,} \" in d['shown']['step']"
ok "four times + shows a sixteenth" holds "abs((view['zoom'][1] - view['zoom'][0]) * 16 - s['events']) < 32"
ok "arrows pan by a fifth of what is in view" holds "abs(view['zoom'][0] - view['pan'][0] - min(20 * (view['zoom'][1] - view['zoom'][0]) / 5, view['zoom'][0])) < 3"
ok "dragging pans with the pointer" holds "abs((view['drag'][0] - view['pan'][0]) / (view['pan'][1] - view['pan'][0]) - 0.6) < 0.02"
ok "keys go from block to block" holds "re.match(r'[0-9.,]+ [KM]?i?B at 0x[0-9a-f]+, since event [0-9,]+', d['block']) and 'train/' in d['block']"
ok "it is dark where the reader wants it dark" holds "d['light'] != d['dark'] and int(d['dark'][4:].split(',')[0]) < 60"
ok "it doesn't scroll sideways on 320 and 768 pixels" holds "d['fits'] == {'320': True, '768': True}"
finish
