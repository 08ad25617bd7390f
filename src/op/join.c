/* cat and stack: each input is copied, cast where needed, straight to its part of the result. */
#include <weft/join.h>
#include <weft/view.h>

#include "copy/copy.h"

#include "op/op.h"
#include "op/place.h"

/* PyTorch's old idea of an empty tensor, which fits in with every rank. */
static bool is_skipped(const wf_tensor *t) { return t->layout.ndim == 1 && t->layout.size[0] == 0; }

static wf_status check_given(wf_tensors tensors) {
  for (int i = 0; i < tensors.n; i++) WF__TRY(wf__given(tensors.at[i], "tensors"));
  return wf__check_same_device((const wf_tensor *const *)tensors.at, tensors.n);
}

/* The format of t; `spread`: of t with a last dim of size 1 added. */
static wf_memory_format format_of(const wf_tensor *t, bool spread) {
  wf__layout l;
  if (!spread) return wf__suggest_format(&t->layout);
  wf__layout_copy(&l, &t->layout);
  l.size[l.ndim] = l.stride[l.ndim] = 1;
  l.ndim++;
  return wf__suggest_format(&l);
}

/* channels_last where all inputs are, else row-major. */
static wf_memory_format common_format(wf_tensors tensors, bool spread) {
  wf_memory_format format = format_of(tensors.at[0], spread);
  for (int i = 1; i < tensors.n; i++)
    if (format_of(tensors.at[i], spread) != format) return WF_FORMAT_CONTIGUOUS;
  return format;
}

static wf_dtype common_dtype(wf_tensors tensors) {
  wf__promotion p = {0};
  for (int i = 0; i < tensors.n; i++) wf__promote_tensor(&p, tensors.at[i]);
  return wf__promoted(&p);
}

/* ---- cat ---------------------------------------------------------------------------------------------------------------------------- */

/* The payload of both nodes: the dim, then for cat the extent of each input along it, -1 for one that was skipped. */
static wf__node *record_list(const wf__node_class *cls, wf_tensors tensors, int64_t dim, bool extents) {
  const wf_tensor *const *inputs = (const wf_tensor *const *)tensors.at;
  if (!wf__needs_grad(inputs, tensors.n)) return NULL;
  wf__node *node = wf__node_new(cls, inputs, tensors.n, 0, (1 + (extents ? (size_t)tensors.n : 0)) * sizeof(int64_t));
  if (!node) return NULL;
  int64_t *payload = node->payload;
  payload[0] = dim;
  for (int i = 0; extents && i < tensors.n; i++)
    payload[1 + i] = is_skipped(tensors.at[i]) ? -1 : tensors.at[i]->layout.size[dim];
  return node;
}

static wf_status cat_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const int64_t *payload = node->payload;
  int64_t start = 0;
  for (uint32_t i = 0; i < node->edges; i++) {
    int64_t extent = payload[1 + i];
    if (wf__node_wants(node, (int)i))
      out[i] = extent < 0 ? wf__fresh_zeros(grad[0], WF_SHAPE(0)) : wf_narrow(grad[0], payload[0], start, extent);
    start += extent < 0 ? 0 : extent;
  }
  return wf__self.pending;
}
static const wf__node_class cat_class = {"CatBackward0", cat_apply, NULL};

static wf_status check_fits(const wf_tensor *first, const wf_tensor *t, int64_t dim, int i) {
  WF__CHECK(t->layout.ndim == first->layout.ndim, WF_RUNTIME,
            "Tensors must have same number of dimensions: got %d and %d", first->layout.ndim, t->layout.ndim);
  for (int d = 0; d < t->layout.ndim; d++)
    WF__CHECK(
        d == dim || t->layout.size[d] == first->layout.size[d], WF_RUNTIME,
        "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size %lld for tensor number %d in the list.",
        (long long)dim, (long long)first->layout.size[d], (long long)t->layout.size[d], i);
  return WF_OK;
}

/* Wraps dim by the first input that has one, which is then in *first. */
static wf_status cat_dim(wf_tensors tensors, int64_t *dim, const wf_tensor **first) {
  *first = NULL;
  for (int i = 0; i < tensors.n; i++)
    WF__CHECK(tensors.at[i]->layout.ndim, WF_RUNTIME, "zero-dimensional tensor (at position %d) cannot be concatenated",
              i);
  for (int i = 0; i < tensors.n && !*first; i++)
    if (!is_skipped(tensors.at[i])) *first = tensors.at[i];
  if (*first) return wf__wrap_dim(dim, (*first)->layout.ndim, true);
  *dim = 0;
  return WF_OK;
}

/* Checks the inputs, wraps dim, gives the result's sizes. */
static wf_status cat_sizes(wf_tensors tensors, int64_t *dim, int64_t *size, int *ndim) {
  const wf_tensor *first;
  WF__TRY(cat_dim(tensors, dim, &first));
  size[0] = 0;
  *ndim = 1;
  if (!first) return WF_OK;
  *ndim = first->layout.ndim;
  for (int d = 0; d < *ndim; d++) size[d] = d == *dim ? 0 : first->layout.size[d];
  for (int i = 0; i < tensors.n; i++) {
    if (is_skipped(tensors.at[i])) continue;
    WF__TRY(check_fits(first, tensors.at[i], *dim, i));
    WF__CHECK(!__builtin_add_overflow(size[*dim], tensors.at[i]->layout.size[*dim], &size[*dim]), WF_RUNTIME,
              "numel: integer multiplication overflow");
  }
  return WF_OK;
}

static wf_status fill_cat(wf_tensor *out, wf_tensors tensors, int64_t dim) {
  int64_t start = 0;
  for (int i = 0; i < tensors.n; i++) {
    const wf_tensor *t = tensors.at[i];
    if (is_skipped(t)) continue;
    WF__TRY(wf__copy_part(out, dim, false, start, t));
    start += t->layout.size[dim];
  }
  return WF_OK;
}

/* The layout of a new result. */
static wf_status cat_layout(wf_tensors tensors, int64_t *dim, wf_dtype dtype, wf__layout *out) {
  int64_t size[WF_MAX_DIMS];
  int ndim = 0;
  WF__TRY(cat_sizes(tensors, dim, size, &ndim));
  WF__TRY(wf__layout_contiguous(out, wf_dims_of(size, ndim), wf_dtype_size(dtype)));
  return wf__layout_restride(out, common_format(tensors, false));
}

wf_tensor *wf_cat(wf_tensors tensors, int64_t dim) {
  WF__OP("cat", NULL);
  wf__layout layout;
  if (tensors.n == 0) return wf__fail(WF_VALUE, "torch.cat(): expected a non-empty list of Tensors"), NULL;
  WF__TRY_OR(check_given(tensors), NULL);
  wf_dtype dtype = common_dtype(tensors);
  WF__TRY_OR(cat_layout(tensors, &dim, dtype, &layout), NULL);
  wf_tensor *out = wf__tensor_empty(wf__device_of(tensors.at[0]), dtype, &layout);
  wf__node *node = out ? record_list(&cat_class, tensors, dim, true) : NULL;
  if (out && !wf__self.pending) fill_cat(out, tensors, dim);
  return wf__finish(out, node);
}

/* What cat and stack refuse of a given result: its dtype, its place. */
static wf_status check_cast(const wf_tensor *dst, wf_tensors tensors) {
  WF__CHECK(wf_can_cast(common_dtype(tensors), (wf_dtype)dst->dtype), WF_TYPE,
            "torch.cat(): input types can't be cast to the desired output type %s",
            wf__scalar_type_text((wf_dtype)dst->dtype));
  return WF_OK;
}

static wf_status check_apart(const wf_tensor *dst, wf_tensors tensors) {
  for (int i = 0; i < tensors.n; i++) WF__TRY(wf__check_no_overlap(dst, tensors.at[i]));
  return WF_OK;
}

wf_status wf_cat_into(wf_tensor *dst, wf_tensors tensors, int64_t dim) {
  WF__OP("cat", wf__self.pending);
  const wf_tensor *const *inputs = (const wf_tensor *const *)tensors.at;
  const wf_tensor *first;
  wf__layout layout;
  wf__into into;
  WF__CHECK(tensors.n, WF_VALUE, "torch.cat(): expected a non-empty list of Tensors");
  WF__TRY(check_given(tensors));
  WF__TRY(wf__into_given("cat", dst, inputs, tensors.n));
  WF__TRY(cat_dim(tensors, &dim, &first));
  WF__TRY(check_cast(dst, tensors));
  WF__TRY(cat_layout(tensors, &dim, (wf_dtype)dst->dtype, &layout));
  WF__TRY(check_apart(dst, tensors));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, tensors.n);
  if (!out) return wf__self.pending;
  fill_cat(out, tensors, dim);
  return wf__into_close(&into);
}

/* ---- stack ------------------------------------------------------------------------------------------------------------------------ */

static wf_status stack_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  int64_t dim = *(int64_t *)node->payload;
  for (uint32_t i = 0; i < node->edges; i++)
    if (wf__node_wants(node, (int)i)) out[i] = wf_select(grad[0], dim, i);
  return wf__self.pending;
}
static const wf__node_class stack_class = {"StackBackward0", stack_apply, NULL};

static wf_status check_equal_sizes(wf_tensors tensors) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  const wf__layout *first = &tensors.at[0]->layout;
  for (int i = 1; i < tensors.n; i++) {
    const wf__layout *l = &tensors.at[i]->layout;
    bool same = l->ndim == first->ndim;
    for (int d = 0; same && d < l->ndim; d++) same = l->size[d] == first->size[d];
    WF__CHECK(same, WF_RUNTIME, "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
              wf__dims_text(wf__layout_sizes(first), a), wf__dims_text(wf__layout_sizes(l), b), i);
  }
  return WF_OK;
}

static wf_status stack_sizes(wf_tensors tensors, int64_t dim, wf_dtype dtype, wf__layout *out) {
  const wf__layout *one = &tensors.at[0]->layout;
  WF__CHECK(one->ndim < WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS,
            one->ndim + 1);
  int64_t size[WF_MAX_DIMS];
  for (int d = 0; d <= one->ndim; d++) size[d] = d == dim ? tensors.n : one->size[d - (d > dim)];
  return wf__layout_contiguous(out, wf_dims_of(size, one->ndim + 1), wf_dtype_size(dtype));
}

/* PyTorch's strides: those of cat along the dim, in which the new dimension is then split off; of cat of unsqueezed tensors when the new
 * dimension is the last. */
static wf_status stack_layout(wf_tensors tensors, int64_t dim, wf_dtype dtype, wf__layout *out) {
  const wf__layout *one = &tensors.at[0]->layout;
  wf__layout joined = *one;
  WF__TRY(stack_sizes(tensors, dim, dtype, out));
  wf_memory_format format = common_format(tensors, dim == one->ndim);
  if (format == WF_FORMAT_CONTIGUOUS) return WF_OK;
  if (dim == one->ndim) return wf__layout_restride(out, format);
  joined.size[dim] *= tensors.n;
  joined.numel = out->numel;
  WF__TRY(wf__layout_restride(&joined, format));
  wf__view_strides(&joined, wf__layout_sizes(out), out->stride); /* always possible: one dim is split */
  return WF_OK;
}

/* Checks the inputs and wraps dim. */
static wf_status check_stack(wf_tensors tensors, int64_t *dim) {
  WF__CHECK(tensors.n, WF_RUNTIME, "stack expects a non-empty TensorList");
  WF__TRY(check_given(tensors));
  WF__TRY(wf__wrap_dim(dim, tensors.at[0]->layout.ndim + 1, true));
  return check_equal_sizes(tensors);
}

static wf_status fill_stack(wf_tensor *out, wf_tensors tensors, int64_t dim) {
  for (int i = 0; i < tensors.n; i++) WF__TRY(wf__copy_part(out, dim, true, i, tensors.at[i]));
  return WF_OK;
}

wf_tensor *wf_stack(wf_tensors tensors, int64_t dim) {
  WF__OP("stack", NULL);
  wf__layout layout;
  WF__TRY_OR(check_stack(tensors, &dim), NULL);
  wf_dtype dtype = common_dtype(tensors);
  WF__TRY_OR(stack_layout(tensors, dim, dtype, &layout), NULL);
  wf_tensor *out = wf__tensor_empty(wf__device_of(tensors.at[0]), dtype, &layout);
  wf__node *node = out ? record_list(&stack_class, tensors, dim, false) : NULL;
  if (out && !wf__self.pending) fill_stack(out, tensors, dim);
  return wf__finish(out, node);
}

wf_status wf_stack_into(wf_tensor *dst, wf_tensors tensors, int64_t dim) {
  WF__OP("stack", wf__self.pending);
  const wf_tensor *const *inputs = (const wf_tensor *const *)tensors.at;
  wf__layout layout;
  wf__into into;
  WF__TRY(check_stack(tensors, &dim));
  WF__TRY(wf__into_given("stack", dst, inputs, tensors.n));
  WF__TRY(stack_sizes(tensors, dim, (wf_dtype)dst->dtype, &layout));
  WF__TRY(check_cast(dst, tensors));
  WF__TRY(check_apart(dst, tensors));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, tensors.n);
  if (!out) return wf__self.pending;
  fill_stack(out, tensors, dim);
  return wf__into_close(&into);
}
