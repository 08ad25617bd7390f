/* Tensors in words, for error texts and hints. */
#include <stdio.h>
#include <string.h>
#include "tensor/tensor.h"

static const char *const scalar_types[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "Undefined",
#define WF_X(NAME, value, bytes, kind, brief, name, scalar_type, ...) [value] = scalar_type,
                                                         WF_DTYPE_TABLE(WF_X)
#undef WF_X
};
static const char *const cpp_types[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "nullptr (uninitialized)",
#define WF_X(NAME, value, bytes, kind, brief, name, scalar_type, cpp_type, ...) [value] = cpp_type,
                                                      WF_DTYPE_TABLE(WF_X)
#undef WF_X
};
static const char *const brief_names[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "none",
#define WF_X(NAME, value, bytes, kind, brief, ...) [value] = brief,
                                                        WF_DTYPE_TABLE(WF_X)
#undef WF_X
};
static const char *const tensor_types[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "UndefinedType",
#define WF_X(NAME, value, bytes, kind, brief, name, scalar_type, cpp_type, tensor_type) [value] = tensor_type,
                                                         WF_DTYPE_TABLE(WF_X)
#undef WF_X
};

const char *wf__scalar_type_text(wf_dtype dtype) { return scalar_types[dtype]; }
const char *wf__cpp_type_text(wf_dtype dtype) { return cpp_types[dtype]; }
const char *wf__type_text(const wf_tensor *t) { return tensor_types[t->dtype]; }

/* "[4,7,64]": as wf__dims_text, but without spaces. */
static char *compact(wf_dims d, char buffer[WF__DIMS_TEXT]) {
  char *to = wf__dims_text(d, buffer);
  for (const char *from = buffer; *from; from++)
    if (*from != ' ') *to++ = *from;
  *to = 0;
  return buffer;
}

char *wf__describe(const wf_tensor *t, char buffer[WF__DESC_TEXT]) {
  char sizes[WF__DIMS_TEXT], strides[WF__DIMS_TEXT], device[32];
  if (!t) {
    snprintf(buffer, WF__DESC_TEXT, "none");
    return buffer;
  }
  const wf__layout *l = &t->layout;
  bool plain = wf__is_contiguous(l, WF_FORMAT_CONTIGUOUS);
  snprintf(buffer, WF__DESC_TEXT, "%s%.240s%s%.200s %s", brief_names[t->dtype], compact(wf__layout_sizes(l), sizes),
           plain ? "" : " strides ", plain ? "" : compact(wf__layout_strides(l), strides),
           wf_device_name(t->storage->device->id, device, sizeof device));
  return buffer;
}

void wf__operand_of(const wf_tensor *t, wf_operand *operand) {
  int64_t itemsize = (int64_t)wf__itemsize(t);
  operand->data = wf__data(t);
  operand->dtype = (wf_dtype)t->dtype;
  memset(operand->stride, 0, sizeof operand->stride);
  for (int d = 0; d < t->layout.ndim; d++) operand->stride[d] = t->layout.stride[d] * itemsize;
}

wf_status wf__check_same_device(const wf_tensor *const *tensors, int n) {
  const wf__device *common = NULL;
  for (int i = 0; i < n; i++) {
    if (!tensors[i]) continue;
    const wf__device *device = wf__device_of(tensors[i]);
    if (!common) common = device;
    if (device == common) continue;
    char a[32], b[32];
    return wf__fail(WF_RUNTIME,
                    "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                    wf_device_name(common->id, a, sizeof a), wf_device_name(device->id, b, sizeof b));
  }
  return WF_OK;
}
