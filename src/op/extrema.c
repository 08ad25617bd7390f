/* amax, amin, max, min with and without indices, argmax, argmin. */
#include "op/reducing.h"

#include <weft/create.h>
#include <weft/view.h>

/* A reduction of nothing has no extreme. dims as the caller named them; all is true when none was. */
static wf_status check_nonempty(const char *name, const wf_tensor *self, wf_dims dims, wf_status kind,
                                const char *advice) {
  if (self->layout.numel) return WF_OK;
  WF__TRY(wf__list_check(dims));
  WF__CHECK(dims.n, kind, "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name, advice);
  for (int i = 0; i < dims.n; i++) {
    int64_t d = dims.at[i];
    WF__TRY(wf__wrap_dim(&d, self->layout.ndim, true));
    WF__CHECK(self->layout.size[d], WF_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.", name,
              (long long)dims.at[i]);
  }
  return WF_OK;
}

/* As torch.max, which names the dim counted from the front. */
static wf_status check_nonempty_dim(const char *name, const wf_tensor *self, int64_t dim) {
  if (self->layout.numel) return WF_OK;
  if (dim != WF_NONE) WF__TRY(wf__wrap_dim(&dim, self->layout.ndim, true));
  return check_nonempty(name, self, dim == WF_NONE ? WF_SHAPE0 : wf_dims_of(&dim, 1), WF_INDEX, "");
}

#define ADVICE " Specify the reduction dim with the 'dim' argument."

/* ---- without indices ------------------------------------------------------------------------------------------------------ */

static wf_status shared_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out);
static const wf__node_class max_class = {"MaxBackward1", shared_apply, NULL};
static const wf__node_class min_class = {"MinBackward1", shared_apply, NULL};

/* All places that hold the extreme share the gradient. Where that is a nan, max and min mean the places of nans; amax and amin find no place
 * and divide by nought. */
static wf_status shared_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__reduced *p = node->payload;
  bool whole = node->cls == &max_class || node->cls == &min_class;
  wf_tensor *x = wf__saved_get(node, 0), *extreme = wf__unreduce_for(node, wf__saved_get(node, 1));
  wf_tensor *hit = wf_eq(x, extreme);
  if (whole) hit = wf_logical_or(hit, wf_logical_and(wf_isnan(x), wf_isnan(extreme)));
  int64_t dims[WF_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < p->layout.ndim; d++)
    if (p->dims >> d & 1) dims[n++] = d;
  wf_tensor *hits = n ? wf_sum_dims(hit, wf_dims_of(dims, n), true, WF_DTYPE_NONE) : hit;
  wf_tensor *share = wf_div(wf__unreduce_for(node, grad[0]), hits);
  out[0] = whole ? wf__op_where(hit, wf__tensor_arg(share), wf__number_arg(wf_int(0))) : wf_mul(share, hit);
  return wf__self.pending;
}
static const wf__node_class amax_class = {"AmaxBackward0", shared_apply, NULL};
static const wf__node_class amin_class = {"AminBackward0", shared_apply, NULL};

static wf_status extreme_of(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, wf_dims dims,
                            bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__require_tensors(name, &self, 1));
  WF__TRY(check_nonempty(name, self, dims, WF_RUNTIME, ADVICE));
  WF__TRY(wf__reduced_dims(self, dims, &bits));
  *r = (wf__reduction){.op = op,
                       .self = self,
                       .dims = bits,
                       .keepdim = keepdim,
                       .compute = (wf_dtype)self->dtype,
                       .result = (wf_dtype)self->dtype};
  return WF_OK;
}

static wf_tensor *extreme(const char *name, uint8_t op, const wf_tensor *self, wf_dims dims, bool keepdim,
                          const wf__node_class *cls) {
  wf__reduction r;
  return extreme_of(&r, name, op, self, dims, keepdim) ? NULL : wf__reduce(&r, cls, WF__KEEP_BOTH);
}

static wf_status extreme_into(const char *name, uint8_t op, wf_tensor *dst, const wf_tensor *self, wf_dims dims,
                              bool keepdim) {
  wf__reduction r;
  WF__TRY(wf__into_given(name, dst, &self, 1));
  WF__CHECK(!self || dst->dtype == self->dtype, WF_RUNTIME,
            "Expected the dtype for input and out to match, but got %s for input's dtype and %s for out's dtype.",
            wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)dst->dtype));
  WF__TRY(extreme_of(&r, name, op, self, dims, keepdim));
  return wf__reduce_into(&r, dst, WF__INTO_EXACT);
}

wf_tensor *wf_amax(const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("amax", NULL);
  return extreme("amax", WF__RED_AMAX, self, dims, keepdim, &amax_class);
}

wf_tensor *wf_amin(const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("amin", NULL);
  return extreme("amin", WF__RED_AMIN, self, dims, keepdim, &amin_class);
}

wf_status wf_amax_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("amax", wf__self.pending);
  return extreme_into("amax", WF__RED_AMAX, dst, self, dims, keepdim);
}

wf_status wf_amin_into(wf_tensor *dst, const wf_tensor *self, wf_dims dims, bool keepdim) {
  WF__OP("amin", wf__self.pending);
  return extreme_into("amin", WF__RED_AMIN, dst, self, dims, keepdim);
}

wf_tensor *wf_max(const wf_tensor *self) {
  WF__OP("max", NULL);
  return extreme("max", WF__RED_AMAX, self, WF_SHAPE0, false, &max_class);
}

wf_tensor *wf_min(const wf_tensor *self) {
  WF__OP("min", NULL);
  return extreme("min", WF__RED_AMIN, self, WF_SHAPE0, false, &min_class);
}

/* ---- with indices along one dim ------------------------------------------------------------------------------------------- */

/* The gradient goes to the place that the index names. */
static wf_status chosen_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__reduced *p = node->payload;
  wf_tensor *g = wf__unreduce_for(node, grad[0]), *index = wf__unreduce_for(node, wf__saved_get(node, 2));
  if (!g || !index) return wf__self.pending;
  if (!p->dims) { /* a number: it is its own extreme */
    out[0] = g;
    return WF_OK;
  }
  int dim = __builtin_ctz(p->dims);
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = WF_I64;
  o.device = wf_device_of(g);
  int64_t size[WF_MAX_DIMS];
  for (int d = 0; d < p->layout.ndim; d++) size[d] = d == dim ? p->layout.size[d] : 1;
  wf_tensor *place = wf_arange(wf_int(0), wf_int(p->layout.size[dim]), wf_int(1), &o);
  wf_tensor *hit = wf_eq(place ? wf_view(place, wf_dims_of(size, p->layout.ndim)) : NULL, index);
  out[0] = wf__op_where(hit, wf__tensor_arg(g), wf__number_arg(wf_int(0)));
  return wf__self.pending;
}
static const wf__node_class max_dim_class = {"MaxBackward0", chosen_apply, NULL};
static const wf__node_class min_dim_class = {"MinBackward0", chosen_apply, NULL};

/* A reduction of one dim; the caller says what comes of it. */
static wf_status extreme_along(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, int64_t dim,
                               bool keepdim) {
  uint32_t bits;
  WF__TRY(wf__reduced_dim(self, dim, &bits));
  WF__TRY(check_nonempty_dim(name, self, dim));
  *r = (wf__reduction){
      .op = op, .self = self, .dims = bits, .keepdim = keepdim, .compute = (wf_dtype)self->dtype, .in_order = true};
  return WF_OK;
}

static wf_status choice_of(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, int64_t dim,
                           bool keepdim) {
  WF__TRY(wf__require_tensors(name, &self, 1));
  WF__TRY(extreme_along(r, name, op, self, dim, keepdim));
  r->result = r->compute;
  r->wants_index = true;
  return WF_OK;
}

static wf_value_index choose(const char *name, uint8_t op, const wf_tensor *self, int64_t dim, bool keepdim,
                             const wf__node_class *cls) {
  const wf_value_index none = {NULL, NULL};
  wf__reduction r;
  WF__TRY_OR(choice_of(&r, name, op, self, dim, keepdim), none);
  wf_value_index result = {wf__reduce(&r, cls, WF__KEEP_NOTHING), NULL};
  result.indices = wf__give(r.index);
  return result.values && result.indices ? result : none;
}

wf_value_index wf_max_dim(const wf_tensor *self, int64_t dim, bool keepdim) {
  WF__OP("max", ((wf_value_index){NULL, NULL}));
  return choose("max", WF__RED_MAX_INDEX, self, dim, keepdim, &max_dim_class);
}

wf_value_index wf_min_dim(const wf_tensor *self, int64_t dim, bool keepdim) {
  WF__OP("min", ((wf_value_index){NULL, NULL}));
  return choose("min", WF__RED_MIN_INDEX, self, dim, keepdim, &min_dim_class);
}

static wf_status choose_into(const char *name, uint8_t op, wf_tensor *values, wf_tensor *indices, const wf_tensor *self,
                             int64_t dim, bool keepdim) {
  wf__reduction r;
  WF__TRY(wf__into_given(name, values, &self, 1));
  WF__TRY(choice_of(&r, name, op, self, dim, keepdim));
  return wf__reduce_into_pair(&r, values, indices);
}

wf_status wf_max_dim_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim, bool keepdim) {
  WF__OP("max", wf__self.pending);
  return choose_into("max", WF__RED_MAX_INDEX, values, indices, self, dim, keepdim);
}

wf_status wf_min_dim_into(wf_tensor *values, wf_tensor *indices, const wf_tensor *self, int64_t dim, bool keepdim) {
  WF__OP("min", wf__self.pending);
  return choose_into("min", WF__RED_MIN_INDEX, values, indices, self, dim, keepdim);
}

wf_value_index wf__op_max(wf_tensor *self, int64_t dim, bool keepdim) {
  if (dim == WF_NONE) return (wf_value_index){wf_max(self), NULL};
  return wf_max_dim(self, dim, keepdim);
}

wf_value_index wf__op_min(wf_tensor *self, int64_t dim, bool keepdim) {
  if (dim == WF_NONE) return (wf_value_index){wf_min(self), NULL};
  return wf_min_dim(self, dim, keepdim);
}

/* ---- indices only ------------------------------------------------------------------------------------------------------------ */

static wf_status arg_extreme(wf__reduction *r, const char *name, uint8_t op, const wf_tensor *self, int64_t dim,
                             bool keepdim) {
  WF__TRY(wf__require_tensors(name, &self, 1));
  WF__CHECK(self->dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "%s(): does not support bool input", name);
  WF__TRY(extreme_along(r, name, op, self, dim, keepdim));
  r->result = WF_I64;
  return WF_OK;
}

#define ARG_EXTREME(name, OP)                                                                              \
  wf_tensor *wf_##name(const wf_tensor *self, int64_t dim, bool keepdim) {                                 \
    WF__OP(#name, NULL);                                                                                   \
    wf__reduction r;                                                                                       \
    return arg_extreme(&r, #name, OP, self, dim, keepdim) ? NULL : wf__reduce(&r, NULL, WF__KEEP_NOTHING); \
  }                                                                                                        \
  wf_status wf_##name##_into(wf_tensor *dst, const wf_tensor *self, int64_t dim, bool keepdim) {           \
    WF__OP(#name, wf__self.pending);                                                                       \
    wf__reduction r;                                                                                       \
    WF__TRY(arg_extreme(&r, #name, OP, self, dim, keepdim));                                               \
    return wf__reduce_into(&r, dst, WF__INTO_EXACT);                                                       \
  }
ARG_EXTREME(argmax, WF__RED_ARGMAX)
ARG_EXTREME(argmin, WF__RED_ARGMIN)
#undef ARG_EXTREME
