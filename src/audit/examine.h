/* What rules work with: the trace in order, its steps, and the table that they put what they find into. One occurrence after the other is
 * noted; those of one kind at one place become one finding. */
#ifndef WF_AUDIT_EXAMINE_H
#define WF_AUDIT_EXAMINE_H

#include "audit/training_steps.h"

/* Kinds of finding: rows of the table in finding_kinds.c. */
typedef enum wf__kind {
  WF__KIND_HIDDEN_COPY,
  WF__KIND_MATMUL_COPY,
  WF__KIND_ASKED_COPY,
  WF__KIND_BROADCAST,
  WF__KIND_DUPLICATE,
  WF__KIND_CONVERSION,
  WF__KIND_AUTOCAST,
  WF__KIND_DOUBLE,
  WF__KIND_PLAIN_COPY,
  WF__KIND_DEVICE_COPY,
  WF__KIND_PAGEABLE_UPLOAD,
  WF__KIND_PAGEABLE_DOWNLOAD,
  WF__KIND_SMALL_TRANSFERS,
  WF__KIND_TRANSFER_LOOP,
  WF__KIND_NO_OVERLAP,
  WF__KIND_READBACK,
  WF__KIND_DOWNLOAD_SYNC,
  WF__KIND_UPLOAD_SYNC,
  WF__KIND_EXPLICIT_SYNC,
  WF__KIND_OTHER_SYNC,
  WF__KIND_IDLE_LOADER,
  WF__KIND_IDLE_SYNC,
  WF__KIND_IDLE_ALLOC,
  WF__KIND_IDLE_OPERATOR,
  WF__KIND_IDLE_PYTHON,
  WF__KIND_LOADER,
  WF__KIND_DEVICE_ALLOC,
  WF__KIND_HOST_ALLOC,
  WF__KINDS
} wf__kind;

/* Where something happened: numbers of names, 0 unknown. */
typedef struct wf__place {
  uint32_t module;   /* nn.Module: Linear_0 */
  uint32_t line;     /* train.py:12, the user's own */
  uint32_t function; /* train.py(10): forward */
  bool by_forward;   /* of a backward operator: where its forward ran */
} wf__place;

/* All occurrences of a kind at one place. */
typedef struct wf__group {
  wf__kind kind;
  uint32_t operator, cause; /* names; 0: none */
  wf__place place;
  uint32_t example; /* an event */
  int64_t count, steady_count;
  int64_t ns, steady_ns;
  int64_t bytes;       /* of those that are known */
  int64_t bytes_known; /* how many of `count` are */
  uint32_t next;       /* in its slot of the table */
} wf__group;

typedef struct wf__examination {
  wf__kineto *k;
  const wf__steps *steps;
  wf__group *groups;
  uint32_t n, room, *slots, slot_count;
  wf_status status; /* the first WF_NO_MEMORY; later notes do nothing */
} wf__examination;

/* One occurrence. `at`: the event whose place counts; `start`: when, which decides whether it is in the steady state. bytes -1: unknown. */
typedef struct wf__occurrence {
  wf__kind kind;
  uint32_t operator, cause, at;
  int64_t start, ns, bytes;
} wf__occurrence;

/* Notes it; returns the group's index, or WF__NO_EVENT without memory. */
uint32_t wf__note(wf__examination *x, const wf__occurrence *o);
void wf__examination_release(wf__examination *x);

/* Where an event of the host happened. */
wf__place wf__place_of(const wf__kineto *k, uint32_t event);
/* The modules around it, outermost first, "Net_0.Attention_0.Linear_1", cut at the front. */
void wf__module_path(const wf__kineto *k, uint32_t event, char *text, size_t room);
/* The nearest event above (the event itself first) of that category, within 1000 levels; WF__NO_EVENT. */
uint32_t wf__above(const wf__kineto *k, uint32_t event, wf__category cat);
/* The outermost operator above, or WF__NO_EVENT. */
uint32_t wf__outer_operator(const wf__kineto *k, uint32_t event);

/* The name of the operator that people know, for something that moves or reads back: the outermost that does nothing else, else the
 * nearest operator; 0 without one. */
uint32_t wf__mover_of(const wf__kineto *k, uint32_t event);

/* Rules, one a file. Each notes what it finds. */
void wf__rule_copies(wf__examination *x);
void wf__rule_transfers(wf__examination *x);
void wf__rule_overlap(wf__examination *x);
void wf__rule_syncs(wf__examination *x);
void wf__rule_idle(wf__examination *x);
void wf__rule_loader(wf__examination *x);
void wf__rule_allocations(wf__examination *x);

/* How busy a device was in the steady state. */
typedef struct wf__device_use {
  int64_t device, busy, idle; /* ns */
} wf__device_use;
#define WF__DEVICES_MAX 64
/* Fills at most WF__DEVICES_MAX; returns how many. -1: WF_NO_MEMORY. */
int wf__device_uses(const wf__kineto *k, const wf__steps *steps, wf__device_use *uses);

#endif
