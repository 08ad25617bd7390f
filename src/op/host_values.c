/* Elements for the host: whole tensors and single numbers. Both wait for the work that makes them. */
#include <string.h>

#include "base/convert.h"
#include "base/host.h"
#include "copy/copy.h"
#include "tensor/tensor.h"

/* Copies to host memory that is aligned to elements. */
static wf_status copy_out(const wf_tensor *t, void *data, size_t nbytes) {
  wf__layout layout;
  WF__TRY(wf__layout_contiguous(&layout, wf_sizes(t), wf__itemsize(t)));
  wf__storage *memory = wf__storage_foreign(data, nbytes, NULL, NULL);
  wf_tensor *host = memory ? wf__tensor_wrap(memory, (wf_dtype)t->dtype, &layout) : NULL;
  if (!host) return wf__self.pending;
  wf__self.asked++;
  wf_status status = wf__copy(host, t, false, false);
  wf__self.asked--;
  wf__tensor_release(host);
  return status;
}

wf_status wf_to_host(const wf_tensor *t, void *data, size_t nbytes) {
  WF__OP("to_host", wf__self.pending);
  WF__CHECK(t, WF_VALUE, "to_host: no tensor");
  size_t needed = (size_t)t->layout.numel * wf__itemsize(t);
  WF__CHECK(nbytes == needed, WF_VALUE, "to_host: %zu bytes are given for a tensor of %zu", nbytes, needed);
  if (!needed) return WF_OK;
  WF__CHECK(data, WF_VALUE, "to_host: no memory given for %zu bytes", needed);
  if ((uintptr_t)data % wf__itemsize(t) == 0) return copy_out(t, data, nbytes);
  void *aligned = wf__malloc(nbytes);
  if (!aligned) return wf__self.pending;
  wf_status status = copy_out(t, aligned, nbytes);
  if (!status) memcpy(data, aligned, nbytes);
  wf__release(aligned);
  return status;
}

wf_scalar wf_item(const wf_tensor *t) {
  WF__OP("item", wf_no_scalar());
  if (!t || t->layout.numel != 1) {
    wf__fail(WF_RUNTIME, "a Tensor with %lld elements cannot be converted to Scalar", (long long)wf_numel(t));
    return wf_no_scalar();
  }
  int64_t element = 0; /* room for one of any dtype, aligned */
  WF__TRY_OR(copy_out(t, &element, wf__itemsize(t)), wf_no_scalar());
  return wf__scalar_load((wf_dtype)t->dtype, &element);
}

double wf_item_double(const wf_tensor *t) {
  WF__OP("item", 0);
  return wf__scalar_double(wf_item(t));
}
