/* Tensors from host memory: by a copy of an array, or over memory that somebody else owns. */
#include "tensor/tensor.h"
#include "trace/trace.h"

static wf_status check_dtype(wf_dtype dtype) {
  WF__CHECK(wf_dtype_size(dtype) > 0, WF_TYPE, "a dtype must be given, but got %s", wf_dtype_name(dtype));
  return WF_OK;
}

wf_tensor *wf_from_data(const void *data, wf_dims size, wf_dtype dtype) {
  WF__OP("from_data", NULL);
  WF__TRY_OR(check_dtype(dtype), NULL);
  wf__device *cpu = wf__device_get(wf_cpu());
  wf_tensor *t = cpu ? wf__tensor_empty_sized(cpu, dtype, size) : NULL;
  if (!t) return NULL;
  if (t->storage->nbytes && data) {
    wf_transfer move = {.direction = WF_DEVICE_TO_DEVICE, .dst = wf__data(t), .src = data, .bytes = t->storage->nbytes};
    move.tag.kind = WF_EVENT_COPY;
    wf__transfer(cpu, &move, true);
  } else if (t->storage->nbytes) {
    wf__fail(WF_VALUE, "from_data: no data given for %lld elements", (long long)t->layout.numel);
  }
  return wf__give(t);
}

static wf_status foreign_layout(void *data, size_t nbytes, wf_dims size, wf_dims stride, wf_dtype dtype,
                                wf__layout *layout) {
  char sizes[WF__DIMS_TEXT], strides[WF__DIMS_TEXT];
  size_t itemsize = wf_dtype_size(dtype), needed;
  WF__TRY(check_dtype(dtype));
  WF__TRY(wf__layout_contiguous(layout, size, itemsize));
  WF__TRY(wf__list_check(stride));
  if (stride.n || !size.n) {
    for (int i = 0; i < stride.n; i++)
      WF__CHECK(stride.at[i] >= 0, WF_RUNTIME,
                "as_strided: Negative strides are not supported at the moment, got strides: %s",
                wf__dims_text(stride, strides));
    WF__TRY(wf__layout_strided(layout, size, stride, 0));
  }
  WF__TRY(wf__layout_nbytes(layout, itemsize, &needed));
  WF__CHECK(
      needed <= nbytes, WF_RUNTIME,
      "setStorage: sizes %s, strides %s, storage offset 0, and itemsize %zu requiring a storage size of %zu are out of bounds for "
      "storage of size %zu",
      wf__dims_text(size, sizes), wf__dims_text(wf__layout_strides(layout), strides), itemsize, needed, nbytes);
  WF__CHECK(data || !needed, WF_VALUE, "from_memory: no memory given for %lld elements", (long long)layout->numel);
  WF__CHECK((uintptr_t)data % itemsize == 0, WF_VALUE, "from_memory: %p isn't aligned to elements of %zu bytes", data,
            itemsize);
  return WF_OK;
}

wf_tensor *wf_from_memory(void *data, size_t nbytes, wf_dims size, wf_dims stride, wf_dtype dtype,
                          void (*deleter)(void *data, void *context), void *context) {
  WF__OP("from_memory", NULL);
  wf__layout layout;
  WF__TRY_OR(foreign_layout(data, nbytes, size, stride, dtype, &layout), NULL);
  wf__storage *storage = wf__storage_foreign(data, nbytes, NULL, NULL);
  wf_tensor *t = wf__give(wf__tensor_wrap(storage, dtype, &layout));
  if (t) { /* only now: a call that fails leaves the memory to its owner */
    storage->deleter = deleter;
    storage->context = context;
  }
  return t;
}
