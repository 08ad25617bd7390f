/* Makes memory snapshots in PyTorch's format: drives the allocator policy over a driver without a device, notes what it reports, and
 * writes the history and the final state as a pickle of protocol 2 with the opcodes that every tool of PyTorch reads. */
#ifndef WF_TESTS_SNAPSHOT_MAKER_H
#define WF_TESTS_SNAPSHOT_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>
#include <weft/sys/allocator.h>

#define MAKER_START_US 1700000000000000
#define MAKER_FRAMES 24
#define MAKER_STREAMS 16

typedef struct maker_frame {
  const char *function, *file;
  int line;
} maker_frame;

typedef struct maker_stack {
  maker_frame frame[MAKER_FRAMES]; /* innermost first */
  int depth;
} maker_stack;

typedef struct maker_event {
  wf_allocator_action action;
  uint64_t address, size, stream, pool, free_bytes;
  int stack;
  int64_t time_us;
} maker_event;

typedef struct maker {
  wf_allocator *allocator;
  const char *conf;
  uint64_t limit, used, next; /* of the device; limit 0: none */
  uint64_t marks, passed[MAKER_STREAMS];
  maker_event *events;
  size_t event_count, event_room, skip; /* skip: events that the ring lost */
  maker_stack *stacks;
  int stack_count, stack; /* present one; 0 is the empty stack */
  int64_t time_us, step_us;
  bool paused; /* not recording */
  bool expandable;
  int segment_stack; /* of segments: the present one is what made them; not kept */
  /* the pickle */
  FILE *out;
  unsigned memo, frame_memo;
  const char **strings;
  unsigned *string_memo, string_count;
} maker;

static inline void maker_check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "snapshot maker: %s\n", what);
  exit(1);
}

static inline void *maker_grow(void *old, size_t bytes) {
  void *p = realloc(old, bytes);
  maker_check(p != NULL, "no memory");
  return p;
}

/* ---- the driver ----------------------------------------------------------------------------------------------------- */

static inline bool maker_get(void *context, size_t bytes, uintptr_t *address) {
  maker *m = context;
  if (m->limit && m->used + bytes > m->limit) return false;
  *address = m->next;
  m->next += (bytes + 0x1fffff) & ~(uint64_t)0x1fffff;
  m->used += bytes;
  return true;
}
static inline void maker_give(void *context, uintptr_t address, size_t bytes) {
  (void)address;
  ((maker *)context)->used -= bytes;
}
static inline bool maker_reserve(void *context, size_t bytes, uintptr_t *address) {
  maker *m = context;
  *address = m->next;
  m->next += (bytes + 0x1fffff) & ~(uint64_t)0x1fffff;
  return true;
}
static inline void maker_unreserve(void *context, uintptr_t address, size_t bytes) {
  (void)context, (void)address, (void)bytes;
}
static inline bool maker_map(void *context, uintptr_t address, size_t bytes) {
  maker *m = context;
  (void)address;
  if (m->limit && m->used + bytes > m->limit) return false;
  m->used += bytes;
  return true;
}
static inline void maker_unmap(void *context, uintptr_t address, size_t bytes) { maker_give(context, address, bytes); }
static inline uint64_t maker_record(void *context, uint64_t stream) {
  return ++((maker *)context)->marks << 8 | stream;
}
static inline bool maker_query(void *context, uint64_t event) {
  return ((maker *)context)->passed[event & 255] >= event >> 8;
}
static inline void maker_wait(void *context, uint64_t event) {
  maker *m = context;
  if (m->passed[event & 255] < event >> 8) m->passed[event & 255] = event >> 8;
}

static inline void maker_observe(void *context, const wf_allocator_event *e) {
  maker *m = context;
  m->time_us += m->step_us;
  if (m->paused) return;
  if (m->event_count == m->event_room)
    m->events = maker_grow(m->events, (m->event_room = 2 * m->event_room + 1024) * sizeof *m->events);
  m->events[m->event_count++] = (maker_event){
      e->action, e->address, e->size, e->stream, e->private_pool ? e->pool : 0, m->limit ? m->limit - m->used : 0,
      m->stack,  m->time_us};
}

/* ---- what tests call ------------------------------------------------------------------------------------------------ */

static inline void maker_open(maker *m, const char *conf, uint64_t limit, wf_allocator_ties ties) {
  *m = (maker){
      .conf = conf ? conf : "", .limit = limit, .next = 0x7f0000000000, .time_us = MAKER_START_US, .step_us = 7};
  m->stacks = maker_grow(NULL, sizeof *m->stacks);
  memset(m->stacks, 0, sizeof *m->stacks);
  m->stack_count = 1;
  wf_allocator_driver driver = {.context = m,
                                .get = maker_get,
                                .give = maker_give,
                                .record = maker_record,
                                .query = maker_query,
                                .wait = maker_wait,
                                .observe = maker_observe,
                                .reserve = maker_reserve,
                                .unreserve = maker_unreserve,
                                .map = maker_map,
                                .unmap = maker_unmap};
  wf_allocator_options options = wf_allocator_defaults();
  options.conf = conf;
  options.total_bytes = limit;
  options.ties = ties;
  m->allocator = wf_allocator_new(&driver, &options);
  maker_check(m->allocator != NULL, wf_error_peek().text);
}

static inline void maker_close(maker *m) {
  m->paused = true;
  wf_allocator_free(m->allocator);
  free(m->events);
  free(m->stacks);
  free(m->strings);
  free(m->string_memo);
}

/* A stack of frames, innermost first: its number. */
static inline int maker_add_stack(maker *m, const maker_frame *frames, int depth) {
  m->stacks = maker_grow(m->stacks, (size_t)(m->stack_count + 1) * sizeof *m->stacks);
  maker_stack *s = &m->stacks[m->stack_count];
  s->depth = depth;
  memcpy(s->frame, frames, (size_t)depth * sizeof *frames);
  return m->stack_count++;
}

/* A block, or NULL when memory is out; the error is taken. */
static inline wf_block *maker_alloc(maker *m, size_t bytes, uint64_t stream, int stack) {
  m->stack = stack;
  wf_block *block = wf_block_new(m->allocator, bytes, stream);
  if (block) wf_block_set_owner(block, (const void *)(uintptr_t)(stack + 1));
  else wf_error_take();
  return block;
}
static inline void maker_free(maker *m, wf_block *block, int stack) {
  m->stack = stack;
  wf_block_free(m->allocator, block);
}

/* ---- the pickle ----------------------------------------------------------------------------------------------------- */

static inline void maker_bytes(maker *m, const void *bytes, size_t n) {
  maker_check(fwrite(bytes, 1, n, m->out) == n, "the file can't be written");
}
static inline void maker_op(maker *m, const char *ops) { maker_bytes(m, ops, strlen(ops)); }
static inline unsigned maker_put(maker *m) {
  unsigned index = m->memo++;
  if (index < 256) maker_bytes(m, (char[]){'q', (char)index}, 2);
  else {
    maker_op(m, "r");
    maker_bytes(m, &index, 4);
  }
  return index;
}
static inline void maker_get_memo(maker *m, unsigned index) {
  if (index < 256) maker_bytes(m, (char[]){'h', (char)index}, 2);
  else {
    maker_op(m, "j");
    maker_bytes(m, &index, 4);
  }
}

static inline void maker_string(maker *m, const char *text) {
  for (unsigned i = 0; i < m->string_count; i++)
    if (m->strings[i] == text || !strcmp(m->strings[i], text)) {
      maker_get_memo(m, m->string_memo[i]);
      return;
    }
  uint32_t n = (uint32_t)strlen(text);
  maker_op(m, "X");
  maker_bytes(m, &n, 4);
  maker_bytes(m, text, n);
  m->strings = maker_grow(m->strings, (m->string_count + 1) * sizeof *m->strings);
  m->string_memo = maker_grow(m->string_memo, (m->string_count + 1) * sizeof *m->string_memo);
  m->strings[m->string_count] = text;
  m->string_memo[m->string_count++] = maker_put(m);
}

static inline void maker_int(maker *m, int64_t value) {
  if (value >= 0 && value < 256) {
    maker_bytes(m, (char[]){'K', (char)value}, 2);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    int32_t small = (int32_t)value;
    maker_op(m, "J");
    maker_bytes(m, &small, 4);
  } else {
    maker_bytes(m, (char[]){(char)0x8a, 8}, 2);
    maker_bytes(m, &value, 8);
  }
}

static inline void maker_pair(maker *m, const char *key, int64_t value) {
  maker_string(m, key);
  maker_int(m, value);
}
static inline void maker_text_pair(maker *m, const char *key, const char *value) {
  maker_string(m, key);
  maker_string(m, value);
}
static inline void maker_pool_pair(maker *m, const char *key, uint64_t pool) {
  maker_string(m, key);
  maker_int(m, 0);
  maker_int(m, (int64_t)pool);
  maker_op(m, "\x86");
}

/* Each stack is written once, then fetched from the memo. */
static inline void maker_frames(maker *m, int stack, unsigned *stack_memo) {
  maker_string(m, "frames");
  if (stack_memo[stack]) {
    maker_get_memo(m, stack_memo[stack] - 1);
    return;
  }
  maker_op(m, "]");
  stack_memo[stack] = maker_put(m) + 1;
  if (!m->stacks[stack].depth) return;
  maker_op(m, "(");
  for (int i = 0; i < m->stacks[stack].depth; i++) {
    const maker_frame *f = &m->stacks[stack].frame[i];
    maker_op(m, "}(");
    maker_text_pair(m, "name", f->function);
    maker_text_pair(m, "filename", f->file);
    maker_pair(m, "line", f->line);
    maker_op(m, "u");
  }
  maker_op(m, "e");
}

/* The policy's blocks, gathered before they are written: a segment is followed by its blocks. */
typedef struct maker_walk {
  wf_block_view *views;
  size_t n, room;
} maker_walk;

static inline void maker_gather(const wf_block_view *view, void *context) {
  maker_walk *w = context;
  if (w->n == w->room) w->views = maker_grow(w->views, (w->room = 2 * w->room + 64) * sizeof *w->views);
  w->views[w->n++] = *view;
}

static inline void maker_write_segment(maker *m, const wf_block_view *v, size_t n, unsigned *stack_memo) {
  static const char *const states[] = {"active_allocated", "active_pending_free", "inactive"};
  uint64_t allocated = 0, active = 0, requested = 0;
  for (size_t i = 0; i < n; i++) {
    allocated += v[i].state == WF_BLOCK_ALLOCATED ? v[i].size : 0;
    active += v[i].state != WF_BLOCK_FREE ? v[i].size : 0;
    requested += v[i].state != WF_BLOCK_FREE ? v[i].requested : 0;
  }
  maker_op(m, "}(");
  maker_pair(m, "device", 0);
  maker_pair(m, "address", (int64_t)v->segment_address);
  maker_pair(m, "total_size", (int64_t)v->segment_size);
  maker_pair(m, "allocated_size", (int64_t)allocated);
  maker_pair(m, "active_size", (int64_t)active);
  maker_pair(m, "requested_size", (int64_t)requested);
  maker_pair(m, "stream", (int64_t)v->stream);
  maker_text_pair(m, "segment_type", v->large ? "large" : "small");
  maker_pool_pair(m, "segment_pool_id", v->private_pool ? v->pool : 0);
  maker_string(m, "is_expandable");
  maker_op(m, v->expandable ? "\x88" : "\x89");
  maker_frames(m, 0, stack_memo);
  maker_string(m, "blocks");
  maker_op(m, "](");
  for (size_t i = 0; i < n; i++) {
    if (i && i % 1000 == 0) maker_op(m, "e(");
    maker_op(m, "}(");
    maker_pair(m, "address", (int64_t)v[i].address);
    maker_pair(m, "size", (int64_t)v[i].size);
    maker_pair(m, "requested_size", (int64_t)v[i].requested);
    maker_text_pair(m, "state", states[v[i].state]);
    maker_frames(m, v[i].owner && v[i].state != WF_BLOCK_FREE ? (int)(uintptr_t)v[i].owner - 1 : 0, stack_memo);
    maker_op(m, "u");
  }
  maker_op(m, "eu");
}

static inline void maker_write_event(maker *m, const maker_event *e, unsigned *stack_memo) {
  static const char *const names[] = {"alloc",        "free_requested", "free_completed", "segment_alloc",
                                      "segment_free", "segment_map",    "segment_unmap",  "oom"};
  bool oom = e->action == WF_ACTION_OOM;
  maker_op(m, "}(");
  maker_text_pair(m, "action", names[e->action]);
  maker_pair(m, oom ? "device_free" : "addr", (int64_t)(oom ? e->free_bytes : e->address));
  maker_pair(m, "size", (int64_t)e->size);
  maker_pair(m, "stream", (int64_t)e->stream);
  maker_pair(m, "time_us", e->time_us);
  maker_text_pair(m, "compile_context", "N/A");
  maker_text_pair(m, "user_metadata", "");
  maker_pool_pair(m, "pool_id", e->pool);
  if (e->stack) maker_frames(m, e->stack, stack_memo);
  maker_op(m, "u");
}

/* Writes the snapshot of the present state to `path`. */
static inline void maker_write(maker *m, const char *path) {
  m->out = fopen(path, "wb");
  maker_check(m->out != NULL, "the file can't be opened");
  m->memo = m->string_count = 0;
  unsigned *stack_memo = calloc((size_t)m->stack_count, sizeof *stack_memo);
  maker_check(stack_memo != NULL, "no memory");
  maker_walk w = {0};
  wf_allocator_walk(m->allocator, maker_gather, &w);
  maker_op(m, "\x80\x02}(");
  maker_string(m, "segments");
  maker_op(m, "](");
  for (size_t i = 0, end; i < w.n; i = end) {
    for (end = i + 1; end < w.n && w.views[end].segment == w.views[i].segment;) end++;
    maker_write_segment(m, &w.views[i], end - i, stack_memo);
  }
  maker_op(m, "e");
  free(w.views);
  maker_string(m, "device_traces");
  maker_op(m, "](](");
  for (size_t i = m->skip; i < m->event_count; i++) {
    if ((i - m->skip) % 1000 == 999) maker_op(m, "e(");
    maker_write_event(m, &m->events[i], stack_memo);
  }
  maker_op(m, "ee");
  maker_string(m, "allocator_settings");
  maker_op(m, "}(");
  maker_text_pair(m, "PYTORCH_CUDA_ALLOC_CONF", m->conf);
  maker_pair(m, "max_split_size", -1);
  maker_string(m, "expandable_segments");
  maker_op(m, strstr(m->conf, "expandable_segments:True") ? "\x88" : "\x89");
  maker_op(m, "u");
  maker_string(m, "external_annotations");
  maker_op(m, "]u.");
  free(stack_memo);
  maker_check(fclose(m->out) == 0, "the file can't be written");
}

#endif
