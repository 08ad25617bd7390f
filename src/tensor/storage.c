/* Storages: bytes on a device with a count of the tensors that show them. A storage keeps its identity when it grows, so that every view
 * sees the new memory. */
#include "tensor/free_list.h"
#include "tensor/tensor.h"
#include "trace/trace.h"

/* Pinned host memory belongs to the accelerator that copies from it. */
static wf_status take_memory(wf__device *device, bool pinned, size_t nbytes, wf__memory *memory) {
  wf__device *source = WF__LIKELY(!pinned) ? device : wf__device_accelerator();
  if (!source) return wf__self.pending;
  return wf__memory_new(source, pinned, nbytes, NULL, memory);
}

static void begin(wf__storage *s) {
  atomic_init(&s->refs, 1);
  atomic_init(&s->version.refs, 1);
  atomic_init(&s->version.value, 0);
  atomic_init(&s->version.changed_by, NULL);
  atomic_init(&s->version.function, NULL);
  s->version.home = s;
}

wf__storage *wf__storage_new(wf__device *device, size_t nbytes, bool pinned) {
  wf__storage *s = wf__object_take(WF__OBJECT_STORAGE);
  if (!s) return NULL;
  s->resizable = true;
  s->pinned = pinned;
  s->nbytes = nbytes;
  s->device = device;
  s->deleter = NULL;
  begin(s);
  s->made_by = wf__self.frame ? wf__self.frame->op : NULL;
  if (take_memory(device, pinned, nbytes, &s->memory)) {
    wf__object_give(WF__OBJECT_STORAGE, s);
    return NULL;
  }
  return s;
}

wf__storage *wf__storage_foreign(void *data, size_t nbytes, void (*deleter)(void *data, void *context), void *context) {
  wf__device *cpu = wf__device_get(wf_cpu());
  wf__storage *s = cpu ? wf__object_take(WF__OBJECT_STORAGE) : NULL;
  if (!s) return NULL;
  *s = (wf__storage){.nbytes = nbytes, .device = cpu, .memory.address = data, .deleter = deleter, .context = context};
  begin(s);
  return s;
}

void wf__storage_release(wf__storage *s) {
  if (!s || !wf__count_down(&s->refs, 1)) return;
  if (s->deleter) {
    s->deleter(s->memory.address, s->context);
  } else {
    wf__memory_free(&s->memory);
  }
  if (wf__count_down(&s->version.refs, 1)) wf__object_give(WF__OBJECT_STORAGE, s);
}

wf_status wf__storage_grow(wf__storage *s, size_t nbytes) {
  if (nbytes <= s->nbytes) return WF_OK;
  WF__CHECK(s->resizable, WF_RUNTIME, "Trying to resize storage that is not resizable");
  wf__memory grown;
  WF__TRY(take_memory(s->device, s->pinned, nbytes, &grown));
  wf_transfer move = {
      .direction = WF_DEVICE_TO_DEVICE, .dst = grown.address, .src = s->memory.address, .bytes = s->nbytes};
  move.tag.kind = WF_EVENT_COPY;
  wf_status status = s->pinned ? wf__device_wait(wf__device_accelerator(), "resize of pinned memory") : WF_OK;
  if (!status && s->nbytes) status = wf__transfer(s->device, &move, false);
  if (status) {
    wf__memory_free(&grown);
    return status;
  }
  wf__memory_free(&s->memory); /* ordered behind the move on the same stream */
  s->memory = grown;
  s->nbytes = nbytes;
  return WF_OK;
}

wf_status wf_record_stream(wf_tensor *tensor, wf_stream *stream) {
  WF__OP("record_stream", wf__self.pending);
  WF__CHECK(tensor && stream, WF_VALUE, "record_stream: tensor and stream must be given");
  return wf__memory_record_stream(&tensor->storage->memory, stream);
}
