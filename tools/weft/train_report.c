/* What weft train says at the end. */
#include <stdio.h>

#include "train.h"

static void add_facts(train_run *run) {
  const train_options *o = run->options;
  static const char *const pipelines[] = {"plain", "pinned", "async", "prefetch"};
  char text[64];
  wf_report_fact(run->report, "data", o->data_dir ? o->data_dir : "fashion-mnist");
  wf_report_fact(run->report, "model", "cnn");
  wf_report_fact(run->report, "device", wf_device_name(o->device, text, sizeof text));
  wf_report_fact(run->report, "pipeline", pipelines[o->pipeline]);
  wf_report_fact(run->report, "optimizer", o->adamw ? "adamw" : "sgd");
  snprintf(text, sizeof text, "%g", o->lr);
  wf_report_fact(run->report, "lr", text);
  wf_report_fact(run->report, "schedule", o->linear ? "linear" : "constant");
  const struct {
    const char *name;
    int64_t value;
  } counts[] = {{"epochs", o->epochs},
                {"batch", o->batch},
                {"workers", o->workers},
                {"threads", wf_num_threads()},
                {"seed", o->seed}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    snprintf(text, sizeof text, "%lld", (long long)counts[i].value);
    wf_report_fact(run->report, counts[i].name, text);
  }
  if (run->interrupted) wf_report_fact(run->report, "interrupted", "yes");
}

static void add_numbers(train_run *run) {
  double seconds = (double)(run->end_ns - run->start_ns) / 1e9;
  if (run->test_accuracy >= 0) {
    wf_report_number(run->report, "test_accuracy", run->test_accuracy, WF_REPORT_SHARE);
    wf_report_number(run->report, "test_loss", run->test_loss, WF_REPORT_NUMBER);
  }
  wf_report_number(run->report, "images_per_s", seconds > 0 ? (double)run->images / seconds : 0, WF_REPORT_NUMBER);
  wf_report_number(run->report, "train_seconds", seconds, WF_REPORT_SECONDS);
  wf_report_number(run->report, "train_images", (double)run->images, WF_REPORT_COUNT);
  if (run->batches) wf_report_number(run->report, "train_loss", run->loss, WF_REPORT_NUMBER);
  wf_report_number(run->report, "implicit_copies", (double)run->implicit_copies, WF_REPORT_COUNT);
  wf_report_number(run->report, "peak_rss_bytes", (double)peak_rss_bytes(), WF_REPORT_BYTES);
}

static void add_memory(train_run *run, bool pinned) {
  wf_allocator_stats stats;
  if (!wf_memory_stats(run->options->device, pinned, &stats))
    wf_report_memory(run->report, run->options->device, pinned, &stats);
}

static wf_status print(train_run *run) {
  char *text = run->options->json ? wf_report_json(run->report, 2) : wf_report_text(run->report);
  if (!text) return wf_error_peek().status;
  fputs(text, stdout);
  if (run->options->json) putchar('\n');
  fflush(stdout);
  wf_report_release(text);
  return WF_OK;
}

wf_status train_report(train_run *run) {
  const train_options *o = run->options;
  wf_report_collect(run->report);
  add_facts(run);
  add_numbers(run);
  add_memory(run, false);
  if (o->device.type != WF_DEVICE_CPU) add_memory(run, true);
  wf_status status = print(run);
  if (!status && o->report_path) status = wf_report_write_html(run->report, o->report_path);
  if (!status && o->trace_path) status = wf_report_write_trace(run->report, o->trace_path);
  return status;
}
