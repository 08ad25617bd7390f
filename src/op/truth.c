/* any, all, count_nonzero: reductions without derivatives. */
#include <weft/copy.h>
#include "op/reducing.h"

/* op: any or all. */
static wf_status truth(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, wf_dims dims,
                       bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__require_tensors(name, &self, 1));
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  wf_dtype d = (wf_dtype)self->dtype;
  *r = (wf__reduction){.op = op,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = d,
                       .result = d == WF_U8 ? WF_U8 : WF_BOOL,
                       .neutral = wf_bool(op == WF__RED_ALL)};
  return WF_OK;
}

static wf_tensor *truth_of(const char *name, uint8_t op, const wf_tensor *self, wf_dims dims, bool keepdim) {
  wf__reduction r;
  return truth(&r, name, op, self, dims, keepdim) ? NULL : wf__reduce(&r, NULL, WF__KEEP_NOTHING);
}

/* PyTorch takes bool and uint8 for the result, whatever self is. */
static wf_status truth_into(const char *name, uint8_t op, wf_tensor *dst, const wf_tensor *self, wf_dims dims,
                            bool keepdim) {
  wf__reduction r;
  WF__CHECK(!dst || dst->dtype == WF_BOOL || dst->dtype == WF_U8, WF_RUNTIME,
            "%s only supports bool tensor for result, got: %s", name, wf__scalar_type_text((wf_dtype)dst->dtype));
  WF__TRY(truth(&r, name, op, self, dims, keepdim));
  if (dst) r.result = (wf_dtype)dst->dtype;
  return wf__reduce_into(&r, dst, WF__INTO_EXACT);
}

/* PyTorch's any and all with an empty list of dims reduce nothing: the truth of each element. */
static wf_tensor *each(const wf_tensor *self) {
  wf_tensor *truth = wf_ne_scalar(self, wf_int(0));
  wf_tensor *row_major = truth ? wf_clone(truth, WF_FORMAT_CONTIGUOUS) : NULL;
  return row_major && self->dtype == WF_U8 ? wf_to(row_major, WF_U8) : row_major;
}

wf_tensor *wf__op_any(wf_tensor *self, wf__ints dim, bool keepdim) {
  WF__OP("any", NULL);
  return dim.dims.at && !dim.dims.n ? each(self) : wf_any(self, dim.dims, keepdim);
}

wf_tensor *wf__op_all(wf_tensor *self, wf__ints dim, bool keepdim) {
  WF__OP("all", NULL);
  return dim.dims.at && !dim.dims.n ? each(self) : wf_all(self, dim.dims, keepdim);
}

wf_tensor *wf_any(const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("any", NULL);
  return truth_of("any", WF__RED_ANY, self, dims, keepdim);
}

wf_tensor *wf_all(const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("all", NULL);
  return truth_of("all", WF__RED_ALL, self, dims, keepdim);
}

wf_status wf_any_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("any", wf__self.pending);
  return truth_into("any", WF__RED_ANY, dst, self, dims, keepdim);
}

wf_status wf_all_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("all", wf__self.pending);
  return truth_into("all", WF__RED_ALL, dst, self, dims, keepdim);
}

wf_tensor *wf_count_nonzero(const wf_tensor *self, wf_dims dims) {
  WF__OP("count_nonzero", NULL);
  uint32_t bits;
  WF__TRY_OR(wf__require_tensors("count_nonzero", &self, 1), NULL);
  WF__TRY_OR(wf__reduced_dims(self, dims, &bits), NULL);
  wf__reduction r = {.op = WF__RED_COUNT_NONZERO,
                     .self = self,
                     .dims = bits,
                     .compute = (wf_dtype)self->dtype,
                     .result = WF_I64,
                     .neutral = wf_int(0)};
  return wf__reduce(&r, NULL, WF__KEEP_NOTHING);
}
