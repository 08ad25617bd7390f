/* What the rows of a ledger add up to: stages, kinds of copy, copy sites, waits, operators, devices. All arrays are sorted by time,
 * largest first, except stages (order of a training step) and kinds (order of the enum).
 *
 * The work of a stage is what was done for it, wherever and whenever: the host's time in its zone, without inner zones and without
 * waits, plus the time that asynchronous devices spent on what the zone started. Stages overlap, so shares may add up to more than
 * the run. */
#ifndef WF_REPORT_SUMMARY_H
#define WF_REPORT_SUMMARY_H

#include "report/report.h"

typedef struct wf__stage {
  const char *name;
  int64_t count; /* of zones */
  int64_t host_ns, wait_ns, device_ns;
} wf__stage;

typedef struct wf__move {
  const char *site, *op, *module; /* site: a name, interned */
  wf_event_kind kind;
  wf_device device;
  bool implicit;
  int64_t count, bytes_read, bytes_written, ns;
} wf__move;

typedef struct wf__host_wait {
  const char *site, *what, *stage;
  wf_device device; /* what was waited for lies there */
  int64_t count, ns;
} wf__host_wait;

typedef struct wf__operator_time {
  const char *op, *module;
  wf_device device;
  int64_t count, ns;
} wf__operator_time;

typedef struct wf__device_time {
  wf_device device;
  int64_t compute_ns, transfer_ns;
} wf__device_time;

typedef struct wf__summary {
  wf__stage *stages;
  wf__move *kinds; /* op, site and module "": one a kind and asked or implicit */
  wf__move *moves;
  wf__host_wait *waits;
  wf__operator_time *operators;
  wf__device_time *devices; /* asynchronous ones */
  size_t stage_count, kind_count, move_count, wait_count, operator_count, device_count;
  int64_t wait_ns;
  int64_t implicit_count, implicit_bytes; /* copies and casts nobody asked for; bytes written */
} wf__summary;

/* Errors: WF_NO_MEMORY; nothing is held then. */
wf_status wf__summary_make(const wf_report *report, wf__summary *summary);
void wf__summary_release(wf__summary *summary);

static inline int64_t wf__stage_work(const wf__stage *s) { return s->host_ns - s->wait_ns + s->device_ns; }
/* Copies of any kind: what the copy tables show. */
static inline bool wf__kind_moves(wf_event_kind kind) { return kind >= WF_EVENT_COPY && kind <= WF_EVENT_D2D; }
/* The host doesn't run its kernels: times of the device and of the host add up. */
static inline bool wf__device_is_async(wf_device device) { return device.type != WF_DEVICE_CPU; }
static inline bool wf__same_device(wf_device a, wf_device b) { return a.type == b.type && a.index == b.index; }
/* Names of sites that stay as long as the process. */
const char *wf__report_site(const void *site);

#endif
