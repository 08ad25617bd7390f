/* The event stream as the library writes it. The public face is weft/trace.h. */
#ifndef WF_TRACE_TRACE_H
#define WF_TRACE_TRACE_H

#include <weft/sys/plan.h>
#include <weft/trace.h>
#include "base/thread.h"

extern _Atomic int wf__trace_level_now; /* wf_trace_level */
static inline bool wf__tracing(void) {
  return WF__UNLIKELY(__atomic_load_n((int *)&wf__trace_level_now, __ATOMIC_RELAXED) != 0);
}

/* Records a finished event. Call only while wf__tracing(). Any thread. */
void wf__trace_emit(const wf_trace_event *event);
/* Tag of work that the present call starts: site, operator, module. kind and bytes are the caller's. */
wf_tag wf__trace_tag(wf_event_kind kind, int64_t bytes_read, int64_t bytes_written);
/* Emits the event of a tagged piece of work that ran from start to end on (device, stream). Nothing when not tracing. */
void wf__trace_ran(const wf_tag *tag, wf_device device, uint32_t stream, int64_t start_ns, int64_t end_ns);
/* Emits a host wait for `what` that began at start_ns and ends now. Nothing when not tracing. */
void wf__trace_wait(const char *what, wf_device device, int64_t start_ns);
/* The module path of an id, "" for 0. */
const char *wf__trace_module_name(uint32_t module);
/* The name of a zone's id, "" for 0. */
const char *wf__trace_zone_name(uint32_t zone);
/* A static copy of the string; equal strings give the same pointer. NULL when memory is out. */
const char *wf__intern(const char *text);

#endif
