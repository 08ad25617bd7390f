#!/bin/sh
# weft copy-plan from the outside: words, JSON, pictures, and what it refuses.
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
export OMP_NUM_THREADS=1

plan() { "$weft" copy-plan "$@"; }
planned() {
  file=$1
  shift
  plan "$@" --json >"$file"
}
holds() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), (sys.argv[2], d)' "$1" "$2"; }
is_picture() {
  python3 -c 'import sys, xml.etree.ElementTree as t; r=t.parse(sys.argv[1]).getroot(); assert r.tag.endswith("}svg") and sys.argv[2] in "".join(r.itertext())' "$1" "$2"
}

# ---- what it says ----
ok "tells method, form and speed in words" ends 0 "^measured .* of memcpy" plan --from 'f32[32,224,224,3]' --permute 0,3,1,2
for words in 'source  *f32.32,3,224,224., strides (150528,1,672,3)' 'destination  *f32.32,3,224,224., strides (150528,50176,224,1)' \
  'normal form  *3 dims of 4' 'size  *32  *3  *50176$' 'source step  *602112  *4  *12  bytes' 'method  *[a-z]*: .' 'moves  *18.38 MiB read, 18.38 MiB written'; do
  ok "says: $words" grep -q "^ *$words" "$work/output"
done
ok "prints JSON" planned "$work/plan.json" --from 'u8[4,30,50,3]' --permute 0,3,1,2 --to f32 --format channels_last
ok "with dtypes, sizes and strides" holds "$work/plan.json" \
  "d['from'] == {'dtype': 'uint8', 'size': [4, 3, 30, 50], 'strides': [4500, 1, 150, 3]} and d['to'] == {'dtype': 'float32', 'size': [4, 3, 30, 50], 'strides': [4500, 1, 150, 3]}"
ok "with the form: same order on both sides is one dim" holds "$work/plan.json" \
  "d['form']['size'] == [18000] and d['form']['source_step'] == [1] and d['form']['destination_step'] == [4] and d['method'] == 'rows'"
ok "with bytes and speed" holds "$work/plan.json" "(d['bytes_read'], d['bytes_written']) == (18000, 72000) and d['measured']['value'] > 0"
ok "takes strides, and counts elements that repeat once" planned "$work/rows.json" --from 'bf16[70,4096]' --strides 0,1
ok "in bytes" holds "$work/rows.json" "(d['bytes_read'], d['bytes_written']) == (8192, 573440)"
ok "dims may count from the end" planned "$work/last.json" --from 'i64[2,3,5]' --permute -1,0,1
ok "as in PyTorch" holds "$work/last.json" "d['to']['size'] == [5, 2, 3]"
ok "explains what doesn't fit into memory" ends 0 "not: both sides" plan --from 'f32[200000,1000000]' --permute 1,0
ok "nothing to do is nothing" ends 0 "^method  *nothing: there are no elements" plan --from 'f32[0,3]'
ok "a number is copied too" ends 0 "ns a call" plan --from 'f32[]'
ok "draws" plan --from 'f32[6,8]' --permute 1,0 --svg "$work/a <b> & c.svg"
ok "an SVG" is_picture "$work/a <b> & c.svg" "source, as it lies in memory"
ok "with nothing on it, if there is nothing" plan --from 'f32[0]' --svg "$work/none.svg"
ok "an SVG as well" is_picture "$work/none.svg" "there are no elements"

# ---- interrupted ----
ok "Ctrl-C ends the measuring" interrupted 400 "$work/stopped.json" "$weft" copy-plan --from 'f32[6000,6000]' --permute 1,0 --json
ok "and what is known by then is JSON" holds "$work/stopped.json" "d['method'] and (d['measured'] is None or d['measured']['value'] > 0)"

# ---- what it refuses ----
ok "no layout is misuse" ends 2 "which layout" plan
ok "an argument is misuse" ends 2 "takes no arguments" plan 'f32[2]'
ok "an unknown option is misuse" ends 2 "unrecognized option" plan --layout 'f32[2]'
ok "an unknown dtype names those there are" ends 2 "there are: u8 i8" plan --from 'f33[2]'
ok "so does one to go to" ends 2 "there are: u8 i8" plan --from 'f32[2]' --to float33
ok "a list that doesn't end is refused" ends 2 "takes a dtype and sizes" plan --from 'f32[2,3'
for sizes in '2,,3' '2,' '-1' 'x' '2 3' '99999999999999999999' '1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1'; do
  ok "sizes '$sizes' are refused" ends 2 "whole numbers" plan --from "f32[$sizes]"
done
ok "more bytes than 63 bits count are refused" ends 2 "larger than any memory" plan --from 'f32[3000000000,3000000000]'
ok "so are strides that reach so far" ends 2 "63 bits" plan --from 'f32[3000000000]' --strides 3000000000
ok "more than the address space is a failure, not misuse" ends 1 "address space" plan --from 'f32[300000000,300000]'
for order in 0,0 0 0,1,2 0,2 1,x ''; do
  ok "the order '$order' of two dims is refused" ends 2 "each of the dims 0 to 1" plan --from 'f32[2,3]' --permute "$order"
done
ok "strides of another rank are refused" ends 2 "2 whole numbers" plan --from 'f32[2,3]' --strides 1
ok "so are negative ones" ends 2 "2 whole numbers" plan --from 'f32[2,3]' --strides -3,1
ok "channels_last of two dims is refused" ends 2 "for 4 dims" plan --from 'f32[2,3]' --format channels_last
ok "an unknown format names those there are" ends 2 "channels_last_3d" plan --from 'f32[2,3]' --format nchw
ok "no threads is misuse" ends 2 "from 1 to" plan --from 'f32[2,3]' --threads 0
ok "a picture that can't be written is a failure, and says why" ends 1 "no/such/folder.*No such file" plan --from 'f32[2,3]' --svg "$work/no/such/folder/a.svg"
finish
