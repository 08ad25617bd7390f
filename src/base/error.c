/* The error record of each thread. Sticky: the first failure stays until it is taken. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2048
#define HINT_BYTES 2048

struct wf__record {
  wf_error error;
  char text[TEXT_BYTES];
  char hint[HINT_BYTES];
};

static void release_record(void *record) { free(record); }

/* Plain calloc, not wf__calloc: that one reports its failures here. */
static struct wf__record *record_of_thread(void) {
  if (!wf__self.record) {
    wf__self.record = calloc(1, sizeof *wf__self.record);
    if (wf__self.record) wf__thread_at_exit((void **)&wf__self.record, release_record);
  }
  return wf__self.record;
}

wf_status wf__fail(wf_status status, const char *format, ...) {
  if (wf__self.pending) return wf__self.pending;
  wf__self.pending = status;
  struct wf__record *r = record_of_thread();
  if (!r) return wf__self.pending = WF_NO_MEMORY; /* wf_error_peek has a constant record for this */
  va_list args;
  va_start(args, format);
  vsnprintf(r->text, sizeof r->text, format, args);
  va_end(args);
  r->hint[0] = 0;
  const wf__frame *f = wf__self.frame;
  r->error = (wf_error){status, r->text, r->hint, f ? f->op : "", f ? f->site : NULL};
  return status;
}

void wf__hint(const char *format, ...) {
  struct wf__record *r = wf__self.record;
  if (!wf__self.pending || !r) return;
  va_list args;
  va_start(args, format);
  vsnprintf(r->hint, sizeof r->hint, format, args);
  va_end(args);
}

wf_status wf__fail_memory(size_t bytes) {
  return wf__fail(WF_NO_MEMORY,
                  "DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes. "
                  "Error code 12 (Cannot allocate memory)",
                  bytes);
}

wf_error wf_error_peek(void) {
  static const wf_error none = {WF_OK, "", "", "", NULL};
  static const wf_error no_record = {WF_NO_MEMORY, "out of host memory: not even room for the error text", "", "",
                                     NULL};
  if (!wf__self.pending) return none;
  return wf__self.record ? wf__self.record->error : no_record;
}

wf_error wf_error_take(void) {
  wf_error e = wf_error_peek();
  wf__self.pending = WF_OK;
  return e;
}

wf_status wf__error_suspend(void) {
  wf_status s = wf__self.pending;
  wf__self.pending = WF_OK;
  return s;
}

void wf__error_resume(wf_status status) {
  if (status) wf__self.pending = status;
}

const char *wf_status_name(wf_status status) {
  static const char *const names[] = {
      "OK",          "RuntimeError", "IndexError", "ValueError", "TypeError", "NotImplementedError", "OutOfMemoryError",
      "DeviceError", "IOError",      "Cancelled"};
  return (unsigned)status < sizeof names / sizeof *names ? names[status] : "UnknownError";
}

char *wf__dims_text(wf_dims d, char buffer[WF__DIMS_TEXT]) {
  char *p = buffer, *end = buffer + WF__DIMS_TEXT;
  *p++ = '[';
  for (int i = 0; d.at && i < d.n && end - p > 24; i++)
    p += snprintf(p, (size_t)(end - p), i ? ", %lld" : "%lld", (long long)d.at[i]);
  snprintf(p, (size_t)(end - p), "]");
  return buffer;
}

const char *wf_version(void) {
#define WF_QUOTE(x) #x
#define WF_DOTTED(a, b, c) WF_QUOTE(a) "." WF_QUOTE(b) "." WF_QUOTE(c)
  return WF_DOTTED(WF_VERSION_MAJOR, WF_VERSION_MINOR, WF_VERSION_PATCH);
}
