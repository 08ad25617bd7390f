#!/bin/sh
# The HTML report as a browser shows it, and the Chrome trace as a reader takes it: looks for values that are known from how the run was
# made up (tests/report/sample_run.h), not just for a page.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"

writer="$build/tests/report_test_report"
page="$work/report.html"

# The document after its script ran.
dump() {
  "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=6000 \
    --window-size=1280,900 --dump-dom "file://$1" >"$2" 2>/dev/null && [ -s "$2" ]
}

has() { grep -q -F -e "$1" "$work/dom"; }
probed() { grep -q -F -e "$1" "$work/probe.dom"; }

ok "the made-up run's report is written" "$writer" --write "$work"
ok "the trace is JSON that adds up" python3 "$here/check_trace.py" "$work/trace.json" "$work/report.json"

browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then browser=$name && break; fi
done
if [ -z "$browser" ]; then
  skip "the page in a browser" "no chromium here"
  finish
  exit
fi

ok "the page opens" dump "$page" "$work/dom"
ok "it shows the rate" has '<dt>images/s</dt><dd>128,000</dd>'
ok "it shows the bytes of the batches" has '>179.54 MiB</td>'
ok "it names the line that copies" has '<code>sample_run.h:'
for stage in load copy forward backward optimizer; do
  ok "it shows the stage $stage" has "</b>$stage</th>"
done
ok "the timeline has its lanes" has 'data-lanes="thread 1; thread 2; sim:0 (emulated) · default stream; sim:0 (emulated) · stream 1"'
ok "the timeline has every stretch" has 'data-segments="5628"'
ok "the timeline has every operation" has 'data-ops="5162"'
ok "the memory curve names its peak" has 'peak 11.00 MiB allocated at'

# The same page with a script at its end that uses it and writes down what came out.
sed '/^<\/body>/,$d' "$page" >"$work/probe.html"
cat "$here/report_probe.html" >>"$work/probe.html"
ok "the page can be used" dump "$work/probe.html" "$work/probe.dom"
ok "the timeline is drawn in colours" probed 'data-drawn="true"'
for width in 320 390 768 1600; do
  ok "at $width pixels it doesn't scroll sideways" probed "data-width$width=\"fits\""
done
ok "a key goes to the first stretch: the load that was interrupted" \
  probed 'data-first="load · 20.0 µs of 100.0 µs, interrupted · at 0 s · thread 1"'
ok "a key goes to the next lane" probed 'data-next="thread 2"'
ok "a button zooms, the memory curve with it" probed 'data-zoomed="150 0 300 1000"'
ok "a table sorts by another column" probed 'data-sorted="descending 3"'
ok "and the other way round" probed 'data-reversed="ascending 3"'
finish
