/* What a snapshot's pickle means: each list, tuple and dict becomes a record as soon as it is filled, so nothing of it is kept but the
 * arrays of wf_snapshot. What kind of dict it is its keys say; keys that aren't known are passed over. */
#include "audit/snapshot.h"
#include "base/host.h"
#include "format/pickle.h"

/* Kinds of records. Those of lists are a range: the first number and how many. */
typedef enum record_kind {
  OTHER,
  FRAME,
  STACK,
  EVENT,
  TRACE,
  TRACES,
  BLOCK,
  BLOCKS,
  SEGMENT,
  SEGMENTS,
  POOL,
  DIVISIONS,
  SETTINGS,
  SNAPSHOT
} record_kind;

/* Keys and words, interned first and in this order, so that their numbers are these; 0 is the empty string. */
#define WORDS(X)                              \
  X(ACTION, "action")                         \
  X(ADDR, "addr")                             \
  X(SIZE, "size")                             \
  X(STREAM, "stream")                         \
  X(TIME_US, "time_us")                       \
  X(FRAMES, "frames")                         \
  X(POOL_ID, "pool_id")                       \
  X(USER_METADATA, "user_metadata")           \
  X(DEVICE_FREE, "device_free")               \
  X(ADDRESS, "address")                       \
  X(REQUESTED_SIZE, "requested_size")         \
  X(STATE, "state")                           \
  X(NAME, "name")                             \
  X(FILENAME, "filename")                     \
  X(LINE, "line")                             \
  X(DEVICE, "device")                         \
  X(TOTAL_SIZE, "total_size")                 \
  X(SEGMENT_TYPE, "segment_type")             \
  X(SEGMENT_POOL_ID, "segment_pool_id")       \
  X(IS_EXPANDABLE, "is_expandable")           \
  X(BLOCKS, "blocks")                         \
  X(SEGMENTS, "segments")                     \
  X(DEVICE_TRACES, "device_traces")           \
  X(ALLOCATOR_SETTINGS, "allocator_settings") \
  X(CONF, "PYTORCH_CUDA_ALLOC_CONF")          \
  X(CONF_NEW, "PYTORCH_ALLOC_CONF")           \
  X(MAX_SPLIT_SIZE, "max_split_size")         \
  X(GARBAGE, "garbage_collection_threshold")  \
  X(EXPANDABLE, "expandable_segments")        \
  X(ROUNDUP, "roundup_power2_divisions")      \
  X(LARGE, "large")                           \
  X(SMALL, "small")                           \
  X(ALLOCATED, "active_allocated")            \
  X(PENDING, "active_pending_free")           \
  X(AWAITING, "active_awaiting_free")         \
  X(INACTIVE, "inactive")                     \
  X(W_ALLOC, "alloc")                         \
  X(W_FREE_REQUESTED, "free_requested")       \
  X(W_FREE_COMPLETED, "free_completed")       \
  X(W_SEGMENT_ALLOC, "segment_alloc")         \
  X(W_SEGMENT_FREE, "segment_free")           \
  X(W_SEGMENT_MAP, "segment_map")             \
  X(W_SEGMENT_UNMAP, "segment_unmap")         \
  X(W_OOM, "oom")                             \
  X(W_SNAPSHOT, "snapshot")                   \
  X(D0, "1")                                  \
  X(D1, "2")                                  \
  X(D2, "4")                                  \
  X(D3, "8")                                  \
  X(D4, "16")                                 \
  X(D5, "32")                                 \
  X(D6, "64")                                 \
  X(D7, "128")                                \
  X(D8, "256")                                \
  X(D9, "512")                                \
  X(D10, "1024")                              \
  X(D11, "2048")                              \
  X(D12, "4096")                              \
  X(D13, "8192")                              \
  X(D14, "16384")                             \
  X(D15, "32768")
enum {
  K_NONE,
#define NUMBER(name, text) K_##name,
  WORDS(NUMBER)
#undef NUMBER
};
static const char *const words[] = {
#define TEXT(name, text) text,
    WORDS(TEXT)
#undef TEXT
};

typedef struct folder {
  wf_snapshot *s;
  wf__snap_settings settings; /* put together, until the snapshot's dict is filled */
  int64_t divisions[16];
  uint32_t *stack; /* the frames of a stack on their way */
  size_t stack_room;
  const wf_snapshot_options *options;
} folder;

typedef const wf__pickle_value *item;

static wf_status odd(const folder *f, const char *what) {
  return wf__fail(WF_VALUE, "%s: not a memory snapshot that can be read: %s", f->s->name, what);
}

static bool is_record(item v, record_kind kind) { return v->type == WF__PICKLE_RECORD && v->kind == kind; }

static void become(wf__pickle_value *container, record_kind kind, uint64_t record) {
  container->type = WF__PICKLE_RECORD;
  container->kind = (uint8_t)kind;
  container->record = record;
}

static uint64_t range(uint64_t first, uint64_t count) { return first << 32 | count; }
static uint32_t range_first(uint64_t range) { return (uint32_t)(range >> 32); }
static uint32_t range_count(uint64_t range) { return (uint32_t)range; }

/* ---- values of dicts ------------------------------------------------------------------------------------------------ */

/* A number that isn't negative. */
static wf_status read_size(const folder *f, item key, uint64_t *to) {
  item value = key + 1;
  if (value->type != WF__PICKLE_INT) {
    wf__fail(WF_VALUE, "%s: not a memory snapshot that can be read: '%s' isn't a whole number", f->s->name,
             wf__snap_text(f->s, key->string));
    return WF_VALUE;
  }
  *to = (uint64_t)value->integer;
  return WF_OK;
}

static wf_status read_bytes(const folder *f, item key, uint64_t *to) {
  WF__TRY(read_size(f, key, to));
  return *to < (uint64_t)1 << 60 ? WF_OK : odd(f, "a size is negative or beyond all memory");
}

static uint32_t stack_of(item value) { return is_record(value, STACK) ? (uint32_t)value->record : 0; }
static uint32_t string_of(item value) { return value->type == WF__PICKLE_STRING ? value->string : 0; }
static uint16_t pool_of(item value) { return is_record(value, POOL) ? (uint16_t)value->record : 0; }

static wf_status read_stream(folder *f, item key, uint32_t *stream) {
  uint64_t handle;
  WF__TRY(read_size(f, key, &handle));
  *stream = wf__snap_stream_number(f->s, handle);
  return *stream == UINT32_MAX ? wf_error_peek().status : WF_OK;
}

static wf_status no_memory(const void *p) { return p ? WF_OK : WF_NO_MEMORY; }

/* ---- dicts ---------------------------------------------------------------------------------------------------------- */

static wf__snap_action action_of(uint32_t word) {
  return word >= K_W_ALLOC && word <= K_W_SNAPSHOT ? (wf__snap_action)(word - K_W_ALLOC) : WF__SNAP_OTHER;
}

static wf_status fold_event(folder *f, wf__pickle_value *container, item items, size_t count) {
  wf__snap_event e = {.action = WF__SNAP_OTHER};
  uint64_t number;
  for (item key = items; key < items + count; key += 2) {
    if (key->type != WF__PICKLE_STRING) continue;
    switch (key->string) {
      case K_ACTION: e.action = (uint8_t)action_of(string_of(key + 1)); break;
      case K_DEVICE_FREE:
      case K_ADDR: WF__TRY(read_size(f, key, &e.address)); break;
      case K_SIZE: WF__TRY(read_bytes(f, key, &e.size)); break;
      case K_STREAM: WF__TRY(read_stream(f, key, &e.stream)); break;
      case K_TIME_US:
        WF__TRY(read_size(f, key, &number));
        e.time_us = (int64_t)number;
        break;
      case K_FRAMES: e.stack = stack_of(key + 1); break;
      case K_POOL_ID: e.pool = pool_of(key + 1); break;
      case K_USER_METADATA: e.note = string_of(key + 1); break;
      default: break;
    }
  }
  if (f->s->events.n == UINT32_MAX) return odd(f, "more than 4294967294 events");
  wf__snap_event *place = WF__SNAP_ADD(f->s->events);
  if (!place) return WF_NO_MEMORY;
  *place = e;
  become(container, EVENT, f->s->events.n - 1);
  return WF_OK;
}

static wf_status fold_frame(folder *f, wf__pickle_value *container, item items, size_t count) {
  wf__snap_frame frame = {0};
  uint64_t line;
  for (item key = items; key < items + count; key += 2) {
    if (key->type != WF__PICKLE_STRING) continue;
    if (key->string == K_NAME) frame.function = string_of(key + 1);
    if (key->string == K_FILENAME) frame.file = string_of(key + 1);
    if (key->string == K_LINE) {
      WF__TRY(read_size(f, key, &line));
      frame.line = (uint32_t)line;
    }
  }
  uint32_t number = wf__string_set_add(&f->s->frames, (const char *)&frame, sizeof frame);
  if (number == UINT32_MAX) return WF_NO_MEMORY;
  become(container, FRAME, number);
  return WF_OK;
}

static wf_status fold_block(folder *f, wf__pickle_value *container, item items, size_t count) {
  wf__snap_block b = {.state = WF_BLOCK_FREE};
  uint32_t state = K_INACTIVE;
  bool has_requested = false;
  for (item key = items; key < items + count; key += 2) {
    if (key->type != WF__PICKLE_STRING) continue;
    switch (key->string) {
      case K_ADDRESS: WF__TRY(read_size(f, key, &b.address)); break;
      case K_SIZE: WF__TRY(read_bytes(f, key, &b.size)); break;
      case K_REQUESTED_SIZE:
        WF__TRY(read_bytes(f, key, &b.requested));
        has_requested = true;
        break;
      case K_STATE: state = string_of(key + 1); break;
      case K_FRAMES: b.stack = stack_of(key + 1); break;
      default: break;
    }
  }
  if (state == K_ALLOCATED) b.state = WF_BLOCK_ALLOCATED;
  else if (state == K_PENDING || state == K_AWAITING) b.state = WF_BLOCK_PENDING;
  else if (state != K_INACTIVE) return odd(f, "a block's state isn't one of PyTorch's");
  if (!has_requested || b.requested > b.size) b.requested = b.size;
  if (b.state == WF_BLOCK_FREE) b.requested = 0; /* of its last life */
  wf__snap_block *place = f->s->blocks.n < UINT32_MAX ? WF__SNAP_ADD(f->s->blocks) : NULL;
  WF__TRY(no_memory(place));
  *place = b;
  become(container, BLOCK, f->s->blocks.n - 1);
  return WF_OK;
}

static wf_status fold_segment(folder *f, wf__pickle_value *container, item items, size_t count) {
  wf__snap_segment g = {0};
  uint64_t number;
  for (item key = items; key < items + count; key += 2) {
    item value = key + 1;
    if (key->type != WF__PICKLE_STRING) continue;
    switch (key->string) {
      case K_DEVICE:
        WF__TRY(read_size(f, key, &number));
        if (number > 4095) return odd(f, "a segment's device number is out of range");
        g.device = (int32_t)number;
        break;
      case K_ADDRESS: WF__TRY(read_size(f, key, &g.address)); break;
      case K_TOTAL_SIZE: WF__TRY(read_bytes(f, key, &g.size)); break;
      case K_STREAM: WF__TRY(read_stream(f, key, &g.stream)); break;
      case K_SEGMENT_TYPE: g.large = string_of(value) == K_LARGE; break;
      case K_SEGMENT_POOL_ID: g.pool = pool_of(value); break;
      case K_IS_EXPANDABLE: g.expandable = value->type == WF__PICKLE_BOOL && value->integer; break;
      case K_FRAMES: g.stack = stack_of(value); break;
      case K_BLOCKS:
        if (!is_record(value, BLOCKS)) break;
        g.first_block = range_first(value->record);
        g.block_count = range_count(value->record);
        break;
      default: break;
    }
  }
  wf__snap_segment *place = f->s->segments.n < UINT32_MAX ? WF__SNAP_ADD(f->s->segments) : NULL;
  WF__TRY(no_memory(place));
  *place = g;
  become(container, SEGMENT, f->s->segments.n - 1);
  return WF_OK;
}

static wf_status fold_divisions(folder *f, wf__pickle_value *container, item items, size_t count) {
  for (item key = items; key < items + count; key += 2)
    if (key->type == WF__PICKLE_STRING && key->string >= K_D0 && key->string <= K_D15 && key[1].type == WF__PICKLE_INT)
      f->divisions[key->string - K_D0] = key[1].integer;
  become(container, DIVISIONS, 0);
  return WF_OK;
}

static wf_status fold_settings(folder *f, wf__pickle_value *container, item items, size_t count) {
  wf__snap_settings *to = &f->settings;
  if (!to->present) *to = (wf__snap_settings){.present = true, .max_split = -1};
  for (item key = items; key < items + count; key += 2) {
    item value = key + 1;
    if (key->type != WF__PICKLE_STRING) continue;
    switch (key->string) {
      case K_CONF:
      case K_CONF_NEW:
        if (string_of(value)) to->conf = string_of(value);
        break;
      case K_MAX_SPLIT_SIZE:
        if (value->type == WF__PICKLE_INT) to->max_split = value->integer;
        break;
      case K_GARBAGE:
        if (value->type == WF__PICKLE_FLOAT) to->garbage_collection = value->real;
        break;
      case K_EXPANDABLE: to->expandable = value->type == WF__PICKLE_BOOL && value->integer; break;
      case K_ROUNDUP:
        if (is_record(value, DIVISIONS)) memcpy(to->divisions, f->divisions, sizeof f->divisions);
        break;
      default: break;
    }
  }
  become(container, SETTINGS, 0);
  return WF_OK;
}

static wf_status fold_snapshot(folder *f, wf__pickle_value *container, item items, size_t count) {
  for (item key = items; key < items + count; key += 2) {
    item value = key + 1;
    if (key->type != WF__PICKLE_STRING) continue;
    if (key->string == K_SEGMENTS && value->type != WF__PICKLE_LIST && !is_record(value, SEGMENTS))
      return odd(f, "'segments' isn't a list of segments");
    if (key->string == K_DEVICE_TRACES && is_record(value, TRACES)) {
      f->s->trace_count = range_count(value->record);
      f->s->trace_first = range_first(value->record);
    }
    if (key->string == K_ALLOCATOR_SETTINGS && is_record(value, SETTINGS)) f->s->settings = f->settings;
  }
  become(container, SNAPSHOT, 0);
  return WF_OK;
}

static wf_status fold_dict(folder *f, wf__pickle_value *container, item items, size_t count) {
  record_kind kind = container->type == WF__PICKLE_RECORD ? container->kind : OTHER;
  for (item key = items; key < items + count && kind == OTHER; key += 2) {
    if (key->type != WF__PICKLE_STRING) continue;
    switch (key->string) {
      case K_ACTION: kind = EVENT; break;
      case K_FILENAME: kind = FRAME; break;
      case K_BLOCKS:
      case K_TOTAL_SIZE: kind = SEGMENT; break;
      case K_STATE: kind = BLOCK; break;
      case K_SEGMENTS: kind = SNAPSHOT; break;
      case K_CONF:
      case K_MAX_SPLIT_SIZE: kind = SETTINGS; break;
      case K_D0: kind = DIVISIONS; break;
      default: break;
    }
  }
  switch (kind) {
    case EVENT: return fold_event(f, container, items, count);
    case FRAME: return fold_frame(f, container, items, count);
    case BLOCK: return fold_block(f, container, items, count);
    case SEGMENT: return fold_segment(f, container, items, count);
    case SETTINGS: return fold_settings(f, container, items, count);
    case DIVISIONS: return fold_divisions(f, container, items, count);
    case SNAPSHOT: return fold_snapshot(f, container, items, count);
    default: become(container, OTHER, 0); return WF_OK;
  }
}

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

/* Frames become one stack; more of them make a longer one. */
static wf_status fold_stack(folder *f, wf__pickle_value *container, item items, size_t count) {
  uint32_t old = stack_of(container), n = wf__snap_depth(f->s, old);
  if (n + count > f->stack_room) {
    size_t room = 2 * (n + count);
    uint32_t *stack = wf__realloc(f->stack, room * sizeof *stack);
    if (!stack) return WF_NO_MEMORY;
    f->stack = stack;
    f->stack_room = room;
  }
  if (n) memcpy(f->stack, wf__string_set_text(&f->s->stacks, old), n * sizeof *f->stack);
  for (size_t i = 0; i < count; i++)
    if (is_record(&items[i], FRAME)) f->stack[n++] = (uint32_t)items[i].record;
  uint32_t number = wf__string_set_add(&f->s->stacks, (const char *)f->stack, n * sizeof *f->stack);
  if (number == UINT32_MAX) return WF_NO_MEMORY;
  become(container, STACK, number);
  return WF_OK;
}

/* Records that were made one after the other become their range. */
static wf_status fold_range(folder *f, wf__pickle_value *container, item items, size_t count, record_kind of,
                            record_kind kind) {
  bool more = is_record(container, kind);
  uint64_t first = more ? range_first(container->record) : items[0].record,
           n = more ? range_count(container->record) : 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_record(&items[i], of)) return odd(f, "a list holds things of several kinds");
    if (items[i].record != first + n++) return odd(f, "an entry of a list stands in it twice, or in two lists");
  }
  become(container, kind, range(first, n));
  return WF_OK;
}

/* A list a device; one without events is still an empty list. */
static wf_status fold_traces(folder *f, wf__pickle_value *container, item items, size_t count) {
  bool more = is_record(container, TRACES);
  uint64_t first = more ? range_first(container->record) : f->s->all_traces.n,
           n = more ? range_count(container->record) : 0;
  if (first + n != f->s->all_traces.n) return odd(f, "a list of traces is continued after another one");
  for (size_t i = 0; i < count; i++, n++) {
    if (!is_record(&items[i], TRACE) && items[i].type != WF__PICKLE_LIST)
      return odd(f, "a device's trace isn't a list");
    wf__snap_trace *trace = n < 4096 ? WF__SNAP_ADD(f->s->all_traces) : NULL;
    if (n == 4096) return odd(f, "traces of more than 4096 devices");
    WF__TRY(no_memory(trace));
    bool empty = items[i].type == WF__PICKLE_LIST;
    *trace = empty ? (wf__snap_trace){0} : (wf__snap_trace){range_first(items[i].record), range_count(items[i].record)};
  }
  become(container, TRACES, range(first, n));
  return WF_OK;
}

static wf_status fold_list(folder *f, wf__pickle_value *container, item items, size_t count) {
  record_kind kind = container->type == WF__PICKLE_RECORD ? container->kind : OTHER;
  if (is_record(items, FRAME) || kind == STACK) return fold_stack(f, container, items, count);
  if (is_record(items, EVENT) || kind == TRACE) return fold_range(f, container, items, count, EVENT, TRACE);
  if (is_record(items, BLOCK) || kind == BLOCKS) return fold_range(f, container, items, count, BLOCK, BLOCKS);
  if (is_record(items, SEGMENT) || kind == SEGMENTS) return fold_range(f, container, items, count, SEGMENT, SEGMENTS);
  if (is_record(items, TRACE) || items->type == WF__PICKLE_LIST || kind == TRACES)
    return fold_traces(f, container, items, count);
  become(container, OTHER, 0);
  return WF_OK;
}

/* Pairs of numbers name pools; other tuples don't matter. */
static wf_status fold_tuple(folder *f, wf__pickle_value *container, item items, size_t count) {
  if (count != 2 || items[0].type != WF__PICKLE_INT || items[1].type != WF__PICKLE_INT) {
    become(container, OTHER, 0);
    return WF_OK;
  }
  uint32_t number = wf__snap_pool_number(f->s, items[0].integer, items[1].integer);
  if (number == UINT32_MAX) return wf_error_peek().status;
  become(container, POOL, number);
  return WF_OK;
}

static wf_status fold(void *context, wf__pickle_value *container, item items, size_t count) {
  bool pairs = container->type == WF__PICKLE_DICT;
  if (container->type == WF__PICKLE_RECORD) /* more items: which kind of container it was, its record says */
    pairs = container->kind == SNAPSHOT || container->kind == SETTINGS || container->kind == DIVISIONS ||
            (container->kind == OTHER && count % 2 == 0 && items->type == WF__PICKLE_STRING);
  if (container->type == WF__PICKLE_TUPLE) return fold_tuple(context, container, items, count);
  if (container->type == WF__PICKLE_SET) become(container, OTHER, 0);
  if (container->type == WF__PICKLE_RECORD && container->kind == OTHER) return WF_OK;
  return pairs ? fold_dict(context, container, items, count) : fold_list(context, container, items, count);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static bool tell_progress(void *context, int64_t bytes) {
  const wf_snapshot_options *o = ((const folder *)context)->options;
  return !o || !o->progress || o->progress(o->context, bytes);
}

static wf_status intern_words(wf_snapshot *s) {
  for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
    if (wf__string_set_add(&s->strings, words[i], strlen(words[i])) != i + 1) return wf_error_peek().status;
  return WF_OK;
}

/* What the pickle held, said in a word. */
static wf_status judge(folder *f, item top) {
  static const char *const types[] = {
      "nothing",       "a truth value", "a number",      "a number", "a string",
      "an empty list", "a tuple",       "an empty dict", "a set",    "a list or dict of something else"};
  if (is_record(top, SNAPSHOT) || is_record(top, SEGMENTS))
    return WF_OK; /* a bare list: torch.cuda.memory_snapshot() */
  wf__fail(WF_VALUE, "%s: a pickle, but not of a memory snapshot: it holds %s", f->s->name, types[top->type]);
  wf__hint("torch.cuda.memory._dump_snapshot(\"FILE.pickle\") writes one");
  return WF_VALUE;
}

wf_status wf__snap_read_pickle(wf_snapshot *s, wf__input *input, const wf_snapshot_options *options) {
  folder f = {.s = s, .options = options};
  wf__pickle_value top;
  wf__pickle_client client = {&f, fold, tell_progress};
  WF__TRY(intern_words(s));
  wf_status status = wf__pickle_read(input, s->name, &s->strings, &client, &top);
  wf__release(f.stack);
  if (!status) status = judge(&f, &top);
  return status;
}
