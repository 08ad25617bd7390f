/* Two streams and their events: batches travel to the device on a stream of their own while the batch before is still being summed up.
 * Host memory is pinned, so that nobody waits for a transfer but the work that needs it. docs/devices.md explains what is used here. */
#include <stdio.h>
#include <weft/weft.h>

#define BATCHES 6
#define SLOTS 2
#define ELEMENTS 100000

/* A batch on its way: its memory on both sides, and the two points that order its reuse. */
typedef struct slot {
  wf_tensor *host, *device;
  wf_event *arrived, *consumed;
} slot;

static slot slot_new(wf_device device) {
  wf_tensor_options pinned = wf_tensor_defaults(), there = wf_tensor_defaults();
  pinned.pinned = true;
  there.device = device;
  return (slot){.host = wf_empty(WF_SHAPE(ELEMENTS), &pinned),
                .device = wf_empty(WF_SHAPE(ELEMENTS), &there),
                .arrived = wf_event_new(device, false),
                .consumed = wf_event_new(device, false)};
}

static void slot_free(slot *s) {
  wf_free(s->host);
  wf_free(s->device);
  wf_event_free(s->arrived);
  wf_event_free(s->consumed);
}

/* The data of batch i: ELEMENTS times the number i. */
static void load(slot *s, int i) {
  wf_event_sync(s->arrived); /* the batch that was here before has left; never recorded: no wait */
  wf_fill_(s->host, wf_float(i));
}

/* Queues the transfer on `copies` and the sum on the current stream; returns before either has happened. */
static wf_tensor *queue(slot *s, wf_stream *copies) {
  wf_stream *compute = wf_stream_set(copies);
  wf_stream_wait(copies, s->consumed); /* the sum that read this memory */
  wf_copy_(s->device, s->host, true);
  wf_event_record(s->arrived, copies);
  wf_stream_set(compute);
  wf_stream_wait(compute, s->arrived);
  wf_tensor *sum = wf_sum(s->device);
  wf_event_record(s->consumed, compute);
  return sum;
}

int main(void) {
  wf_device device = wf_sim(0);
  wf_stream *copies = wf_stream_new(device, 0);
  slot slots[SLOTS];
  for (int k = 0; k < SLOTS; k++) slots[k] = slot_new(device);

  wf_tensor *sums[BATCHES];
  for (int i = 0; i < BATCHES; i++) {
    load(&slots[i % SLOTS], i);
    sums[i] = queue(&slots[i % SLOTS], copies);
  }
  for (int i = 0; i < BATCHES; i++)
    printf("batch %d: sum %.0f\n", i, wf_item_double(sums[i])); /* reading a number waits for it */

  for (int i = 0; i < BATCHES; i++) wf_free(sums[i]);
  for (int k = 0; k < SLOTS; k++) {
    wf_record_stream(slots[k].device,
                     copies); /* made on the other stream: whoever gets the memory next waits for this one too */
    slot_free(&slots[k]);
  }
  wf_stream_free(copies);

  wf_status status = wf_device_sync(device); /* a fault on the device would surface here at the latest */
  wf_error e = wf_error_take();
  if (e.status) fprintf(stderr, "%s\n%s\n", e.text, e.hint);
  return status == WF_OK ? 0 : 1;
}
