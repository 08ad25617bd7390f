/* A made-up training run on the emulated accelerator: fixed durations, so that every sum of a report can be worked out by hand.
 *
 * Each step takes 1 ms of the main thread (number 1): "load" 100 us of which 60 us wait for the loader, "forward" 200, "backward" 300,
 * "optimizer" 100, then 300 us of a wait in item(), outside of any stage. A worker (number 2) loads for 400 us. The device's stream 0
 * computes 4 kernels of 50 us for forward, 4 of 75 us for backward, 1 of 100 us for the optimizer; stream 1 copies 401,408 bytes in 40 us
 * for "copy", staged by the worker in 20 us. Backward allocates 1 MiB and frees it. Steps 0 to 2 make one implicit copy each. */
#ifndef WF_TESTS_REPORT_SAMPLE_RUN_H
#define WF_TESTS_REPORT_SAMPLE_RUN_H

#include <stdlib.h>
#include <string.h>

#include <weft/report.h>

#define SAMPLE_US 1000
#define SAMPLE_STEP (1000 * SAMPLE_US)
#define SAMPLE_START 5000000000
#define SAMPLE_BATCH_BYTES 401408
#define SAMPLE_MIB ((int64_t)1 << 20)
#define SAMPLE_PER_STEP 24

typedef struct sample_run {
  wf_trace_event *event;
  size_t n;
} sample_run;

/* Its own functions stand for lines of a user's program: their addresses have names in this file. */
__attribute__((noinline)) static const void *sample_site(void) { return __builtin_return_address(0); }

static void sample_put(sample_run *run, wf_event_kind kind, const char *op, const char *zone, int64_t start,
                       int64_t length) {
  run->event[run->n++] = (wf_trace_event){.kind = kind,
                                          .device = wf_cpu(),
                                          .thread = 1,
                                          .op = op,
                                          .module = "",
                                          .zone = zone,
                                          .start_ns = start,
                                          .end_ns = start + length};
}

static void sample_on_device(sample_run *run, wf_event_kind kind, const char *op, const char *zone, uint32_t stream,
                             int64_t start, int64_t length) {
  sample_put(run, kind, op, zone, start, length);
  wf_trace_event *e = &run->event[run->n - 1];
  e->device = wf_sim(0);
  e->stream = stream;
  e->thread = 3;
}

static void sample_move(sample_run *run, int64_t bytes, bool implicit, const void *site) {
  wf_trace_event *e = &run->event[run->n - 1];
  e->bytes_read = e->bytes_written = bytes;
  e->implicit = implicit;
  e->site = site;
}

static void sample_memory(sample_run *run, wf_event_kind kind, int64_t start, int64_t allocated) {
  sample_on_device(run, kind, "conv2d", "backward", 0, start, 0);
  wf_trace_event *e = &run->event[run->n - 1];
  e->bytes_written = SAMPLE_MIB;
  e->allocated = allocated;
  e->reserved = 20 * SAMPLE_MIB;
}

static void sample_step(sample_run *run, int step, const void *loop, const void *copy, const void *item) {
  int64_t t = SAMPLE_START + (int64_t)step * SAMPLE_STEP, us = SAMPLE_US;
  sample_put(run, WF_EVENT_ZONE, "load", "", t, 100 * us);
  sample_put(run, WF_EVENT_WAIT, "loader", "load", t + 20 * us, 60 * us);
  run->event[run->n - 1].site = loop;
  sample_put(run, WF_EVENT_ZONE, "load", "", t + 10 * us, 400 * us);
  run->event[run->n - 1].thread = 2;
  sample_on_device(run, WF_EVENT_STAGE, "h2d", "copy", 1, t + 410 * us, 20 * us);
  run->event[run->n - 1].thread = 2;
  sample_move(run, SAMPLE_BATCH_BYTES, false, copy);
  sample_on_device(run, WF_EVENT_H2D, "h2d", "copy", 1, t + 430 * us, 40 * us);
  sample_move(run, SAMPLE_BATCH_BYTES, false, copy);
  sample_put(run, WF_EVENT_ZONE, "forward", "", t + 100 * us, 200 * us);
  for (int i = 0; i < 4; i++) {
    sample_on_device(run, WF_EVENT_KERNEL, i < 2 ? "conv2d" : "linear", "forward", 0, t + (100 + 55 * i) * us, 50 * us);
    run->event[run->n - 1].module = i < 2 ? "net.conv1" : "net.fc</script>";
  }
  if (step < 3) {
    sample_on_device(run, WF_EVENT_COPY, "contiguous", "forward", 0, t + 330 * us, 10 * us);
    sample_move(run, 4096, true, loop);
    run->event[run->n - 1].module = "net.flatten";
  }
  sample_put(run, WF_EVENT_ZONE, "backward", "", t + 300 * us, 300 * us);
  sample_memory(run, WF_EVENT_ALLOC, t + 310 * us, (9 + step % 3) * SAMPLE_MIB);
  for (int i = 0; i < 4; i++)
    sample_on_device(run, WF_EVENT_KERNEL, "conv2d_backward", "backward", 0, t + (350 + 80 * i) * us, 75 * us);
  sample_memory(run, WF_EVENT_FREE, t + 590 * us, 8 * SAMPLE_MIB);
  sample_put(run, WF_EVENT_ZONE, "optimizer", "", t + 600 * us, 100 * us);
  sample_on_device(run, WF_EVENT_KERNEL, "adamw", "optimizer", 0, t + 680 * us, 100 * us);
  sample_put(run, WF_EVENT_WAIT, "item", "", t + 700 * us, 300 * us);
  run->event[run->n - 1].site = item;
}

static int sample_compare(const void *a, const void *b) {
  const wf_trace_event *x = a, *y = b;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* The ledger's rows of the events: one each, which a report merges. */
static wf_ledger_row *sample_rows(const sample_run *run) {
  wf_ledger_row *rows = calloc(run->n, sizeof *rows);
  for (size_t i = 0; i < run->n; i++) {
    const wf_trace_event *e = &run->event[i];
    rows[i] = (wf_ledger_row){e->kind,
                              e->implicit,
                              e->device,
                              e->op,
                              e->module,
                              e->zone,
                              e->site,
                              1,
                              e->bytes_read,
                              e->bytes_written,
                              e->end_ns - e->start_ns};
  }
  return rows;
}

static sample_run sample_events(int steps) {
  sample_run run = {calloc((size_t)steps * SAMPLE_PER_STEP, sizeof *run.event), 0};
  const void *loop = sample_site();
  const void *copy = sample_site();
  const void *item = sample_site();
  for (int i = 0; i < steps; i++) sample_step(&run, i, loop, copy, item);
  qsort(run.event, run.n, sizeof *run.event, sample_compare);
  return run;
}

/* A report of `steps` steps, NULL when memory was out. */
static wf_report *sample_report(int steps, bool with_events) {
  sample_run run = sample_events(steps);
  wf_ledger_row *rows = sample_rows(&run);
  wf_report *r = wf_report_new("weft train");
  wf_allocator_stats device = {0}, pinned = {0};
  device.allocated_bytes[0].peak = 11 * SAMPLE_MIB;
  device.reserved_bytes[0].peak = 20 * SAMPLE_MIB;
  pinned.allocated_bytes[0].peak = 4 * SAMPLE_MIB;
  pinned.reserved_bytes[0].peak = 4 * SAMPLE_MIB;
  bool fine = r && !wf_report_fact(r, "model", "cnn") && !wf_report_fact(r, "device", "sim:0") &&
              !wf_report_fact(r, "pipeline", "prefetch") &&
              !wf_report_number(r, "test_accuracy", 0.8941, WF_REPORT_SHARE) &&
              !wf_report_number(r, "images_per_s", 128000, WF_REPORT_NUMBER) &&
              !wf_report_number(r, "implicit_copies", 0, WF_REPORT_COUNT) &&
              !wf_report_number(r, "peak_rss_bytes", 200e6, WF_REPORT_BYTES) &&
              !wf_report_memory(r, wf_sim(0), true, &pinned) && !wf_report_memory(r, wf_sim(0), false, &device) &&
              !wf_report_span(r, SAMPLE_START, SAMPLE_START + (int64_t)steps * SAMPLE_STEP) &&
              !wf_report_add_ledger(r, rows, run.n) && (!with_events || !wf_report_add_events(r, run.event, run.n));
  for (int i = 0; fine && i < steps; i++) fine = !wf_report_metric(r, "loss", i, 2.3 / (1 + 0.1 * i));
  free(rows);
  free(run.event);
  if (fine) return r;
  wf_report_free(r);
  return NULL;
}

#endif
