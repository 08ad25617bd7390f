/* Accounting: every copy, cast, fill, wait and allocation is an event. The ledger adds them up by call site; the profiler keeps
 * them all with their times. Off, each public call pays one predictable branch. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include <weft/base.h>
#include <weft/dtype.h>

WF_EXTERN_C_BEGIN

/** What an event is. Numbers are ABI: append only. */
typedef enum wf_event_kind {
  WF_EVENT_NONE = 0,
  WF_EVENT_COPY, /* same dtype, new layout or place, within one device */
  WF_EVENT_CAST, /* a copy that changes the dtype */
  WF_EVENT_FILL,
  WF_EVENT_PACK,  /* a library packs its own weights */
  WF_EVENT_STAGE, /* pageable host memory copied to pinned staging memory, or back */
  WF_EVENT_H2D,
  WF_EVENT_D2H,
  WF_EVENT_D2D,    /* between two devices */
  WF_EVENT_KERNEL, /* any other plan */
  WF_EVENT_WAIT,   /* the host waited for a device, an event, a worker or a queue */
  WF_EVENT_ALLOC,  /* bytes_written: size of the block */
  WF_EVENT_FREE,
  WF_EVENT_ZONE, /* a named stretch: a stage, a module, an operator */
  WF_EVENT_KINDS
} wf_event_kind;
/** "copy", "h2d", … Never NULL. */
WF_API const char *wf_event_kind_name(wf_event_kind kind);

/** One event. Strings are static or interned and stay. Times are nanoseconds of wf_clock_ns. */
typedef struct wf_trace_event {
  wf_event_kind kind;
  bool implicit; /* a copy that nobody asked for */
  bool pinned;   /* ALLOC and FREE: of the pinned host memory that serves the device */
  wf_device device;
  uint32_t stream;    /* id; 0 the default stream or none */
  uint32_t thread;    /* small number of the host thread that caused or ran it */
  const char *op;     /* innermost operator, zone name, or what was waited for */
  const char *module; /* module path, "" none */
  const char *zone;   /* stage: innermost zone of the thread that caused it; of a ZONE the one around it; "" none */
  const void *site;   /* outermost public call's return address, NULL unknown */
  int64_t bytes_read, bytes_written;
  int64_t start_ns, end_ns;
  int64_t allocated, reserved; /* ALLOC and FREE: of that device, after it */
} wf_trace_event;

/** What is recorded. LEDGER adds up by site and keeps no single events; FULL keeps all. */
typedef enum wf_trace_level { WF_TRACE_OFF = 0, WF_TRACE_LEDGER = 1, WF_TRACE_FULL = 2 } wf_trace_level;
/** Starts recording at `level`, from nothing. For the whole process. OFF forgets what was recorded. Errors: WF_VALUE for another
 *  number. */
WF_API wf_status wf_trace_start(wf_trace_level level);
/** Stops recording; what was recorded stays readable until the next start. */
WF_API void wf_trace_stop(void);
/** When the present recording started, and when it stopped: now, if it hasn't. ns of wf_clock_ns, 0 if nothing was ever started. */
WF_API void wf_trace_span(int64_t *start_ns, int64_t *end_ns);
/** Monotonic clock of all events, ns. */
WF_API int64_t wf_clock_ns(void);

/** One line of the ledger: all events with the same site, operator, kind, device, module, zone and asked/implicit. */
typedef struct wf_ledger_row {
  wf_event_kind kind;
  bool implicit;
  wf_device device;
  const char *op, *module, *zone;
  const void *site;
  int64_t count, bytes_read, bytes_written, ns;
} wf_ledger_row;
/** Copies the ledger's rows to a new array of *n rows, largest time first; give it back with wf_trace_release. NULL on error.
 *  Works while recording and while an error is pending. Rows that found no memory are added up, by kind, in rows whose op is
 *  "(other)": sums are always complete. */
WF_API wf_ledger_row *wf_ledger_rows(size_t *n);
/** Copies the single events (level FULL), by start time, of two that start together the longer first. As above. */
WF_API wf_trace_event *wf_trace_events(size_t *n);
/** Gives back an array of wf_ledger_rows or wf_trace_events. NULL is accepted. */
WF_API void wf_trace_release(void *rows);
/** Number of implicit copies (COPY and CAST, bytes_written > 0) since the start of recording. */
WF_API int64_t wf_ledger_implicit_copies(void);
/** Single events that level FULL could not keep since the start of recording: the ledger has them, wf_trace_events hasn't. */
WF_API int64_t wf_trace_dropped(void);
/** How many single events a recording keeps at most, over all threads, rounded up to whole blocks of about 1,300 a thread
 *  (104 bytes each). 1,048,576 unless set. Below 1 is an error (WF_VALUE). */
WF_API wf_status wf_trace_set_limit(int64_t events);
/** Name of the thread with this number in events: "main", what the operating system calls it, or "" if it has no name of its own
 *  or never recorded anything. Never NULL. */
WF_API const char *wf_trace_thread_name(uint32_t thread);

/** "file.c:123" of a site when debug information is there, else "libname+0x1234". Writes at most `size` bytes. Slow: reports only. */
WF_API char *wf_site_name(const void *site, char *buffer, size_t size);

/** A named stretch of this thread. What the thread starts until it ends carries its name as its stage, on whatever device it runs:
 *  a training loop opens "load", "copy", "forward", "backward" and "optimizer". End in reverse order. `name` is copied; NULL counts
 *  as "". A zone gives its event when it ends, if recording began before it did; beyond 64 open zones on a thread, or 255 names in
 *  the process, further ones are part of the zone around them. */
WF_API void wf_zone_begin(const char *name);
/** Ends the innermost zone of this thread. */
WF_API void wf_zone_end(void);
/** The module path that events of this thread carry from now on: push "conv1" inside "net" gives "net.conv1". The name is copied.
 *  A process has at most 4,095 different paths; later ones leave the path as it is. */
WF_API void wf_module_push(const char *name);
/** Takes the last name off the module path. */
WF_API void wf_module_pop(void);

/** What an implicit copy is met with. */
typedef enum wf_copy_policy { WF_COPY_ALLOW = 0, WF_COPY_WARN = 1, WF_COPY_FORBID = 2 } wf_copy_policy;
/** Sets this thread's policy and returns the one before. Under FORBID an implicit copy is an error (WF_RUNTIME) at its caller.
 *  Errors: WF_VALUE for another number; the policy stays. */
WF_API wf_copy_policy wf_copy_policy_set(wf_copy_policy policy);

WF_EXTERN_C_END
#endif
