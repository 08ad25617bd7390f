#!/bin/sh
# weft bench from the outside: names, fields, options, Ctrl-C, and what it refuses; not how fast anything is.
# shellcheck disable=SC2016 # commands in single quotes are for sh -c, with "$@" of their own
here=$(dirname -- "$0")
# shellcheck source=tests/harness/tap.sh
. "$here/../harness/tap.sh"
weft=$build/weft
export OMP_NUM_THREADS=1

# measured FILE ARGUMENT...: runs a suite with --json into the file.
measured() {
  file=$1
  shift
  "$weft" bench "$@" --runs 1 --json >"$file"
}
holds() { python3 -c 'import json,re,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), (sys.argv[2], d)' "$1" "$2"; }
names_of() { python3 -c 'import json,sys; print("\n".join(sorted(r["name"] for r in json.load(open(sys.argv[1])))))' "$1"; }

# The cases of one suite in bench/libtorch.cpp, which has no rows of the machine's own.
peer_names() {
  awk -v suite="$1" '
    /^std::vector<CopyCase> copyCases/ { inside = suite == "copy" }
    /^std::vector<MicroCase> microCases/ { inside = suite == "micro" }
    /^}/ { inside = 0 }
    inside && /^      {"/ { split($0, part, "\""); print part[2] }' "$root/bench/libtorch.cpp" | sort
}

ok "micro runs" measured "$work/micro.json" micro
ok "micro has the cases that libtorch's program has" equal "$(names_of "$work/micro.json")" "$(peer_names micro)"
ok "micro's rows are ns, of which fewer are better" holds "$work/micro.json" \
  "all(r['suite'] == 'micro' and r['unit'] == 'ns' and r['better'] == 'lower' and 0 < r['value'] < 1e8 and r['limit'] is None for r in d)"

ok "copy runs warm" measured "$work/warm.json" copy --warm
ok "copy has the cases that libtorch's program has, and four of the machine" equal "$(names_of "$work/warm.json")" \
  "$({ peer_names copy && printf '%s_64MiB\n' memcpy stream read write; } | sort)"
ok "a row has suite, unit, direction, limit and shares that fit" holds "$work/warm.json" \
  "all(r['suite'] == 'copy' and r['unit'] == 'GB/s' and r['better'] == 'higher' and r['limit'] >= r['memcpy'] > 0 \
    and abs(r['limit_ratio'] - r['value'] / r['limit']) < 1e-3 and abs(r['memcpy_ratio'] - r['value'] / r['memcpy']) < 1e-3 for r in d)"
ok "--filter takes the cases that match" measured "$work/cold.json" copy --filter '^(memcpy|f16_tr)'
ok "and no others" equal "$(names_of "$work/cold.json")" "$(printf 'f16_transpose_4096\nmemcpy_64MiB')"
for suite in micro copy 'copy --random 3' alloc loader; do
  # shellcheck disable=SC2086 # a suite with its options
  ok "no case of $suite that matches is misuse" ends 2 "^weft bench: no case matches 'nothing'" "$weft" bench $suite --filter nothing
  ok "said in one line" equal "$(wc -l <"$work/output")" 1
done
ok "in JSON, it is an empty list besides" sh -c '"$1" bench copy --filter nothing --json >"$2"; [ $? = 2 ]' sh "$weft" "$work/none.json"
ok "as JSON" holds "$work/none.json" "d == []"
ok "for people it says that it measures cold" ends 0 "cold: buffers rotate through" "$weft" bench copy --runs 1 --filter memcpy
ok "with --threads, its threads copy as well" measured "$work/two.json" copy --threads 2 --filter memcpy
ok "and the row says so" holds "$work/two.json" "d[0]['threads'] == 2"
# Others are busy on an eighth of the cores, or one, meanwhile.
beside_busy_ones() {
  busy=
  for _ in $(seq $(($(getconf _NPROCESSORS_ONLN) / 8 + 1))); do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
  done
  "$weft" bench copy --runs 1 --filter memcpy "$@" >"$work/output"
  status=$?
  # shellcheck disable=SC2086 # several
  kill $busy
  return "$status"
}
ok "beside other programs that are busy it runs" beside_busy_ones
ok "and says how much of the cores others had" grep -Eq '^\(other programs had [0-9.]+ of the [0-9]+ cores' "$work/output"
ok "but not in JSON" beside_busy_ones --json
ok "which stays JSON" holds "$work/output" "len(d) == 1"

ok "random layouts run" measured "$work/random.json" copy --random 7 --seed 3
ok "one row each" holds "$work/random.json" "len(d) == 7"
ok "of rank 2 to 6, permuted, 1 to 64 MiB, no size a power of two" python3 - "$work/random.json" <<'END'
import json, math, re, sys

bytes_of = {"u8": 1, "i8": 1, "bool": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
for row in json.load(open(sys.argv[1])):
    dtype, sizes, order = re.fullmatch(r"(\w+)\[([\d,]+)\] permute ([\d,]+)", row["name"]).groups()
    sizes, order = [int(s) for s in sizes.split(",")], [int(o) for o in order.split(",")]
    assert 2 <= len(sizes) <= 6 and sorted(order) == list(range(len(sizes))) and order != sorted(order), row
    assert all(s & (s - 1) for s in sizes) and 2**20 <= math.prod(sizes) * bytes_of[dtype] <= 2**26, row
END
ok "the same seed gives the same layouts" measured "$work/again.json" copy --random 7 --seed 3
ok "in name" equal "$(names_of "$work/again.json")" "$(names_of "$work/random.json")"
ok "another seed gives others" measured "$work/other.json" copy --random 7 --seed 4
ok "all of them" holds "$work/other.json" "not {r['name'] for r in d} & {r['name'] for r in json.load(open('$work/random.json'))}"
ok "for people, the slowest in words" ends 0 "the slowest" "$weft" bench copy --random 2 --runs 1
for line in min p10 p25 median p75 max; do
  ok "and the distribution: $line" grep -q "^  $line  *[0-9]" "$work/output"
done

ok "the allocator's suite takes --runs" measured "$work/alloc.json" alloc
ok "and has one thread" holds "$work/alloc.json" "[(r['name'], r['threads']) for r in d] == [('same_size_10000_live', 1), ('random_10000_live', 1)]"
ok "it refuses --threads, of which it makes no use" ends 2 "leave --threads away" "$weft" bench alloc --threads 2
ok "the loader's suite takes --runs" measured "$work/loader.json" loader --filter plain
ok "with emulated rows" holds "$work/loader.json" "[(r['name'], r['unit'], r['emulated']) for r in d] == [('plain', 'images/s', True)]"
seconds_of() {
  begun=$(date +%s%N)
  "$weft" bench "$@" >"$work/said_by_bench" || return
  echo $((($(date +%s%N) - begun) / 1000000))
}
more_runs_take_longer() {
  few=$(seconds_of "$@" --runs 1) many=$(seconds_of "$@" --runs 9)
  [ "$many" -gt $((2 * few)) ] && return 0
  echo "$few ms for one run, $many ms for nine"
  return 1
}
ok "which act: more take longer" more_runs_take_longer loader --filter prefetch

# ---- interrupted ----
for suite in micro copy 'copy --warm' 'copy --random 500' alloc loader; do
  # shellcheck disable=SC2086 # a suite with its options
  ok "Ctrl-C ends $suite with 130" interrupted 1500 "$work/stopped.json" "$weft" bench $suite --runs 999 --json
  ok "and JSON of the rows so far" holds "$work/stopped.json" "isinstance(d, list)"
done

# ---- misuse ----
ok "no suite is misuse" ends 2 "which suite" "$weft" bench
ok "an unknown suite is misuse" ends 2 "there are: micro, copy" "$weft" bench copies
ok "two suites are misuse" ends 2 "one suite at a time" "$weft" bench micro copy
ok "a broken expression is misuse" ends 2 "no regular expression" "$weft" bench copy --filter '('
ok "no number of layouts is misuse" ends 2 "whole number from 1" "$weft" bench copy --random 0
ok "no threads is misuse" ends 2 "whole number from 1" "$weft" bench copy --threads 0
ok "no runs are misuse" ends 2 "whole number from 1" "$weft" bench copy --runs 0
ok "random layouts of another suite are misuse" ends 2 "for the suite copy" "$weft" bench micro --random 3
ok "a seed without random layouts is misuse" ends 2 "add --random" "$weft" bench copy --seed 3
ok "a setting of the environment that is none is misuse" ends 2 "unknown key 'bogus'" env WEFT_SIM=bogus "$weft" bench loader --runs 1
ok "more threads than kernels use are misuse" ends 2 "from 1 to 1024" "$weft" bench copy --threads 1025
ok "random layouts are cold" ends 2 "leave --warm away" "$weft" bench copy --random 3 --warm
ok "without torch, the comparison says what to do" ends 2 "WEFT_TORCH_PYTHON" python3 "$root/bench/peer.py" --build "$build" --python "$work/nowhere"
ok "a suite that libtorch doesn't have is misuse" ends 2 "micro, copy" python3 "$root/bench/peer.py" loader
if [ -n "${WEFT_TORCH_PYTHON:-}" ]; then
  # shellcheck disable=SC2016 # for sh -c, with arguments of its own
  ok "with torch, both are run and compared" sh -c 'python3 "$1" --build "$2" --rounds 1 --filter "^(view|f16_transpose_4096)$" --json >"$3"' \
    sh "$root/bench/peer.py" "$build" "$work/peer.json"
  ok "operators are compared in one process" sh -c 'python3 "$1" --build "$2" --rounds 1 ops --filter "^sum_f32.1024,256._dim" --json >"$3"' \
    sh "$root/bench/peer.py" "$build" "$work/ops.json"
  ok "each by its ratio" holds "$work/ops.json" "len(d) == 2 and all(r['ratio'] > 0 for r in d)"
  ok "by value, ratio and share of memcpy" holds "$work/peer.json" \
    "[r['name'] for r in d] == ['view', 'f16_transpose_4096'] and all(r['weft'] > 0 and r['libtorch'] > 0 and r['ratio'] > 0 for r in d) and d[1]['libtorch_by_memcpy'] > 0"
else
  skip "the comparison with libtorch" "WEFT_TORCH_PYTHON names no Python that has torch"
fi
finish
