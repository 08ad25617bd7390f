/* From a call in progress to an event: who caused the work, and what became of it. */
#include <time.h>

#include "trace/trace.h"

int64_t wf_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const char *wf_event_kind_name(wf_event_kind kind) {
  static const char *const names[WF_EVENT_KINDS] = {"none", "copy", "cast",   "fill", "pack",  "stage", "h2d",
                                                    "d2h",  "d2d",  "kernel", "wait", "alloc", "free",  "zone"};
  return (unsigned)kind < WF_EVENT_KINDS ? names[kind] : "unknown";
}

wf_tag wf__trace_tag(wf_event_kind kind, int64_t bytes_read, int64_t bytes_written) {
  const wf__frame *f = wf__self.frame;
  return (wf_tag){.site = f ? f->site : NULL,
                  .op = f ? f->op : "",
                  .module = wf__self.module,
                  .zone = wf__self.zone,
                  .kind = (uint16_t)kind,
                  .bytes_read = bytes_read,
                  .bytes_written = bytes_written};
}

void wf__trace_ran(const wf_tag *tag, wf_device device, uint32_t stream, int64_t start_ns, int64_t end_ns) {
  if (!wf__tracing()) return;
  wf__trace_emit(&(wf_trace_event){.kind = tag->kind ? (wf_event_kind)tag->kind : WF_EVENT_KERNEL,
                                   .implicit = tag->implicit,
                                   .device = device,
                                   .stream = stream,
                                   .op = tag->op,
                                   .module = wf__trace_module_name(tag->module),
                                   .zone = wf__trace_zone_name(tag->zone),
                                   .site = tag->site,
                                   .bytes_read = tag->bytes_read,
                                   .bytes_written = tag->bytes_written,
                                   .start_ns = start_ns,
                                   .end_ns = end_ns});
}

void wf__trace_wait(const char *what, wf_device device, int64_t start_ns) {
  if (!wf__tracing()) return;
  wf_tag tag = wf__trace_tag(WF_EVENT_WAIT, 0, 0);
  tag.op = what;
  wf__trace_ran(&tag, device, 0, start_ns, wf_clock_ns());
}
