/* The one door through which work reaches a device: plans, transfers, and the host's waits. Everything that touches data passes here,
 * so this is where it gets its tag. Off-tracing a launch costs two loads and a branch over the backend's own. */
#include "device/device.h"
#include "trace/trace.h"

/* Fills what the caller left open. Operator and site are kept without tracing as well: a fault that surfaces later names them. */
static void stamp(wf_tag *tag, wf_event_kind kind) {
  if (!tag->kind) tag->kind = (uint16_t)kind;
  const wf__frame *frame = wf__self.frame;
  if (frame && !tag->op) tag->op = frame->op;
  if (frame && !tag->site) tag->site = frame->site;
  if (!tag->module) tag->module = wf__self.module;
  tag->zone = wf__self.zone; /* of the moment: a node's tag may come from another stage */
}

/* Runs the plan with scratch memory as the operand behind its own. The memory goes back at once: the next user is on this stream. */
static wf_status launch_with_workspace(wf__device *device, wf_stream *stream, wf_plan *plan, size_t bytes) {
  WF__CHECK(plan->operands < WF_PLAN_OPERANDS, WF_RUNTIME, "no operand left for %zu bytes of workspace", bytes);
  wf__memory scratch;
  WF__TRY(wf__memory_new(device, false, bytes, stream, &scratch));
  wf__memory_set_owner(&scratch, "workspace");
  wf_operand *last = &plan->operand[plan->operands];
  *last = (wf_operand){.data = scratch.address, .dtype = WF_U8};
  wf_status status = device->backend->launch(device->state, stream->state, plan);
  *last = (wf_operand){0};
  wf__memory_free(&scratch);
  return status;
}

wf_status wf__launch(wf__device *device, wf_plan *plan) {
  const wf_backend *backend = device->backend;
  wf_stream *stream = wf__stream_now(device);
  stamp(&plan->tag, WF_EVENT_KERNEL);
  plan->tag.device = device->id;
  plan->tag.stream = stream->id;
  size_t bytes = backend->workspace ? backend->workspace(device->state, plan) : 0;
  if (WF__UNLIKELY(bytes)) return launch_with_workspace(device, stream, plan, bytes);
  return backend->launch(device->state, stream->state, plan);
}

wf_status wf__transfer(wf__device *device, wf_transfer *transfer, bool blocking) {
  static const wf_event_kind kinds[] = {
      [WF_HOST_TO_DEVICE] = WF_EVENT_H2D, [WF_DEVICE_TO_HOST] = WF_EVENT_D2H, [WF_DEVICE_TO_DEVICE] = WF_EVENT_D2D};
  const wf_backend *backend = device->backend;
  wf_stream *stream = wf__stream_now(device);
  stamp(&transfer->tag, kinds[transfer->direction]);
  transfer->tag.bytes_read = transfer->tag.bytes_written = (int64_t)transfer->bytes;
  if (!transfer->bytes) return WF_OK;
  WF__TRY(backend->transfer(device->state, stream->state, transfer));
  bool complete = transfer->direction == WF_DEVICE_TO_HOST && !transfer->host_pinned; /* a backend returns when it is */
  if (!blocking || complete || !backend->asynchronous) return WF_OK;
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  wf_status status = backend->stream_sync(device->state, stream->state);
  wf__trace_wait("blocking transfer", device->id, start);
  return status;
}

wf_status wf__device_wait(wf__device *device, const char *what) {
  int64_t start = wf__tracing() ? wf_clock_ns() : 0;
  wf_status status = device->backend->device_sync(device->state);
  if (device->backend->asynchronous) wf__trace_wait(what, device->id, start);
  return status;
}

wf_status wf_device_sync(wf_device device) {
  WF__ENTER("device_sync");
  wf__device *d = wf__device_get(device);
  return d ? wf__device_wait(d, "wf_device_sync") : wf__self.pending;
}
