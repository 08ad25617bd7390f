/* One batch on its way: host memory, device memory, the transfer between them.
 *
 * Memory is reused from batch to batch as long as nobody else holds it; a tensor that was retained, viewed or saved for backward is left
 * to its new owners and replaced. Two events order the reuse: `copied` guards the host side, `consumed` the device side. */
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "copy/copy.h"
#include "data/loader.h"
#include "trace/trace.h"

static void drop(wf_tensor **t) {
  wf__tensor_release(*t);
  *t = NULL;
}

static bool shared(const wf_tensor *t) {
  return atomic_load(&((wf_tensor *)t)->refs) > 1 || atomic_load(&t->storage->refs) > 1;
}

static wf_tensor *whole_batch(const wf_loader *l, int field, wf__device *device, bool pinned) {
  const wf_field *f = &l->dataset->field[field];
  int64_t size[WF_MAX_DIMS] = {l->options.batch_size};
  memcpy(size + 1, f->size, (size_t)f->ndim * sizeof *size);
  wf__layout layout;
  size_t nbytes;
  WF__TRY_OR(wf__layout_contiguous(&layout, wf_dims_of(size, f->ndim + 1), wf_dtype_size(f->dtype)), NULL);
  WF__TRY_OR(wf__layout_nbytes(&layout, wf_dtype_size(f->dtype), &nbytes), NULL);
  wf__storage *storage = wf__storage_new(device, nbytes, pinned);
  return storage ? wf__tensor_wrap(storage, f->dtype, &layout) : NULL;
}

/* The first n samples of a whole batch: itself when it is full. */
static wf_tensor *first_samples(wf_tensor *whole, int64_t n) {
  if (whole->layout.size[0] == n) {
    atomic_fetch_add(&whole->refs, 1);
    return whole;
  }
  wf__layout part = whole->layout;
  part.numel = part.size[0] ? part.numel / part.size[0] * n : 0;
  part.size[0] = n;
  return wf__tensor_alias(whole, (wf_dtype)whole->dtype, &part);
}

/* ---- host side ------------------------------------------------------------------------------------------------------------- */

static wf_status prepare_host(wf_loader *l, wf__slot *s) {
  bool pinned = l->on_device && l->options.pipeline != WF_PIPELINE_PLAIN;
  for (int i = 0; i < l->dataset->fields; i++) {
    if (s->host[i] && shared(s->host[i])) drop(&s->host[i]);
    if (s->host[i]) continue;
    s->host[i] = whole_batch(l, i, wf__device_get(wf_cpu()), pinned);
    if (!s->host[i]) return wf__self.pending;
  }
  return WF_OK;
}

static wf_status fetch_samples(wf_loader *l, wf__slot *s) {
  const wf_dataset *d = l->dataset;
  for (int64_t i = 0; i < s->size; i++) {
    if (__atomic_load_n(&l->stopping, __ATOMIC_RELAXED)) return wf__fail(WF_CANCELLED, "the loader was stopped");
    void *field[WF_SAMPLE_FIELDS];
    for (int f = 0; f < d->fields; f++) field[f] = (char *)wf__data(s->host[f]) + (size_t)i * d->field_bytes[f];
    int64_t index = l->order[s->batch * l->options.batch_size + i];
    WF__TRY(wf_dataset_fetch(l->dataset, index, field));
  }
  return WF_OK;
}

/* ---- device side ------------------------------------------------------------------------------------------------------------ */

static wf_status prepare_device(wf_loader *l, wf__slot *s) {
  for (int i = 0; i < l->dataset->fields; i++) {
    if (s->device[i] && shared(s->device[i])) drop(&s->device[i]);
    if (!s->device[i]) s->device[i] = whole_batch(l, i, l->device, false);
    if (!s->device[i]) return wf__self.pending;
  }
  return WF_OK;
}

static wf_status queue_transfer(wf_loader *l, wf__slot *s, bool non_blocking) {
  WF__TRY(prepare_device(l, s));
  wf_stream *stream = wf__stream_now(l->device);
  if (s->consumed) WF__TRY(wf_stream_wait(stream, s->consumed));
  if (s->started) WF__TRY(wf_event_record(s->started, stream));
  wf__self.asked++;
  wf_status status = WF_OK;
  for (int i = 0; i < l->dataset->fields && !status; i++) {
    wf_tensor *to = first_samples(s->device[i], s->size), *from = first_samples(s->host[i], s->size);
    status = to && from ? wf__copy(to, from, non_blocking, false) : wf__self.pending;
    wf__tensor_release(to);
    wf__tensor_release(from);
  }
  wf__self.asked--;
  WF__TRY(status);
  return s->copied ? wf_event_record(s->copied, stream) : WF_OK;
}

/* Queues the transfer on this thread's current stream and marks its end. A stage of its own, whoever does it. */
static wf_status transfer(wf_loader *l, wf__slot *s, bool non_blocking) {
  wf_zone_begin("copy");
  wf_status status = queue_transfer(l, s, non_blocking);
  wf_zone_end();
  return status;
}

static wf_status make_events(wf_loader *l, wf__slot *s) {
  if (!l->on_device || s->copied) return WF_OK;
  if (!s->started && !(s->started = wf_event_new(l->options.device, true))) return wf__self.pending;
  if (!s->consumed && !(s->consumed = wf_event_new(l->options.device, false))) return wf__self.pending;
  s->copied = wf_event_new(l->options.device, true);
  return s->copied ? WF_OK : wf__self.pending;
}

static wf_status load(wf_loader *l, wf__slot *s) {
  WF__TRY(prepare_host(l, s));
  WF__TRY(fetch_samples(l, s));
  return l->on_device && l->ahead_of_time ? transfer(l, s, true) : WF_OK;
}

/* The batch before must have left the slot's host memory. When the host is far ahead, this is where it waits for the device, so it doesn't
 * count as loading. */
static wf_status wait_until_free(wf_loader *l, wf__slot *s) {
  WF__TRY(make_events(l, s));
  int64_t start = wf_clock_ns();
  wf_status status = s->copied ? wf_event_sync(s->copied) : WF_OK;
  s->blocked_ns = wf_clock_ns() - start;
  return status;
}

void wf__slot_load(wf_loader *l, wf__slot *s, int worker) {
  s->worker = worker;
  s->failure = WF_OK;
  wf_status status = wait_until_free(l, s);
  wf_zone_begin("load");
  if (status || load(l, s)) {
    wf_error e = wf_error_take();
    s->failure = e.status;
    snprintf(s->text, sizeof s->text, "%s", e.text);
  }
  wf_zone_end();
}

wf_status wf__slot_show(wf_loader *l, wf__slot *s) {
  wf_stream *stream = wf__stream_now(l->device);
  if (l->on_device && !l->ahead_of_time) {
    WF__TRY(transfer(l, s, l->options.pipeline == WF_PIPELINE_ASYNC));
  } else if (l->on_device) {
    WF__TRY(wf_stream_wait(stream, s->copied));
  }
  for (int i = 0; i < l->dataset->fields; i++) {
    wf_tensor *whole = l->on_device ? s->device[i] : s->host[i];
    if (l->on_device && l->ahead_of_time) WF__TRY(wf__memory_record_stream(&whole->storage->memory, stream));
    s->shown[i] = first_samples(whole, s->size);
    if (!s->shown[i]) return wf__self.pending;
  }
  return WF_OK;
}

void wf__slot_retire(wf_loader *l, wf__slot *s) {
  for (int i = 0; i < WF_SAMPLE_FIELDS; i++) drop(&s->shown[i]);
  if (!s->consumed) return;
  wf_status kept = wf__error_suspend();
  wf_event_record(s->consumed, wf__stream_now(l->device));
  if (kept) wf_error_take();
  wf__error_resume(kept);
}

void wf__slot_free(wf_loader *l, wf__slot *s) {
  (void)l;
  for (int i = 0; i < WF_SAMPLE_FIELDS; i++) {
    drop(&s->shown[i]);
    drop(&s->device[i]);
    drop(&s->host[i]);
  }
  wf_event_free(s->started);
  wf_event_free(s->copied);
  wf_event_free(s->consumed);
  s->started = s->copied = s->consumed = NULL;
}
