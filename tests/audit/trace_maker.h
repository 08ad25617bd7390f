/* Makes small traces in the profiler's format, event by event. Times are in microseconds. */
#ifndef WF_TESTS_TRACE_MAKER_H
#define WF_TESTS_TRACE_MAKER_H

#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/host.h"
#include "format/text.h"
#include "weft/audit.h"
#include "weft/report.h"

#define MAIN_THREAD 100
#define BACKWARD_THREAD 101

static wf__text maker_text;
static int maker_events;
static int64_t maker_correlation;

static inline void maker_begin(void) {
  wf__text_release(&maker_text);
  maker_text = (wf__text){0};
  maker_events = 0;
  maker_correlation = 1000;
  wf__text_put(&maker_text, "{\"schemaVersion\": 1, \"traceEvents\": [");
}

/* args: the inside of the object, or NULL. */
static inline void maker_event(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                               const char *args) {
  wf__text_printf(
      &maker_text,
      "%s\n  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": "
      "%.3f, \"args\": {%s}}",
      maker_events++ ? "," : "", cat, name, pid, tid, ts, dur, args ? args : "");
}

static inline void maker_op(const char *name, double ts, double dur) {
  maker_event("cpu_op", name, 1, MAIN_THREAD, ts, dur, NULL);
}

/* aten::copy_ with its operands: dimensions and both strides as JSON. */
static inline void maker_copy(double ts, double dur, const char *dims, const char *to_strides, const char *from_strides,
                              const char *to, const char *from) {
  char args[512];
  snprintf(
      args, sizeof args,
      "\"Input Dims\": [%s, %s, []], \"Input Strides\": [%s, %s, []], \"Input type\": [\"%s\", \"%s\", \"Scalar\"], "
      "\"Concrete Inputs\": [\"\", \"\", \"False\"], \"Ev Idx\": 5",
      dims, dims, to_strides, from_strides, to, from);
  maker_event("cpu_op", "aten::copy_", 1, MAIN_THREAD, ts, dur, args);
}

static inline void maker_annotation(const char *name, double ts, double dur) {
  maker_event("user_annotation", name, 1, MAIN_THREAD, ts, dur, NULL);
}

static inline void maker_python(const char *name, const char *called_from, double ts, double dur) {
  char args[256];
  snprintf(args, sizeof args, "\"Python id\": 3, \"CallFrom\": \"%s\"", called_from);
  maker_event("python_function", name, 1, MAIN_THREAD, ts, dur, args);
}

static inline void maker_call(const char *name, double ts, double dur, int64_t correlation) {
  char args[128];
  snprintf(args, sizeof args, "\"cbid\": 1, \"correlation\": %lld", (long long)correlation);
  maker_event("cuda_runtime", name, 1, MAIN_THREAD, ts, dur, args);
}

static inline void maker_device(const char *cat, const char *name, int stream, double ts, double dur,
                                int64_t correlation, int64_t bytes) {
  char args[256];
  snprintf(args, sizeof args, "\"device\": 0, \"stream\": %d, \"correlation\": %lld, \"bytes\": %lld", stream,
           (long long)correlation, (long long)bytes);
  maker_event(cat, name, 0, stream, ts, dur, args);
}

/* A call and the work that it launches. */
static inline void maker_launch(const char *call, double call_ts, double call_dur, const char *cat, const char *work,
                                int stream, double ts, double dur, int64_t bytes) {
  int64_t correlation = maker_correlation++;
  maker_call(call, call_ts, call_dur, correlation);
  maker_device(cat, work, stream, ts, dur, correlation, bytes);
}

/* A kernel on the stream that computes, launched a little before. */
static inline void maker_kernel(double launched, double ts, double dur) {
  maker_launch("cudaLaunchKernel", launched, 2, "kernel", "void gemm<float>(float*)", 7, ts, dur, -1);
}

/* Ends the trace and writes it to a file of a name of its own; unlink it. */
static inline const char *maker_write(void) {
  static char path[64];
  wf__text_put(&maker_text, "\n]}\n");
  assert_int_equal(maker_text.status, WF_OK);
  strcpy(path, "weft-trace-XXXXXX.json");
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, maker_text.data, maker_text.size), maker_text.size);
  close(fd);
  return path;
}

/* Writes any text as a file. */
static inline const char *maker_write_text(const char *text, size_t n) {
  static char path[64];
  strcpy(path, "weft-trace-XXXXXX.json");
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, n), n);
  close(fd);
  return path;
}

static inline wf_audit *maker_audit(void) {
  const char *path = maker_write();
  wf_audit *audit = wf_audit_trace(path, NULL);
  if (!audit) print_error("%s\n", wf_error_peek().text);
  unlink(path);
  return audit;
}

#endif
