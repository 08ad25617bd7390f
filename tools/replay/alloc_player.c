/* One case at a time: a line is parsed, the call made, and place, size, error text, finished frees, driver calls, statistics and
 * blocks compared. The first difference ends the case, since everything after it would differ too. */
#include "alloc_player.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/sys/allocator.h>

enum { MAX_STREAMS = 256 };

/* A block by the number that the case gives it. The number, plus 1, is the owner word. */
typedef struct holding {
  wf_block *block;
  bool out;          /* not freed yet */
  int other_streams; /* how many were recorded */
  uint64_t other;    /* the last of them */
} holding;

typedef struct player {
  wf_allocator *allocator;
  char *mismatch;
  bool failed;
  int line;
  holding *holdings;
  size_t holding_count;
  uintptr_t *segments; /* address of each segment that the script named */
  size_t segment_count;
  json_t *script; /* driver calls of this line */
  size_t script_at;
  json_int_t *done; /* numbers of the frees that finished during this line */
  size_t done_count, done_room;
  uint64_t marks;               /* events so far */
  uint64_t passed[MAX_STREAMS]; /* the last event of the stream that it has passed */
} player;

static bool complain(player *p, const char *format, ...) {
  if (p->failed) return false;
  p->failed = true;
  int n = snprintf(p->mismatch, ALLOC_PLAYER_TEXT, "line %d: ", p->line);
  va_list args;
  va_start(args, format);
  vsnprintf(p->mismatch + n, ALLOC_PLAYER_TEXT - (size_t)n, format, args);
  va_end(args);
  return false;
}

static void *grown(void *old, size_t count, size_t bytes) {
  void *p = realloc(old, count * bytes);
  if (!p) abort(); /* of the test program */
  return p;
}

/* ---- the driver that follows the script ---------------------------------------------------------------------------- */

static json_t *next_call(player *p, const char *verb) {
  json_t *call = json_array_get(p->script, p->script_at++);
  if (!call) {
    complain(p, "the driver is asked to %s, the script has no such call", verb);
    return NULL;
  }
  const char *expected = json_string_value(json_array_get(call, 0));
  if (!expected || strcmp(expected, verb)) {
    complain(p, "the driver is asked to %s, the script says %s", verb, expected ? expected : "nothing");
    return NULL;
  }
  return call;
}

static size_t number_at(json_t *array, size_t i) { return (size_t)json_integer_value(json_array_get(array, i)); }

/* The script names a new segment. */
static uintptr_t name_segment(player *p, size_t segment, uintptr_t address) {
  if (segment >= p->segment_count) {
    p->segments = grown(p->segments, segment + 1, sizeof *p->segments);
    while (p->segment_count <= segment) p->segments[p->segment_count++] = 0;
  }
  return p->segments[segment] = address;
}

static uintptr_t segment_at(const player *p, size_t segment) {
  return segment < p->segment_count ? p->segments[segment] : 0;
}

/* `get` or `reserve`, whose lines look the same. */
static bool script_segment(player *p, const char *verb, size_t bytes, uintptr_t *address) {
  json_t *call = next_call(p, verb);
  if (!call) return false;
  if (number_at(call, 1) != bytes)
    return complain(p, "%s of %zu bytes, the script says %zu", verb, bytes, number_at(call, 1));
  if (json_is_string(json_array_get(call, 2))) return false; /* refused */
  *address = name_segment(p, number_at(call, 2), number_at(call, 3));
  return true;
}

static bool script_get(void *context, size_t bytes, uintptr_t *address) {
  return script_segment(context, "get", bytes, address);
}
static bool script_reserve(void *context, size_t bytes, uintptr_t *address) {
  return script_segment(context, "reserve", bytes, address);
}

/* `give` or `unreserve`. Once a case has failed nothing is compared: the allocator is being freed, or makes no sense any more. */
static void script_back(player *p, const char *verb, uintptr_t address) {
  json_t *call = p->failed ? NULL : next_call(p, verb);
  if (!call) return;
  size_t segment = number_at(call, 1);
  if (segment_at(p, segment) == address) p->segments[segment] = 0; /* the driver may use the address again */
  else complain(p, "%s of the segment at %zu, the script says segment %zu", verb, (size_t)address, segment);
}

static void script_give(void *context, uintptr_t address, size_t bytes) { script_back(context, "give", address); }
static void script_unreserve(void *context, uintptr_t address, size_t bytes) {
  script_back(context, "unreserve", address);
}

/* `map` or `unmap`: the segment, where in it, how many bytes. False when the script refuses. */
static bool script_range(player *p, const char *verb, uintptr_t address, size_t bytes) {
  json_t *call = p->failed ? NULL : next_call(p, verb);
  if (!call) return false;
  size_t segment = number_at(call, 1), offset = number_at(call, 2);
  if (segment_at(p, segment) + offset != address || number_at(call, 3) != bytes)
    return complain(p, "%s of %zu bytes at %zu, the script says %zu bytes at %zu of segment %zu", verb, bytes,
                    (size_t)address, number_at(call, 3), offset, segment);
  return !json_array_get(call, 4);
}

static bool script_map(void *context, uintptr_t address, size_t bytes) {
  return script_range(context, "map", address, bytes);
}
static void script_unmap(void *context, uintptr_t address, size_t bytes) {
  script_range(context, "unmap", address, bytes);
}

static uint64_t script_record(void *context, uint64_t stream) { return ++((player *)context)->marks << 8 | stream; }
static bool script_query(void *context, uint64_t event) {
  return ((player *)context)->passed[event & 255] >= event >> 8;
}
static void script_wait(void *context, uint64_t event) {}

static void script_observe(void *context, const wf_allocator_event *event) {
  player *p = context;
  if (event->action != WF_ACTION_FREE_COMPLETED) return;
  if (p->done_count == p->done_room) p->done = grown(p->done, p->done_room += 64, sizeof *p->done);
  p->done[p->done_count++] = (json_int_t)(uintptr_t)event->owner - 1;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  json_int_t x = *(const json_int_t *)a, y = *(const json_int_t *)b;
  return (x > y) - (x < y);
}

/* Frees that finish together on several streams come in any order. */
static bool one_stream(const player *p, const json_int_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const holding *h = &p->holdings[ids[i]];
    if (h->other_streams > 1 || h->other != p->holdings[ids[0]].other) return false;
  }
  return true;
}

static bool compare_done(player *p, json_t *expected) {
  size_t n = json_array_size(expected);
  if (n != p->done_count) return complain(p, "%zu frees finished, expected %zu", p->done_count, n);
  json_int_t *want = grown(NULL, n + 1, sizeof *want);
  for (size_t i = 0; i < n; i++) want[i] = json_integer_value(json_array_get(expected, i));
  if (n > 1 && !one_stream(p, p->done, n)) {
    qsort(want, n, sizeof *want, by_number);
    qsort(p->done, n, sizeof *want, by_number);
  }
  for (size_t i = 0; i < n; i++)
    if (want[i] != p->done[i])
      complain(p, "the free of %lld finished, expected %lld", (long long)p->done[i], (long long)want[i]);
  free(want);
  return !p->failed;
}

/* The link in the text differs from release to release and is written "<docs-url>". */
static void hide_link(char *text) {
  char *from = strstr(text, "(http"), *to = from ? strchr(from, ')') : NULL;
  if (!to) return;
  static const char link[] = "(<docs-url>";
  memmove(from + sizeof link - 1, to, strlen(to) + 1);
  memcpy(from, link, sizeof link - 1);
}

static bool compare_error(player *p, json_t *expected) {
  char text[ALLOC_PLAYER_TEXT];
  wf_error error = wf_error_take();
  snprintf(text, sizeof text, "%s", error.text);
  hide_link(text);
  const char *want = json_string_value(expected);
  if (!want && error.status) return complain(p, "unexpected error: %s", text);
  if (want && (error.status != WF_NO_MEMORY || strcmp(want, text)))
    return complain(p, "error \"%s\", expected \"%s\"", text, want);
  return true;
}

static const struct {
  const char *name;
  size_t offset;
} pooled_stats[] =
    {
#define STAT(field) \
  { #field, offsetof(wf_allocator_stats, field) }
        STAT(allocation),      STAT(segment),        STAT(active),       STAT(inactive_split),
        STAT(allocated_bytes), STAT(reserved_bytes), STAT(active_bytes), STAT(inactive_split_bytes),
        STAT(requested_bytes),
},
  single_stats[] = {STAT(oversize_allocations), STAT(oversize_segments)},
  counters[] = {
      {"num_alloc_retries", offsetof(wf_allocator_stats, alloc_retries)},
      {"num_ooms", offsetof(wf_allocator_stats, ooms)},
      {"num_sync_all_streams", offsetof(wf_allocator_stats, sync_all_streams)},
      {"num_device_alloc", offsetof(wf_allocator_stats, device_alloc)},
      {"num_device_free", offsetof(wf_allocator_stats, device_free)},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Only as many of [current, peak, allocated, freed] as are given. */
static void compare_stat(player *p, const char *name, const char *pool, json_t *expected, const wf_stat *stat) {
  static const char *const words[] = {"current", "peak", "allocated", "freed"};
  const int64_t values[] = {stat->current, stat->peak, stat->allocated, stat->freed};
  for (size_t i = 0; i < json_array_size(expected) && i < 4; i++) {
    json_int_t want = json_integer_value(json_array_get(expected, i));
    if (want != values[i])
      complain(p, "%s.%s.%s is %lld, expected %lld", name, pool, words[i], (long long)values[i], (long long)want);
  }
}

static void compare_stats(player *p, json_t *expected) {
  static const char *const pools[] = {"all", "small_pool", "large_pool"};
  wf_allocator_stats stats;
  wf_allocator_get_stats(p->allocator, &stats);
  const char *base = (const char *)&stats;
  for (size_t i = 0; i < COUNT(pooled_stats); i++) {
    const wf_stat *stat = (const wf_stat *)(const void *)(base + pooled_stats[i].offset);
    json_t *each = json_object_get(expected, pooled_stats[i].name);
    for (size_t k = 0; k < COUNT(pools); k++)
      compare_stat(p, pooled_stats[i].name, pools[k], json_object_get(each, pools[k]), &stat[k]);
  }
  for (size_t i = 0; i < COUNT(single_stats); i++)
    compare_stat(p, single_stats[i].name, "", json_object_get(expected, single_stats[i].name),
                 (const wf_stat *)(const void *)(base + single_stats[i].offset));
  for (size_t i = 0; i < COUNT(counters); i++) {
    json_t *want = json_object_get(expected, counters[i].name);
    int64_t have;
    memcpy(&have, base + counters[i].offset, sizeof have);
    if (want && json_integer_value(want) != have)
      complain(p, "%s is %lld, expected %lld", counters[i].name, (long long)have, (long long)json_integer_value(want));
  }
}

/* Finds each block of the walk in the case's rows, which come in any order. */
typedef struct block_check {
  player *p;
  json_t *rows;
  size_t blocks;
} block_check;

static void compare_block(const wf_block_view *view, void *context) {
  block_check *check = context;
  player *p = check->p;
  static const char *const states[] = {"a", "p", "f"};
  check->blocks++;
  for (size_t r = 0; r < json_array_size(check->rows); r++) {
    json_t *row = json_array_get(check->rows, r);
    size_t segment = number_at(row, 0);
    if (segment_at(p, segment) + number_at(row, 1) != view->segment_address) continue;
    if (number_at(row, 2) != view->segment_size)
      complain(p, "segment %zu has %zu bytes, expected %zu", segment, view->segment_size, number_at(row, 2));
    json_t *blocks = json_array_get(row, 3);
    size_t offset = view->address - p->segments[segment];
    for (size_t b = 0; b < json_array_size(blocks); b++) {
      json_t *block = json_array_get(blocks, b);
      if (number_at(block, 0) != offset) continue;
      const char *state = json_string_value(json_array_get(block, 3));
      if (number_at(block, 1) != view->size || number_at(block, 2) != view->requested || !state ||
          strcmp(state, states[view->state]))
        complain(p, "segment %zu at %zu holds [%zu, %zu, %s], expected [%zu, %zu, %s]", segment, offset, view->size,
                 view->requested, states[view->state], number_at(block, 1), number_at(block, 2), state ? state : "?");
      return;
    }
    complain(p, "segment %zu has a block at %zu that isn't expected", segment, offset);
    return;
  }
  complain(p, "there is a segment at %zu that isn't expected", (size_t)view->segment_address);
}

static void compare_segments(player *p, json_t *rows) {
  size_t expected = 0;
  for (size_t r = 0; r < json_array_size(rows); r++)
    expected += json_array_size(json_array_get(json_array_get(rows, r), 3));
  block_check check = {p, rows, 0};
  wf_allocator_walk(p->allocator, compare_block, &check);
  if (check.blocks != expected) complain(p, "there are %zu blocks, expected %zu", check.blocks, expected);
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

static holding *holding_at(player *p, size_t id) {
  if (id >= p->holding_count) {
    size_t count = id + 1 + id / 2;
    p->holdings = grown(p->holdings, count, sizeof *p->holdings);
    memset(p->holdings + p->holding_count, 0, (count - p->holding_count) * sizeof *p->holdings);
    p->holding_count = count;
  }
  return &p->holdings[id];
}

static holding *holding_of(player *p, json_t *call) {
  return holding_at(p, (size_t)json_integer_value(json_object_get(call, "id")));
}

static void hold(holding *h, size_t id, wf_block *block) {
  *h = (holding){.block = block, .out = block != NULL};
  if (block) wf_block_set_owner(block, (const void *)(uintptr_t)(id + 1));
}

static uint64_t stream_of(player *p, json_t *call) {
  json_int_t stream = json_integer_value(json_object_get(call, "stream"));
  if (stream < 0 || stream >= MAX_STREAMS) complain(p, "stream %lld is out of the player's range", (long long)stream);
  return (uint64_t)stream % MAX_STREAMS;
}

static void do_alloc(player *p, json_t *call) {
  holding *h = holding_of(p, call);
  size_t bytes = (size_t)json_integer_value(json_object_get(call, "size"));
  wf_block *block = wf_block_new(p->allocator, bytes, stream_of(p, call));
  hold(h, (size_t)(h - p->holdings), block);
  if (!compare_error(p, json_object_get(call, "oom"))) return;
  json_t *at = json_object_get(call, "at");
  if (!at != !block) {
    complain(p, block ? "a block, where none was expected" : "no block");
    return;
  }
  if (!block) return;
  size_t segment = number_at(at, 0), offset = number_at(at, 1),
         size = (size_t)json_integer_value(json_object_get(call, "block"));
  if (wf_block_address(block) != segment_at(p, segment) + offset) {
    complain(p, "the block is at address %zu, expected segment %zu + %zu", (size_t)wf_block_address(block), segment,
             offset);
  } else if (wf_block_size(block) != size) {
    complain(p, "the block has %zu bytes, expected %zu", wf_block_size(block), size);
  }
}

static void do_free(player *p, json_t *call) {
  holding *h = holding_of(p, call);
  if (!h->out) {
    complain(p, "the case frees a block that isn't out");
    return;
  }
  h->out = false;
  wf_block_free(p->allocator, h->block);
}

static void do_record_stream(player *p, json_t *call) {
  holding *h = holding_of(p, call);
  h->other = stream_of(p, call);
  h->other_streams++;
  wf_block_record_stream(p->allocator, h->block, h->other);
}

static void do_stream_done(player *p, json_t *call) { p->passed[stream_of(p, call)] = p->marks; }

static uint64_t pool_of(json_t *call) { return (uint64_t)json_integer_value(json_object_get(call, "pool")); }

static void do_empty_cache(player *p, json_t *call) {
  if (json_object_get(call, "pool")) wf_allocator_empty_pool(p->allocator, pool_of(call));
  else wf_allocator_empty_cache(p->allocator);
}

static void do_pool_begin(player *p, json_t *call) {
  wf_allocator_pool_begin(p->allocator, pool_of(call), stream_of(p, call));
}
static void do_pool_end(player *p, json_t *call) { wf_allocator_pool_end(p->allocator, pool_of(call)); }
static void do_pool_release(player *p, json_t *call) { wf_allocator_pool_release(p->allocator, pool_of(call)); }

static void do_fraction(player *p, json_t *call) {
  wf_allocator_set_fraction(p->allocator, json_number_value(json_object_get(call, "value")));
}

static void do_check(player *p, json_t *call) {
  compare_stats(p, json_object_get(call, "stats"));
  json_t *segments = json_object_get(call, "segments");
  if (segments) compare_segments(p, segments);
}

static const struct {
  const char *name;
  void (*run)(player *p, json_t *call);
} calls[] = {
    {"alloc", do_alloc},
    {"free", do_free},
    {"record_stream", do_record_stream},
    {"stream_done", do_stream_done},
    {"empty_cache", do_empty_cache},
    {"pool_begin", do_pool_begin},
    {"pool_end", do_pool_end},
    {"pool_release", do_pool_release},
    {"fraction", do_fraction},
    {"check", do_check},
};

static void play_call(player *p, json_t *call) {
  const char *name = json_string_value(json_object_get(call, "do"));
  size_t i = 0;
  while (i < COUNT(calls) && (!name || strcmp(name, calls[i].name))) i++;
  if (i == COUNT(calls)) {
    complain(p, "the call '%s' isn't played", name ? name : "");
    return;
  }
  p->script = json_object_get(call, "driver");
  p->script_at = p->done_count = 0;
  calls[i].run(p, call);
  if (p->failed) return;
  if (p->script_at < json_array_size(p->script))
    complain(p, "the driver was asked %zu times, expected %zu", p->script_at, json_array_size(p->script));
  compare_done(p, json_object_get(call, "done"));
  compare_error(p, NULL);
}

/* A segment that was there when the history began: [segment, address, size, stream, "small" or "large", expandable, blocks in use]. */
static void adopt(player *p, json_t *row) {
  json_t *used = json_array_get(row, 6);
  size_t n = json_array_size(used);
  wf_adopted_block *blocks = grown(NULL, n + 1, sizeof *blocks);
  wf_block **out = grown(NULL, n + 1, sizeof *out);
  for (size_t i = 0; i < n; i++) {
    json_t *block = json_array_get(used, i);
    blocks[i] = (wf_adopted_block){number_at(block, 1), number_at(block, 2), number_at(block, 3)};
  }
  const char *pool = json_string_value(json_array_get(row, 4));
  wf_adopted_segment segment = {.address = name_segment(p, number_at(row, 0), number_at(row, 1)),
                                .size = number_at(row, 2),
                                .stream = number_at(row, 3),
                                .large = pool && !strcmp(pool, "large"),
                                .expandable = json_is_true(json_array_get(row, 5)),
                                .blocks = blocks,
                                .block_count = n};
  if (wf_allocator_adopt(p->allocator, &segment, out) != WF_OK) complain(p, "no start: %s", wf_error_take().text);
  for (size_t i = 0; i < n && !p->failed; i++) {
    size_t id = number_at(json_array_get(used, i), 0);
    hold(holding_at(p, id), id, out[i]);
  }
  free(blocks);
  free(out);
}

static void open_case(player *p, json_t *head) {
  static const char *const names[] = {[WF_TIES_AGE] = "age", [WF_TIES_BLOCK] = "block", [WF_TIES_ADDRESS] = "address"};
  const char *ties = json_string_value(json_object_get(head, "ties"));
  wf_allocator_options options = wf_allocator_defaults();
  options.conf = json_string_value(json_object_get(head, "conf"));
  options.total_bytes = (size_t)json_integer_value(json_object_get(head, "device"));
  int which = 0;
  while (which < (int)COUNT(names) && (!ties || strcmp(ties, names[which]))) which++;
  if (which == (int)COUNT(names)) {
    complain(p, "ties '%s' aren't known", ties ? ties : "");
    return;
  }
  options.ties = (wf_allocator_ties)which;
  wf_allocator_driver driver = {.context = p,
                                .get = script_get,
                                .give = script_give,
                                .record = script_record,
                                .query = script_query,
                                .wait = script_wait,
                                .observe = script_observe,
                                .reserve = script_reserve,
                                .unreserve = script_unreserve,
                                .map = script_map,
                                .unmap = script_unmap};
  p->allocator = wf_allocator_new(&driver, &options);
  if (!p->allocator) {
    complain(p, "no allocator: %s", wf_error_take().text);
    return;
  }
  json_t *start = json_object_get(head, "start");
  for (size_t i = 0; i < json_array_size(start) && !p->failed; i++) adopt(p, json_array_get(start, i));
}

bool alloc_player_knows(const char *line) {
  json_t *head = json_loads(line, 0, NULL);
  bool known = json_is_string(json_object_get(head, "case")) && json_is_string(json_object_get(head, "ties"));
  json_decref(head);
  return known;
}

bool alloc_player_play(const char *text, size_t length, char mismatch[ALLOC_PLAYER_TEXT]) {
  player p = {.mismatch = mismatch};
  mismatch[0] = 0;
  for (const char *end = text + length; text < end && !p.failed;) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    if (!stop) stop = end;
    p.line++;
    json_error_t error;
    json_t *line = json_loadb(text, (size_t)(stop - text), 0, &error);
    if (!line) complain(&p, "not JSON: %s", error.text);
    else if (p.line == 1) open_case(&p, line);
    else play_call(&p, line);
    json_decref(line);
    text = stop + 1;
  }
  if (p.line < 2) complain(&p, "nothing to play");
  bool passed = !p.failed;
  p.failed = true; /* from here on the driver isn't compared */
  wf_allocator_free(p.allocator);
  free(p.holdings);
  free(p.segments);
  free(p.done);
  return passed;
}
