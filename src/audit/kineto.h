/* A profiler's trace in memory: what the rules need of each event in 40 bytes, 48 while it is put in order; names apart. Events of
 * kinds that no rule looks at are counted and dropped. */
#ifndef WF_AUDIT_KINETO_H
#define WF_AUDIT_KINETO_H

#include "audit/names.h"
#include "format/json_scanner.h"

typedef enum wf__category {
  WF__CAT_OTHER,      /* not kept */
  WF__CAT_ANNOTATION, /* from here to RUNTIME: what is outside comes first where two take the same time */
  WF__CAT_PYTHON,
  WF__CAT_OPERATOR,
  WF__CAT_RUNTIME,
  WF__CAT_KERNEL,
  WF__CAT_TRANSFER,
  WF__CAT_FILL,
  WF__CAT_MEMORY
} wf__category;

#define WF__NO_EVENT UINT32_MAX
enum {
  WF__EVENT_BACKWARD = 1,
  WF__EVENT_OPEN = 2,      /* began, and its end didn't come yet */
  WF__EVENT_ON_DEVICE = 4, /* a copy whose bytes the device moves … */
  WF__EVENT_UPLOAD = 8,    /* … from the host … */
  WF__EVENT_DOWNLOAD = 16  /* … or to it */
};

typedef struct wf__event {
  int64_t start, dur; /* ns */
  /* OPERATOR: a packed wf__shape when it is a copy. PYTHON: number of the name of the line it was called from, 0 unknown.
   * TRANSFER, FILL: bytes, -1 unknown. MEMORY: bytes, negative when given back. Others: 0. */
  int64_t value;
  uint32_t name;
  uint32_t parent; /* the event around it in its lane */
  /* OPERATOR: autograd's sequence number + 1, 0 none. RUNTIME: its correlation, 0 none. KERNEL, TRANSFER, FILL: the same; once the
   * trace is in order, the call that launched it, or WF__NO_EVENT. */
  uint32_t link;
  uint16_t lane;
  uint8_t cat, flags;
} wf__event;

/* A thread of the host or a stream of a device. */
typedef struct wf__row {
  uint64_t pid, tid; /* numbers, or hashes of texts */
  int64_t device;    /* of a stream, else -1 */
  uint32_t first, n; /* of order[] */
  uint32_t open;     /* the innermost event that began by "B" */
} wf__row;

/* The two operands of a copy, as one number. */
typedef enum wf__copy_form {
  WF__FORM_UNKNOWN, /* the trace has no shapes */
  WF__FORM_SCALAR,  /* one element or none */
  WF__FORM_SAME,    /* equal strides */
  WF__FORM_LAYOUT,  /* other strides */
  WF__FORM_BROADCAST
} wf__copy_form;

typedef struct wf__shape {
  wf__copy_form form;
  int to, from;     /* element types: index into the table of kineto_args.c, 0 unknown */
  int64_t elements; /* -1 unknown */
} wf__shape;

int64_t wf__shape_pack(const wf__shape *shape);
wf__shape wf__shape_unpack(int64_t packed);
/* "float" and bytes an element; "" and 0 when unknown. */
const char *wf__type_name(int type);
int wf__type_bytes(int type);

typedef struct wf__peak {
  int64_t device; /* -1: the host */
  int64_t total;  /* the largest that events state */
} wf__peak;

#define WF__PEAKS_MAX 64

typedef struct wf__kineto {
  char *path;
  wf__names names;
  wf__event *events;
  uint32_t n, room;
  wf__row *rows;
  uint32_t row_count, row_room, *row_slots, row_slot_count;
  uint32_t *order;   /* events by row and time */
  uint32_t *forward; /* hash table of forward operators by sequence number; NULL without stacks */
  uint32_t forward_slots;

  int64_t seen, skipped; /* elements of traceEvents; of these, damaged or of no use */
  int64_t counted;       /* those that count as events of their name */
  bool truncated;        /* the input ended inside */
  bool interrupted;      /* the caller stopped the reading */
  bool damaged_outside;  /* damage that isn't an event's */
  bool has_shapes, has_stacks, has_modules, has_device, has_hip, has_memory;
  char device_name[64];
  int64_t device_bytes;
  int64_t start, end; /* of all events kept */
  wf__peak peaks[WF__PEAKS_MAX];
  int peak_count;
} wf__kineto;

/* Reads a trace and puts it in order; `progress` is told now and then, and where it stops the reading, what was read is there. Errors: WF_IO
 * for what can't be read, WF_VALUE for what is something else, each with what to do as the hint; WF_NO_MEMORY. Close it in any case. */
wf_status wf__kineto_read(wf__kineto *k, const char *path, wf__progress progress, void *context);
void wf__kineto_close(wf__kineto *k);

/* Steps of reading, in files of their own. */

/* What `args` of one event say; -1 or 0 for what isn't there. */
typedef struct wf__arguments {
  int64_t correlation, sequence, forward_thread, bytes, device, device_type, device_id, total;
  uint32_t call_from;
  bool has_total;
  wf__shape shape;
} wf__arguments;

/* Reads the object whose bracket was read. False when it is damaged. `copy`: shapes are wanted. */
bool wf__kineto_args(wf__kineto *k, wf__scanner *s, bool copy, wf__arguments *args);
/* order, rows, parents, links. Errors: WF_NO_MEMORY. */
wf_status wf__kineto_order(wf__kineto *k);
/* WF_VALUE with what the file is and what to do, from its first bytes; WF_OK when it may be a trace. */
wf_status wf__kineto_sniff(const char *path, const char *bytes, size_t n);

/* Sorts numbers of events by time; `room` for n more. */
void wf__sort_events(const wf__event *events, uint32_t *at, uint32_t n, uint32_t *room);
/* The forward operator of that link (sequence number + 1), or WF__NO_EVENT. */
uint32_t wf__forward_of(const wf__kineto *k, uint32_t link);

static inline int64_t wf__event_end(const wf__event *e) { return e->start + e->dur; }
static inline bool wf__on_device(const wf__event *e) {
  return e->cat == WF__CAT_KERNEL || e->cat == WF__CAT_TRANSFER || e->cat == WF__CAT_FILL;
}
static inline bool wf__is_host_memory(uint8_t kind) {
  return kind == WF__MEMORY_PAGEABLE || kind == WF__MEMORY_PINNED || kind == WF__MEMORY_HOST;
}
static inline wf__meaning wf__event_meaning(const wf__kineto *k, const wf__event *e) {
  return wf__meaning_of(&k->names, e->name);
}

#endif
