/* The names of a trace: each distinct one once, with a number, how often it came, and what it means to the rules. The meaning is found
 * when a name comes first, so events cost no comparison of texts. */
#ifndef WF_AUDIT_NAMES_H
#define WF_AUDIT_NAMES_H

#include "base/error.h"

typedef enum wf__meaning {
  WF__MEANS_NOTHING,
  /* Operators. */
  WF__MEANS_COPY,       /* aten::copy_: the one event that stands for a copy */
  WF__MEANS_LAYOUT,     /* contiguous, reshape …: what starts a copy for the sake of layout */
  WF__MEANS_DUPLICATE,  /* clone: starts a copy, for whatever reason */
  WF__MEANS_CONVERSION, /* to, _to_copy, float …: starts a copy to another dtype or device */
  WF__MEANS_READBACK,   /* item, nonzero …: needs a value on the host, so it waits for the device */
  /* Calls of the CUDA and HIP runtimes. */
  WF__MEANS_SYNC,
  WF__MEANS_MEMCPY_CALL,
  WF__MEANS_BLOCKING_MEMCPY,
  WF__MEANS_DEVICE_ALLOC,
  WF__MEANS_DEVICE_FREE,
  WF__MEANS_HOST_ALLOC,
  /* Work on the device. */
  WF__MEANS_TRANSFER, /* from, to */
  WF__MEANS_COPY_KERNEL,
  /* Annotations. */
  WF__MEANS_PROFILER_STEP,
  WF__MEANS_OPTIMIZER_STEP,
  WF__MEANS_LOADER,
  WF__MEANS_MEMORY,
  /* Python. */
  WF__MEANS_USER_FRAME,    /* a function of the user's own code */
  WF__MEANS_LIBRARY_FRAME, /* of PyTorch, Python or an installed package */
  WF__MEANS_BUILTIN,
  WF__MEANS_MODULE /* nn.Module: Linear_0 */
} wf__meaning;

typedef enum wf__memory_kind {
  WF__MEMORY_OTHER,
  WF__MEMORY_DEVICE,
  WF__MEMORY_PAGEABLE,
  WF__MEMORY_PINNED,
  WF__MEMORY_HOST
} wf__memory_kind;

typedef struct wf__name {
  const char *text;
  uint32_t size, hash;
  int64_t count; /* of events */
  uint8_t meaning, from, to;
} wf__name;

typedef struct wf__names {
  wf__name *at; /* number 0 is the empty name */
  uint32_t *slots, n, room, slot_count;
  char *chunk; /* texts, in chunks that are chained by their first bytes */
  size_t chunk_left;
} wf__names;

#define WF__NO_NAME UINT32_MAX

/* Errors: WF_NO_MEMORY. */
wf_status wf__names_open(wf__names *names);
void wf__names_close(wf__names *names);
/* The number of a name, made when it is new; WF__NO_NAME on WF_NO_MEMORY. */
uint32_t wf__names_add(wf__names *names, const char *text, size_t size);
/* The number of a name that is there, else WF__NO_NAME. */
uint32_t wf__names_find(const wf__names *names, const char *text, size_t size);
/* What a name means: a function of its text alone. */
void wf__name_judge(wf__name *name);
/* A Python source "path(12): function" or "path:12": whether it is the user's own. */
bool wf__is_user_source(const char *text, size_t size);

static inline wf__meaning wf__meaning_of(const wf__names *names, uint32_t name) {
  return (wf__meaning)names->at[name].meaning;
}

#endif
