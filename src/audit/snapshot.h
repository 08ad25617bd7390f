/* A memory snapshot as it is kept: PyTorch's pickle, or a log of allocations, in flat arrays. What repeats (strings, frames, stacks,
 * streams, pools) is kept once and named by its number. An event takes 40 bytes.
 *
 * Of a dict without some key the field is 0: releases of PyTorch differ in what they write. */
#ifndef WF_AUDIT_SNAPSHOT_H
#define WF_AUDIT_SNAPSHOT_H

#include <string.h>
#include <weft/snapshot.h>
#include <weft/sys/allocator.h>

#include "format/gzip.h"
#include "format/string_set.h"

/* The first eight are those of wf_allocator_action, in its order. */
typedef enum wf__snap_action {
  WF__SNAP_ALLOC,
  WF__SNAP_FREE_REQUESTED,
  WF__SNAP_FREE_COMPLETED,
  WF__SNAP_SEGMENT_ALLOC,
  WF__SNAP_SEGMENT_FREE,
  WF__SNAP_SEGMENT_MAP,
  WF__SNAP_SEGMENT_UNMAP,
  WF__SNAP_OOM,
  WF__SNAP_SNAPSHOT,
  WF__SNAP_OTHER /* annotations */
} wf__snap_action;

typedef struct wf__snap_event {
  int64_t time_us;  /* since the epoch */
  uint64_t address; /* of OOM: what the driver had free */
  uint64_t size;    /* of blocks what was asked for, of segments all of it */
  uint32_t stream, stack;
  uint32_t note; /* string: user_metadata */
  uint16_t pool;
  uint8_t action;
} wf__snap_event;

typedef struct wf__snap_block {
  uint64_t address, size, requested;
  uint32_t stack;
  uint8_t state; /* wf_block_state */
} wf__snap_block;

typedef struct wf__snap_segment {
  uint64_t address, size;
  uint32_t stream, stack;
  uint32_t first_block, block_count;
  int32_t device;
  uint16_t pool;
  bool large, expandable;
} wf__snap_segment;

typedef struct wf__snap_frame {
  uint32_t function, file; /* strings */
  uint32_t line;
} wf__snap_frame;

/* The events of one device, oldest first. */
typedef struct wf__snap_trace {
  uint32_t first, count;
} wf__snap_trace;

typedef struct wf__snap_pool {
  int64_t id[2]; /* (0, 0): the default pools, number 0 */
} wf__snap_pool;

/* allocator_settings. */
typedef struct wf__snap_settings {
  bool present, expandable;
  uint32_t conf;     /* string: PYTORCH_CUDA_ALLOC_CONF */
  int64_t max_split; /* bytes; -1: no limit */
  double garbage_collection;
  int64_t divisions[16];
} wf__snap_settings;

/* An array that grows. */
#define WF__GROWING(type) \
  struct {                \
    type *at;             \
    size_t n, room;       \
  }

struct wf_snapshot {
  char *name;    /* of the file */
  bool is_log;   /* an allocation log: no segments are known */
  int64_t bytes; /* read, unpacked */
  wf__string_set strings;
  wf__string_set frames; /* each "string" is a wf__snap_frame */
  wf__string_set stacks; /* each "string" is the numbers of its frames, innermost first; number 0 is the empty stack */
  WF__GROWING(wf__snap_event) events;
  WF__GROWING(wf__snap_block) blocks;
  WF__GROWING(wf__snap_segment) segments;
  WF__GROWING(wf__snap_trace) all_traces;
  WF__GROWING(uint64_t) streams;
  WF__GROWING(wf__snap_pool) pools;
  wf__snap_settings settings;
  uint32_t trace_first, trace_count; /* those of the devices, by number, in all_traces */
};

/* Room for one more in a growing array; false when memory is out. */
bool wf__snap_grow(void *array, size_t item_bytes);
#define WF__SNAP_ADD(array) \
  ((array).n < (array).room || wf__snap_grow(&(array), sizeof *(array).at) ? &(array).at[(array).n++] : NULL)

/* The number of a stream handle or a pool, added when it is new. UINT32_MAX when memory is out. */
uint32_t wf__snap_stream_number(wf_snapshot *s, uint64_t handle);
uint32_t wf__snap_pool_number(wf_snapshot *s, int64_t first, int64_t second);

/* Reads the pickle (snapshot_fold.c) or the log (rmm_log.c) into an empty snapshot. Errors: WF_VALUE, WF_IO, WF_NO_MEMORY. */
wf_status wf__snap_read_pickle(wf_snapshot *s, wf__input *input, const wf_snapshot_options *options);
wf_status wf__snap_read_log(wf_snapshot *s, wf__input *input, const wf_snapshot_options *options);

static inline const char *wf__snap_text(const wf_snapshot *s, uint32_t string) {
  return wf__string_set_text(&s->strings, string);
}

/* The events of a device; none when there are none. */
static inline wf__snap_trace wf__snap_trace_of(const wf_snapshot *s, int32_t device) {
  return device >= 0 && (uint32_t)device < s->trace_count ? s->all_traces.at[s->trace_first + (uint32_t)device]
                                                          : (wf__snap_trace){0};
}

static inline uint32_t wf__snap_depth(const wf_snapshot *s, uint32_t stack) {
  return (uint32_t)(wf__string_set_size(&s->stacks, stack) / sizeof(uint32_t));
}
/* The i-th frame of a stack, 0 the innermost. */
static inline wf__snap_frame wf__snap_frame_at(const wf_snapshot *s, uint32_t stack, uint32_t i) {
  uint32_t number;
  wf__snap_frame frame = {0};
  memcpy(&number, wf__string_set_text(&s->stacks, stack) + i * sizeof number, sizeof number);
  if (wf__string_set_size(&s->frames, number) == sizeof frame)
    memcpy(&frame, wf__string_set_text(&s->frames, number), sizeof frame);
  return frame;
}

#endif
