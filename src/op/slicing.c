/* Views of a part: slice, narrow, select, diagonal, unfold. The gradient of a part is put into zeros of the whole. */
#include "op/view_make.h"

/* Puts grad where `part`, a view of fresh zeros, shows it. */
static wf_status put(wf_tensor *zeros, wf_tensor *part, const wf_tensor *grad, wf_tensor **out) {
  if (!part) return wf__self.pending;
  WF__TRY(wf__ops.copy_(part, grad));
  out[0] = zeros;
  return WF_OK;
}

/* ---- slice, narrow --------------------------------------------------------------------------------------------------------- */

typedef struct slice_payload {
  wf__sizes sizes;
  int64_t dim, start, end, step;
} slice_payload;

static wf_status slice_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const slice_payload *p = node->payload;
  wf_tensor *zeros = wf__zeros_for(grad[0], &p->sizes);
  return put(zeros, zeros ? wf_slice(zeros, p->dim, p->start, p->end, p->step) : NULL, grad[0], out);
}
static const wf__node_class slice_class = {"SliceBackward0", slice_apply, NULL};

/* Python's rule: what counts from the end is turned, then both bounds are clamped. */
static int64_t clamp_bound(int64_t bound, int64_t low, int64_t size) {
  if (bound < 0) bound += size; /* can't overflow: size >= 0 */
  return bound < low ? low : bound > size ? size : bound;
}

static wf_tensor *slice(const wf_tensor *self, slice_payload *p) {
  wf__layout l;
  wf__layout_copy(&l, &self->layout);
  if (l.ndim == 0) {
    wf__fail(WF_INDEX, "slice() cannot be applied to a 0-dim tensor.");
    return NULL;
  }
  WF__TRY_OR(wf__wrap_dim(&p->dim, l.ndim, true), NULL);
  if (p->step <= 0) {
    wf__fail(WF_RUNTIME, "slice step must be positive");
    return NULL;
  }
  int64_t size = l.size[p->dim], stride = l.stride[p->dim];
  p->start = clamp_bound(p->start == WF_NONE ? 0 : p->start, 0, size);
  p->end = clamp_bound(p->end == WF_NONE ? size : p->end, p->start, size);
  int64_t length = p->end - p->start, count = p->step == 1 ? length : length / p->step + (length % p->step != 0);
  l.offset += p->start * stride;
  l.size[p->dim] = count;
  /* A step past the end is never taken; torch lets the product wrap, here it stays a stride. */
  if (__builtin_mul_overflow(stride, p->step, &l.stride[p->dim])) l.stride[p->dim] = count > 1 ? stride : 0;
  WF__TRY_OR(wf__layout_recount(&l), NULL);
  if (WF__LIKELY(!wf__may_need_grad(self))) return wf__tensor_view(self, &l);
  p->sizes = wf__sizes_of(self);
  return wf__view_of(self, &l, &slice_class, p, sizeof *p);
}

wf_tensor *wf__slice(const wf_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step) {
  slice_payload p; /* its sizes are filled in where a gradient is recorded */
  p.dim = dim;
  p.start = start;
  p.end = end;
  p.step = step;
  return slice(self, &p);
}

wf_tensor *wf_slice(const wf_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step) {
  WF__OP("slice", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  return wf__give(wf__slice(self, dim, start, end, step));
}

static wf_status check_narrow(const wf_tensor *self, int64_t *dim, int64_t *start, int64_t length) {
  WF__CHECK(self->layout.ndim > 0, WF_RUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
  WF__CHECK(length >= 0, WF_RUNTIME, "narrow(): length must be non-negative.");
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  int64_t size = self->layout.size[*dim];
  WF__CHECK(*start >= -size && *start <= size, WF_INDEX,
            "start out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-size,
            (long long)size, (long long)*start);
  if (*start < 0) *start += size;
  WF__CHECK(length <= size - *start, WF_RUNTIME, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
            (long long)*start, (long long)length, (long long)size);
  return WF_OK;
}

wf_tensor *wf_narrow(const wf_tensor *self, int64_t dim, int64_t start, int64_t length) {
  WF__OP("narrow", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(check_narrow(self, &dim, &start, length), NULL);
  return wf__give(wf__slice(self, dim, start, start + length, 1));
}

/* ---- select --------------------------------------------------------------------------------------------------------------------- */

typedef struct select_payload {
  wf__sizes sizes;
  int64_t dim, index;
} select_payload;

static wf_status select_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const select_payload *p = node->payload;
  wf_tensor *zeros = wf__zeros_for(grad[0], &p->sizes);
  return put(zeros, zeros ? wf_select(zeros, p->dim, p->index) : NULL, grad[0], out);
}
static const wf__node_class select_class = {"SelectBackward0", select_apply, NULL};

static wf_status select_layout(const wf_tensor *self, select_payload *p, wf__layout *l) {
  char text[WF__DIMS_TEXT];
  wf__layout_copy(l, &self->layout);
  WF__CHECK(l->ndim > 0, WF_INDEX, "select() cannot be applied to a 0-dim tensor.");
  WF__TRY(wf__wrap_dim(&p->dim, l->ndim, true));
  int64_t size = l->size[p->dim];
  WF__CHECK(p->index >= -size && p->index < size, WF_INDEX,
            "select(): index %lld out of range for tensor of size %s at dimension %lld", (long long)p->index,
            wf__dims_text(wf__layout_sizes(l), text), (long long)p->dim);
  if (p->index < 0) p->index += size;
  l->offset += p->index * l->stride[p->dim];
  wf__layout_drop(l, p->dim);
  return wf__layout_recount(l);
}

wf_tensor *wf_select(const wf_tensor *self, int64_t dim, int64_t index) {
  WF__OP("select", NULL);
  select_payload p;
  p.dim = dim;
  p.index = index;
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(select_layout(self, &p, &layout), NULL);
  if (WF__LIKELY(!wf__may_need_grad(self))) return wf__give(wf__tensor_view(self, &layout));
  p.sizes = wf__sizes_of(self);
  return wf__give(wf__view_of(self, &layout, &select_class, &p, sizeof p));
}

/* ---- diagonal -------------------------------------------------------------------------------------------------------------------- */

typedef struct diagonal_payload {
  wf__sizes sizes;
  int64_t offset, a, b;
} diagonal_payload;

static wf_status diagonal_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const diagonal_payload *p = node->payload;
  wf_tensor *zeros = wf__zeros_for(grad[0], &p->sizes);
  return put(zeros, zeros ? wf_diagonal(zeros, p->offset, p->a, p->b) : NULL, grad[0], out);
}
static const wf__node_class diagonal_class = {"DiagonalBackward0", diagonal_apply, NULL};

/* Elements on the diagonal that begins `down` rows or `right` columns into a rows x columns matrix. */
static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset) {
  int64_t right = offset > 0 ? offset : 0, down = offset < 0 ? (offset == INT64_MIN ? INT64_MAX : -offset) : 0;
  int64_t a = rows > down ? rows - down : 0, b = columns > right ? columns - right : 0;
  return a < b ? a : b;
}

static wf_status diagonal_layout(const wf_tensor *self, diagonal_payload *p, wf__layout *l) {
  int64_t given_a = p->a, given_b = p->b;
  *l = self->layout;
  WF__TRY(wf__wrap_dim(&p->a, l->ndim, true));
  WF__TRY(wf__wrap_dim(&p->b, l->ndim, true));
  WF__CHECK(p->a != p->b, WF_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld", (long long)given_a,
            (long long)given_b);
  int64_t stride_a = l->stride[p->a], stride_b = l->stride[p->b],
          length = diagonal_length(l->size[p->a], l->size[p->b], p->offset);
  if (length > 0) l->offset += p->offset >= 0 ? p->offset * stride_b : -p->offset * stride_a;
  wf__layout_drop(l, p->a > p->b ? p->a : p->b);
  wf__layout_drop(l, p->a > p->b ? p->b : p->a);
  l->size[l->ndim] = length;
  WF__CHECK(!__builtin_add_overflow(stride_a, stride_b, &l->stride[l->ndim]), WF_RUNTIME,
            "Stride calculation overflowed");
  l->ndim++;
  return wf__layout_recount(l);
}

wf_tensor *wf_diagonal(const wf_tensor *self, int64_t offset, int64_t dim1, int64_t dim2) {
  WF__OP("diagonal", NULL);
  diagonal_payload p = {.offset = offset, .a = dim1, .b = dim2};
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(diagonal_layout(self, &p, &layout), NULL);
  p.sizes = wf__sizes_of(self);
  return wf__give(wf__view_of(self, &layout, &diagonal_class, &p, sizeof p));
}

/* ---- unfold ------------------------------------------------------------------------------------------------------------------------ */

typedef struct unfold_payload {
  wf__sizes sizes;
  int64_t dim, size, step;
} unfold_payload;

/* Windows may overlap, so gradients are added: the i-th elements of all windows are a slice of the whole. */
static wf_status unfold_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const unfold_payload *p = node->payload;
  wf_tensor *whole = wf__zeros_for(grad[0], &p->sizes);
  if (!whole) return wf__self.pending;
  if (p->sizes.n == 0) { /* a number: its window has at most one element */
    out[0] = whole;
    return p->size ? wf__ops.copy_(whole, wf_select(grad[0], 0, 0)) : WF_OK;
  }
  int64_t windows = wf_sizes(grad[0]).at[p->dim];
  for (int64_t i = 0; i < p->size; i++) {
    wf_tensor *part = wf_slice(whole, p->dim, i, i + (windows - 1) * p->step + 1, p->step),
              *g = wf_select(grad[0], -1, i);
    WF__TRY(part && g ? wf__ops.add_(part, g) : wf__self.pending);
  }
  out[0] = whole;
  return WF_OK;
}
static const wf__node_class unfold_class = {"UnfoldBackward0", unfold_apply, NULL};

static wf_status unfold_layout(const wf_tensor *self, unfold_payload *p, wf__layout *l) {
  *l = self->layout;
  WF__TRY(wf__wrap_dim(&p->dim, l->ndim, true));
  bool number = l->ndim == 0;
  int64_t extent = number ? 1 : l->size[p->dim], stride = number ? 1 : l->stride[p->dim];
  WF__CHECK(p->size >= 0, WF_RUNTIME, "size is %lld but must be >= 0", (long long)p->size);
  WF__CHECK(p->size <= extent, WF_RUNTIME, "maximum size for tensor at dimension %lld is %lld but size is %lld",
            (long long)p->dim, (long long)extent, (long long)p->size);
  WF__CHECK(p->step > 0, WF_RUNTIME, "step is %lld but must be > 0", (long long)p->step);
  WF__CHECK(l->ndim < WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS,
            l->ndim + 1);
  if (!number) {
    int64_t count = (extent - p->size) / p->step + 1;
    l->size[p->dim] = count;
    if (__builtin_mul_overflow(stride, p->step, &l->stride[p->dim])) l->stride[p->dim] = count > 1 ? stride : 0;
  }
  l->size[l->ndim] = p->size;
  l->stride[l->ndim++] = stride;
  return wf__layout_recount(l);
}

wf_tensor *wf_unfold(const wf_tensor *self, int64_t dimension, int64_t size, int64_t step) {
  WF__OP("unfold", NULL);
  unfold_payload p = {.dim = dimension, .size = size, .step = step};
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(unfold_layout(self, &p, &layout), NULL);
  p.sizes = wf__sizes_of(self);
  return wf__give(wf__view_of(self, &layout, &unfold_class, &p, sizeof p));
}
