/* Checked access of the host to a tensor's memory. */
#include "tensor/tensor.h"

#define MOST_MAPS 250

/* What an empty storage is mapped to: the pointer isn't NULL, and nothing may be read from it. */
static max_align_t nothing;

/* Waits for whatever still uses the storage: work of its device and, for pinned memory, transfers of the accelerator that it serves. */
static wf_status wait_for_storage(const wf__storage *s) {
  wf__device *user = s->pinned ? wf__device_accelerator() : s->device;
  return user && user->backend->asynchronous ? wf__device_wait(user, "tensor_map") : WF_OK;
}

void *wf_tensor_map(wf_tensor *t, wf_access access) {
  WF__OP("tensor_map", NULL);
  char name[32], description[WF__DESC_TEXT];
  WF__TRY_OR(t ? WF_OK : wf__fail(WF_VALUE, "tensor_map: no tensor"), NULL);
  const wf__device *device = wf__device_of(t);
  if (!device->backend->host_access) {
    wf__fail(WF_RUNTIME, "can't map a tensor on %s: the host can't touch its memory",
             wf_device_name(device->id, name, sizeof name));
    wf__hint("%s; copy it to cpu first, or use wf_to_host", wf__describe(t, description));
    return NULL;
  }
  if (access & WF_WRITE) WF__TRY_OR(wf__upward_calls.write_check(t), NULL);
  WF__TRY_OR(wait_for_storage(t->storage), NULL);
  if (__atomic_load_n(&t->maps, __ATOMIC_RELAXED) >= MOST_MAPS) {
    wf__fail(WF_RUNTIME, "tensor_map: %d accesses are open already; each needs a wf_tensor_unmap", MOST_MAPS);
    return NULL;
  }
  __atomic_fetch_add(&t->maps, 1, __ATOMIC_RELAXED);
  if (access & WF_WRITE) wf__bump(t);
  return t->storage->memory.address ? wf__data(t) : &nothing;
}

void wf_tensor_unmap(wf_tensor *t) {
  if (t && __atomic_load_n(&t->maps, __ATOMIC_RELAXED)) __atomic_fetch_sub(&t->maps, 1, __ATOMIC_RELAXED);
}
