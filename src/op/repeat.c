/* repeat and repeat_interleave: the source is copied with stride 0 in the dims that repeat it. */
#include <weft/index.h>
#include <weft/join.h>
#include <weft/reduce.h>
#include <weft/view.h>

#include "base/host.h"
#include "copy/copy.h"
#include "op/place.h"
#include "op/view_make.h"

/* ---- repeat ------------------------------------------------------------------------------------------------------------------------ */

typedef struct repeat {
  wf__sizes sizes; /* of self, filled up with 1 in front */
  wf__sizes repeats;
  int own; /* rank of self */
} repeat;

/* Dim by dim: the copies of it are added up. */
static wf_status repeat_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const repeat *r = node->payload;
  wf_tensor *g = grad[0];
  for (int i = 0; i < r->repeats.n && g; i++) {
    int64_t split[2] = {r->repeats.at[i], r->sizes.at[i]}, dim = i;
    if (split[0] == 1) continue;
    g = split[0] == 0 || split[1] == 0
            ? wf__fresh_zeros(g, wf__sizes_dims(&r->sizes))
            : wf_sum_dims(wf_unflatten(g, dim, wf_dims_of(split, 2)), wf_dims_of(&dim, 1), false, WF_DTYPE_NONE);
    if (split[0] == 0 || split[1] == 0) break;
  }
  int lead = r->repeats.n - r->own;
  out[0] = g && lead ? wf_reshape(g, wf_dims_of(r->sizes.at + lead, r->own)) : g;
  return wf__self.pending;
}
static const wf__node_class repeat_class = {"RepeatBackward0", repeat_apply, NULL};

/* Adds a dim to both sides. */
static void add_dim(wf__layout *to, wf__layout *from, int64_t size, int64_t to_stride, int64_t from_stride) {
  to->size[to->ndim] = from->size[to->ndim] = size;
  to->stride[to->ndim] = to_stride;
  from->stride[to->ndim] = from_stride;
  to->ndim = ++from->ndim;
}

/* Where a repeated dim finds no room as a dim of its own, its repeats are copied one by one. */
static wf_status copy_repeats(wf_tensor *out, const wf_tensor *self, const repeat *r, wf__layout to, wf__layout from,
                              int first) {
  int lead = r->repeats.n - r->own;
  for (int i = first; i < r->repeats.n; i++) {
    int64_t size = r->sizes.at[i], times = r->repeats.at[i], stride = out->layout.stride[i],
            own = i < lead ? 0 : self->layout.stride[i - lead];
    bool both = times > 1 && size > 1;
    int rest = r->repeats.n - 1 - i; /* each needs at most one dim without repeats */
    if (both && to.ndim + 2 + rest > WF_MAX_DIMS) {
      add_dim(&to, &from, size, stride, own);
      for (int64_t k = 0; k < times; k++) {
        wf__layout part = to;
        part.offset += k * size * stride;
        WF__TRY(copy_repeats(out, self, r, part, from, i + 1));
      }
      return WF_OK;
    }
    if (both) add_dim(&to, &from, times, size * stride, 0);
    if (size > 1) add_dim(&to, &from, size, stride, own);
    else if (times > 1) add_dim(&to, &from, times, stride, 0);
  }
  return wf__copy_layouts(out, &to, self, &from);
}

static wf_status repeat_sizes(const wf_tensor *self, wf_dims repeats, repeat *r, int64_t *size) {
  int lead = repeats.n - self->layout.ndim;
  char text[WF__DIMS_TEXT];
  WF__TRY(wf__list_check(repeats));
  WF__CHECK(lead >= 0, WF_RUNTIME,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  WF__CHECK(repeats.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS,
            repeats.n);
  *r = (repeat){.own = self->layout.ndim};
  r->sizes.n = r->repeats.n = repeats.n;
  for (int i = 0; i < repeats.n; i++) {
    r->sizes.at[i] = i < lead ? 1 : self->layout.size[i - lead];
    r->repeats.at[i] = repeats.at[i];
    WF__CHECK(!__builtin_mul_overflow(r->sizes.at[i], repeats.at[i], &size[i]), WF_RUNTIME,
              "numel: integer multiplication overflow");
  }
  for (int i = 0; i < repeats.n; i++)
    WF__CHECK(size[i] >= 0, WF_RUNTIME, "Trying to create tensor with negative dimension %lld: %s", (long long)size[i],
              wf__dims_text(wf_dims_of(size, repeats.n), text));
  return WF_OK;
}

wf_tensor *wf_repeat(const wf_tensor *self, wf_dims repeats) {
  WF__OP("repeat", NULL);
  repeat r;
  int64_t size[WF_MAX_DIMS];
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(repeat_sizes(self, repeats, &r, size), NULL);
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf_dims_of(size, repeats.n), WF_FORMAT_CONTIGUOUS);
  wf__node *node = out ? wf__node_for(&repeat_class, &self, 1, 0, &r, sizeof r) : NULL;
  wf__layout to = {.offset = 0}, from = {.offset = self->layout.offset};
  if (out && !wf__self.pending && out->layout.numel) copy_repeats(out, self, &r, to, from, 0);
  return wf__finish(out, node);
}

/* ---- repeat_interleave --------------------------------------------------------------------------------------------------------------- */

/* The dim that is repeated; a flattened self where none is given, as a view where there is one. */
static const wf_tensor *interleaved(const wf_tensor *self, int64_t *dim) {
  const wf_tensor *t = *dim == WF_NONE ? wf_flatten(self, 0, -1) : self;
  if (*dim == WF_NONE) *dim = 0;
  return t && !wf__wrap_dim(dim, t->layout.ndim, true) ? t : NULL;
}

/* The elements, each as often as it must come: [n, times] with stride 0, copied once and flattened. */
wf_tensor *wf_repeat_interleave(const wf_tensor *self, int64_t repeats, int64_t dim) {
  WF__OP("repeat_interleave", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_scope scope = wf_scope_begin();
  const wf_tensor *t = interleaved(self, &dim);
  if (t && repeats < 0) wf__fail(WF_RUNTIME, "Repeats must be non-negative");
  wf_tensor *wide = t ? wf_unsqueeze(t, dim + 1) : NULL; /* refuses a rank of 0 */
  int64_t times[WF_MAX_DIMS];
  for (int d = 0; wide && d < wide->layout.ndim; d++) times[d] = d == dim + 1 ? repeats : 1;
  wf_tensor *many = wide ? wf_repeat(wide, wf_dims_of(times, wide->layout.ndim)) : NULL;
  return wf_scope_end(scope, many ? wf_flatten(many, dim, dim + 1) : NULL);
}

/* The index that takes element i repeats[i] times. */
static wf_tensor *interleaving_index(const int64_t *repeats, int64_t n, bool one_for_all, wf_device device) {
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++)
    if (__builtin_add_overflow(total, repeats[one_for_all ? 0 : i], &total)) total = INT64_MAX;
  int64_t *index = total < INT64_MAX / 8 ? wf__malloc((size_t)total * sizeof *index) : NULL;
  if (!index)
    return total < INT64_MAX / 8 ? NULL : (wf__fail(WF_RUNTIME, "numel: integer multiplication overflow"), NULL);
  for (int64_t i = 0, at = 0; i < n; i++)
    for (int64_t k = repeats[one_for_all ? 0 : i]; k > 0; k--) index[at++] = i;
  wf_tensor *t = wf_from_data(index, wf_dims_of(&total, 1), WF_I64);
  wf__release(index);
  wf__device *there = t ? wf__device_get(device) : NULL;
  return there ? wf__give(wf__to(t, WF_DTYPE_NONE, there, false, false)) : NULL;
}

static wf_status check_repeats(const wf_tensor *repeats, const wf_tensor *self, int64_t dim) {
  int64_t n = self->layout.size[dim], given = repeats->layout.numel;
  WF__CHECK(repeats->layout.ndim <= 1, WF_RUNTIME, "repeats must be 0-dim or 1-dim tensor");
  WF__CHECK(repeats->dtype == WF_I64 || repeats->dtype == WF_I32, WF_RUNTIME, "repeats has to be Long or Int tensor");
  WF__CHECK(
      !repeats->layout.ndim || given == 1 || given == n, WF_RUNTIME,
      "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and input.size(%lld) = %lld",
      (long long)given, (long long)dim, (long long)n);
  return WF_OK;
}

/* The repeats as int64 on the host, in a fresh array. */
static int64_t *host_repeats(const wf_tensor *repeats) {
  int64_t n = repeats->layout.numel, *at = wf__malloc((size_t)n * sizeof *at);
  wf_tensor *wide = at ? wf__to(repeats, WF_I64, NULL, false, false) : NULL;
  if (wide) wf_to_host(wide, at, (size_t)n * sizeof *at);
  wf__tensor_release(wide);
  for (int64_t i = 0; i < n && !wf__self.pending; i++)
    if (at[i] < 0) wf__fail(WF_RUNTIME, "repeats can not be negative");
  if (!wf__self.pending) return at;
  wf__release(at);
  return NULL;
}

wf_tensor *wf_repeat_interleave_each(const wf_tensor *self, const wf_tensor *repeats, int64_t dim) {
  WF__OP("repeat_interleave", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(wf__given(repeats, "repeats"), NULL);
  wf_scope scope = wf_scope_begin();
  wf_tensor *index = NULL;
  const wf_tensor *t = interleaved(self, &dim);
  if (t && !t->layout.ndim)
    wf__fail(WF_INDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
  else if (t && !check_repeats(repeats, t, dim)) {
    int64_t *counts = host_repeats(repeats);
    if (counts) index = interleaving_index(counts, t->layout.size[dim], repeats->layout.numel == 1, wf_device_of(self));
    wf__release(counts);
  }
  return wf_scope_end(scope, index ? wf_index_select(t, dim, index) : NULL);
}
