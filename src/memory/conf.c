/* Settings of a caching allocator: grammar, checks and texts are PyTorch's (2.15), and so is the arithmetic of sizes.
 *
 * The text is a list of key:value with white space ignored; a value is a word, or a list of pairs in brackets. Keys that only
 * concern other parts of PyTorch are checked and have no effect here. Where PyTorch would take a number with something behind it,
 * or a wrong separator, without a word, it is an error here, in the words of its earlier releases. */
#include "memory/conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

void wf__conf_defaults(wf__conf *conf) {
  *conf = (wf__conf){.max_split = WF__NO_LIMIT, .large_segment = 20 * WF__MIB, .fraction = -1};
}

/* ---- tokens: words, and each of : , [ ] ---------------------------------------------------------------------------- */

typedef struct tokens {
  const char *at; /* of the present token, in a text without white space */
  int length;     /* 0: the end */
  int index;
} tokens;

static const char separators[] = ":,[]";

static void measure(tokens *t) {
  t->length = !*t->at ? 0 : strchr(separators, *t->at) ? 1 : (int)strcspn(t->at, separators);
}

static void step(tokens *t) {
  t->at += t->length;
  t->index++;
  measure(t);
}

static bool is(const tokens *t, const char *word) {
  return t->length == (int)strlen(word) && strncmp(t->at, word, (size_t)t->length) == 0;
}

static wf_status ends_early(void) { return wf__fail(WF_RUNTIME, "Index out of bounds in ConfigTokenizer"); }

static wf_status expect(tokens *t, const char *separator) {
  if (!t->length) return ends_early();
  WF__CHECK(is(t, separator), WF_VALUE, "Error parsing CachingAllocator settings, expected %s", separator);
  step(t);
  return t->length || *separator == ',' ? WF_OK : ends_early();
}

static wf_status read_bool(tokens *t, bool *value) {
  *value = is(t, "True");
  WF__CHECK(*value || is(t, "False"), WF_VALUE,
            "Expected 'True' or 'False' at index %d in ConfigTokenizer but got '%.*s'", t->index, t->length, t->at);
  step(t);
  return WF_OK;
}

static wf_status bad_number(const tokens *t, const char *kind) {
  wf_status status = wf__fail(WF_VALUE, "%s", kind); /* C++'s text is the name of its function */
  wf__hint("a number is wanted in place of '%.*s'", t->length, t->at);
  return status;
}

static wf_status read_size(tokens *t, size_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(t->at, &end, 10);
  if (errno || !isdigit((unsigned char)*t->at) || end != t->at + t->length) return bad_number(t, "stoull");
  step(t);
  return WF_OK;
}

static wf_status read_double(tokens *t, double *value) {
  char *end;
  *value = strtod(t->at, &end);
  if (!t->length || end != t->at + t->length) return bad_number(t, "stod");
  step(t);
  return WF_OK;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static bool power_of_two(size_t n) { return n && !(n & (n - 1)); }
static int floor_log2(size_t n) { return 63 - __builtin_clzll(n); }
static size_t megabytes(size_t n) { return (n < SIZE_MAX / WF__MIB ? n : SIZE_MAX / WF__MIB) * WF__MIB; }
static uint32_t divisions(size_t n) { return (uint32_t)(n < (size_t)1 << 31 ? n : (size_t)1 << 31); }

/* "[256:1,512:2,>:4]": the first boundary given also sets everything below it, `>` everything above the last one before it. */
static wf_status read_roundup_list(wf__conf *conf, tokens *t) {
  int last = 0;
  bool first = true;
  for (step(t); !is(t, "]");) {
    tokens boundary = *t;
    if (!t->length)
      return wf__fail(WF_RUNTIME, "Expected closing bracket ']' in ConfigTokenizer but reached end of config");
    step(t);
    WF__TRY(expect(t, ":"));
    size_t value, megabyte = 0;
    WF__TRY(read_size(t, &value));
    WF__CHECK(!value || power_of_two(value), WF_VALUE,
              "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
    int from = last + 1, to = WF__ROUNDUP_BUCKETS - 1;
    if (!is(&boundary, ">")) {
      WF__TRY(read_size(&boundary, &megabyte));
      WF__CHECK(power_of_two(megabyte), WF_VALUE, "For roundups, the intervals have to be power of 2 ");
      last = floor_log2(megabyte);
      if (last > to) last = to;
      to = last;
      from = first ? 0 : last;
      first = false;
    }
    for (int i = from; i <= to; i++) conf->roundup[i] = divisions(value);
    if (!is(t, "]")) WF__TRY(expect(t, ","));
  }
  step(t);
  return WF_OK;
}

static wf_status read_roundup(wf__conf *conf, tokens *t) {
  if (is(t, "[")) return read_roundup_list(conf, t);
  size_t value;
  WF__TRY(read_size(t, &value));
  WF__CHECK(power_of_two(value), WF_VALUE, "For roundups, the divisions has to be power of 2 ");
  for (int i = 0; i < WF__ROUNDUP_BUCKETS; i++) conf->roundup[i] = divisions(value);
  return WF_OK;
}

static wf_status read_large_segment(wf__conf *conf, tokens *t) {
  size_t n;
  WF__TRY(read_size(t, &n));
  WF__CHECK(n > 10, WF_VALUE, "CachingAllocator option large_segment_size_mb must be > 10 MB");
  conf->large_segment = megabytes(n);
  return WF_OK;
}

static wf_status read_max_split(wf__conf *conf, tokens *t) {
  size_t n;
  WF__TRY(read_size(t, &n));
  conf->max_split = megabytes(n);
  return WF_OK;
}

static wf_status read_non_split_rounding(wf__conf *conf, tokens *t) {
  size_t n;
  WF__TRY(read_size(t, &n));
  conf->max_non_split_rounding = megabytes(n);
  return WF_OK;
}

static wf_status read_garbage_collection(wf__conf *conf, tokens *t) {
  WF__TRY(read_double(t, &conf->garbage_collection));
  WF__CHECK(conf->garbage_collection > 0 && conf->garbage_collection < 1, WF_VALUE,
            "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  return WF_OK;
}

static wf_status read_fraction(wf__conf *conf, tokens *t) {
  WF__TRY(read_double(t, &conf->fraction));
  WF__CHECK(conf->fraction >= 0 && conf->fraction <= 1, WF_VALUE,
            "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
  return WF_OK;
}

static wf_status read_backend(wf__conf *conf, tokens *t) {
  bool other = is(t, "cudaMallocAsync");
  WF__CHECK(other || is(t, "native"), WF_VALUE, "Unknown allocator backend, options are native and cudaMallocAsync");
  WF__CHECK(!other, WF_RUNTIME,
            "Allocator backend parsed at runtime != allocator backend parsed at load time, cudaMallocAsync != native");
  step(t);
  return WF_OK;
}

static wf_status read_register_threads(wf__conf *conf, tokens *t) {
  size_t n;
  WF__TRY(read_size(t, &n));
  WF__CHECK(power_of_two(n), WF_VALUE, "Number of register threads has to be power of 2, got %zu", n);
  WF__CHECK(n <= 128, WF_VALUE, "Number of register threads should be less than or equal to 128, got %zu", n);
  return WF_OK;
}

static wf_status read_ignored_size(wf__conf *conf, tokens *t) {
  size_t ignored;
  return read_size(t, &ignored);
}

static wf_status read_pinned_reserve(wf__conf *conf, tokens *t) {
  size_t n;
  WF__TRY(read_size(t, &n));
  WF__CHECK(n > 0, WF_VALUE, "Pinned reserve segment size has to be greater than 0");
  return WF_OK;
}

static wf_status read_expandable(wf__conf *conf, tokens *t) { return read_bool(t, &conf->expandable); }

static wf_status read_switch(wf__conf *conf, tokens *t) {
  bool ignored;
  return read_bool(t, &ignored);
}

static const struct {
  const char *key;
  wf_status (*read)(wf__conf *conf, tokens *t);
} keys[] = {
    {"max_split_size_mb", read_max_split},
    {"max_non_split_rounding_mb", read_non_split_rounding},
    {"garbage_collection_threshold", read_garbage_collection},
    {"roundup_power2_divisions", read_roundup},
    {"large_segment_size_mb", read_large_segment},
    {"per_process_memory_fraction", read_fraction},
    {"backend", read_backend},
    {"expandable_segments", read_expandable},
    {"pinned_use_background_threads", read_switch},
    {"pinned_use_cuda_host_register", read_switch},
    {"pinned_free_catch_all", read_switch},
    {"pinned_num_register_threads", read_register_threads},
    {"pinned_reserve_segment_size_mb", read_pinned_reserve},
    {"pinned_max_cached_size_mb", read_ignored_size},
    {"pinned_max_round_threshold_mb", read_ignored_size},
    {"release_lock_on_cudamalloc", read_switch},
    {"graph_capture_record_stream_reuse", read_switch},
    {"throw_on_cudamalloc_oom", read_switch},
};

static wf_status read_pair(wf__conf *conf, tokens *t) {
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!is(t, keys[i].key)) continue;
    step(t);
    WF__TRY(expect(t, ":"));
    return keys[i].read(conf, t);
  }
  return wf__fail(WF_VALUE, "Unrecognized key '%.*s' in Accelerator allocator config.", t->length, t->at);
}

/* Limits that depend on large_segment_size_mb hold wherever that key stands. */
static wf_status check_limits(wf__conf *conf) {
  size_t least = conf->large_segment;
  if (!conf->max_non_split_rounding) conf->max_non_split_rounding = least;
  WF__CHECK(conf->max_split >= least, WF_VALUE, "CachingAllocator option max_split_size_mb too small, must be >= %zu",
            least / WF__MIB);
  WF__CHECK(conf->max_non_split_rounding >= least, WF_VALUE,
            "CachingAllocator option max_non_split_rounding_mb too small, must be >= %zu", least / WF__MIB);
  return WF_OK;
}

static wf_status read_all(wf__conf *conf, const char *text) {
  tokens t = {.at = text};
  measure(&t);
  while (t.length) {
    WF__TRY(read_pair(conf, &t));
    if (t.length) WF__TRY(expect(&t, ","));
  }
  return check_limits(conf);
}

wf_status wf__conf_parse(wf__conf *conf, const char *text) {
  wf__conf_defaults(conf);
  char *dense = wf__strdup(text ? text : "");
  if (!dense) return WF_NO_MEMORY;
  char *end = dense;
  for (const char *c = dense; *c; c++)
    if (!isspace((unsigned char)*c)) *end++ = *c;
  *end = 0;
  wf_status status = read_all(conf, dense);
  wf__release(dense);
  return status;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static size_t round_to_division(size_t bytes, size_t count) {
  if (power_of_two(bytes)) return bytes;
  size_t floor = (size_t)1 << floor_log2(bytes), part = floor >> floor_log2(count);
  if (!part) return floor << 1;
  return (bytes + part - 1) & ~(part - 1);
}

size_t wf__round_size(const wf__conf *conf, size_t bytes) {
  if (bytes < WF__BLOCK_MIN) return WF__BLOCK_MIN;
  int bucket = floor_log2(bytes) - 20;
  size_t count = conf->roundup[bucket < 0 ? 0 : bucket < WF__ROUNDUP_BUCKETS ? bucket : WF__ROUNDUP_BUCKETS - 1];
  if (count > 1 && bytes > WF__BLOCK_MIN * count) return round_to_division(bytes, count);
  return (bytes + WF__BLOCK_MIN - 1) & ~(WF__BLOCK_MIN - 1);
}

size_t wf__segment_size(const wf__conf *conf, size_t rounded) {
  if (rounded <= WF__SMALL_MAX) return WF__SMALL_SEGMENT;
  if (rounded < WF__LARGE_SEGMENT_BELOW) return conf->large_segment;
  return (rounded + WF__SEGMENT_STEP - 1) / WF__SEGMENT_STEP * WF__SEGMENT_STEP;
}
