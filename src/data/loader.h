/* The loader's parts: slots that batches pass through, the workers that fill them, and the device side of a slot.
 *
 * A slot goes FREE → QUEUED → LOADING → READY (or FAILED) → FREE. Slots are filled in the order of their batch numbers and handed out in
 * that order, so results never depend on which worker was quick. All states change under `lock`; a slot's tensors belong to whoever
 * moved it last: its worker while LOADING, the consumer otherwise. */
#ifndef WF_DATA_LOADER_H
#define WF_DATA_LOADER_H

#include <pthread.h>
#include "data/dataset.h"
#include "tensor/tensor.h"

#define WF__LOADER_SLOTS 18

typedef enum wf__slot_state {
  WF__SLOT_FREE,
  WF__SLOT_QUEUED,
  WF__SLOT_LOADING,
  WF__SLOT_READY,
  WF__SLOT_FAILED
} wf__slot_state;

typedef struct wf__slot {
  wf__slot_state state;
  int64_t batch, size;
  wf_tensor *host[WF_SAMPLE_FIELDS];   /* whole batches; shown narrowed when the batch is smaller */
  wf_tensor *device[WF_SAMPLE_FIELDS]; /* on cpu: the host's */
  wf_tensor *shown[WF_SAMPLE_FIELDS];  /* what the consumer has: the above, or a narrow of it */
  wf_event *started, *copied;          /* around the transfer */
  wf_event *consumed;                  /* behind the work on the batch */
  int worker;
  int64_t blocked_ns; /* how long its worker waited for the device before loading */
  wf_status failure;
  char text[512];
} wf__slot;

struct wf_loader {
  wf_dataset *dataset;
  wf_loader_options options;
  wf__device *device;
  wf_stream *copy_stream; /* prefetch on an asynchronous device */
  bool on_device, ahead_of_time;
  int64_t *order;           /* of this epoch */
  int64_t samples, batches; /* of an epoch, drop_last considered */

  pthread_mutex_t lock;
  pthread_cond_t work, done; /* a slot was queued; a slot became READY or FAILED, or a worker ended */
  bool stopping;
  int threads, running;
  pthread_t thread[64];
  int64_t next_queued, next_out;
  wf__slot slot[WF__LOADER_SLOTS];
  wf__slot *current; /* handed out last */
  const void *site;  /* the consumer's last call: what workers start is its doing */

  int ahead, last_slot; /* batches loaded ahead; the slot queued last */
  int64_t last_return_ns;
  int64_t load_ns, copy_ns, compute_ns, wait_ns; /* sums of the epoch */
  int64_t loaded, copies, returned, intervals;
};

/* Fills the slot's host tensors with its batch and, when batches are moved ahead, queues their transfer. Sets READY or FAILED fields but
 * not the state. Any thread; not under the lock. */
void wf__slot_load(wf_loader *l, wf__slot *s, int worker);
/* Moves a loaded batch to the device in the way of the pipeline and fills shown[]. The consumer's thread. */
wf_status wf__slot_show(wf_loader *l, wf__slot *s);
/* The consumer is done with the batch: later writes wait for the work queued on it so far. */
void wf__slot_retire(wf_loader *l, wf__slot *s);
void wf__slot_free(wf_loader *l, wf__slot *s);
/* Loads a queued slot, counts the time, and says READY or FAILED. Called and returns with the lock held; worker -1: the consumer. */
void wf__slot_fill(wf_loader *l, wf__slot *s, int worker);
wf_status wf__workers_start(wf_loader *l);
/* Asks the workers to end and waits for them; after 10 s leaves those behind that are stuck in a fetch. Returns how many were. */
int wf__workers_stop(wf_loader *l);

#endif
