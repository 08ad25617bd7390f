/* Other handles on the same elements: alias, detach, .data, and the same bytes as another dtype. */
#include "op/view_make.h"

static wf_status alias_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)node;
  out[0] = grad[0];
  return WF_OK;
}
static const wf__node_class alias_class = {"AliasBackward0", alias_apply, NULL};

wf_tensor *wf_alias(const wf_tensor *self) {
  WF__OP("alias", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__view_of(self, &self->layout, &alias_class, NULL, 0));
}

wf_tensor *wf_detach(const wf_tensor *self) {
  WF__OP("detach", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__tensor_alias(self, (wf_dtype)self->dtype, &self->layout));
}

wf_tensor *wf_data_of(const wf_tensor *self) {
  WF__OP("data", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__tensor_data_of(self));
}

/* ---- view(dtype) ---------------------------------------------------------------------------------------------------------- */

#define VIEW_AS " to view %s as %s (different element sizes)"

/* To smaller elements: each becomes `ratio` of them. */
static wf_status shrink_elements(wf__layout *l, int64_t ratio, const char *from, const char *to) {
  int last = l->ndim - 1;
  WF__CHECK(l->stride[last] == 1, WF_RUNTIME, "self.stride(-1) must be 1" VIEW_AS ", but got %lld", from, to,
            (long long)l->stride[last]);
  for (int d = 0; d < last; d++)
    WF__CHECK(!__builtin_mul_overflow(l->stride[d], ratio, &l->stride[d]), WF_RUNTIME, "Stride calculation overflowed");
  bool overflow = __builtin_mul_overflow(l->size[last], ratio, &l->size[last]);
  overflow |= __builtin_mul_overflow(l->numel, ratio, &l->numel);
  overflow |= __builtin_mul_overflow(l->offset, ratio, &l->offset);
  WF__CHECK(!overflow, WF_RUNTIME, "numel: integer multiplication overflow");
  return WF_OK;
}

/* To larger elements: `ratio` become one. */
static wf_status merge_elements(wf__layout *l, int64_t ratio, const char *from, const char *to) {
  int last = l->ndim - 1;
  long long r = ratio;
  WF__CHECK(l->size[last] % ratio == 0, WF_RUNTIME, "self.size(-1) must be divisible by %lld" VIEW_AS ", but got %lld",
            r, from, to, (long long)l->size[last]);
  WF__CHECK(l->offset % ratio == 0, WF_RUNTIME,
            "self.storage_offset() must be divisible by %lld" VIEW_AS ", but got %lld", r, from, to,
            (long long)l->offset);
  WF__CHECK(l->stride[last] == 1, WF_RUNTIME, "self.stride(-1) must be 1" VIEW_AS ", but got %lld", from, to,
            (long long)l->stride[last]);
  for (int d = 0; d < last; d++) {
    WF__CHECK(l->stride[d] % ratio == 0, WF_RUNTIME,
              "self.stride(%d) must be divisible by %lld" VIEW_AS ", but got %lld", d, r, from, to,
              (long long)l->stride[d]);
    l->stride[d] /= ratio;
  }
  l->size[last] /= ratio;
  l->numel /= ratio;
  l->offset /= ratio;
  return WF_OK;
}

static wf_status retype(const wf_tensor *self, wf_dtype dtype, wf__layout *l) {
  int64_t old = (int64_t)wf__itemsize(self), new = (int64_t)wf_dtype_size(dtype);
  const char *from = wf__scalar_type_text((wf_dtype)self->dtype), *to = wf__scalar_type_text(dtype);
  WF__CHECK(new > 0, WF_TYPE, "view(): dtype must be one of the ten element types");
  *l = self->layout;
  if (old == new) return WF_OK;
  WF__CHECK(l->ndim, WF_RUNTIME, "self.dim() cannot be 0" VIEW_AS, from, to);
  return old > new ? shrink_elements(l, old / new, from, to) : merge_elements(l, new / old, from, to);
}

wf_tensor *wf_view_dtype(const wf_tensor *self, wf_dtype dtype) {
  WF__OP("view_dtype", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf__layout layout;
  WF__TRY_OR(retype(self, dtype, &layout), NULL);
  return wf__give(wf__tensor_alias(self, dtype, &layout));
}
