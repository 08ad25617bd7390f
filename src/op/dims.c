/* Views that reorder, drop or add dimensions, and their in-place forms. */
#include "op/view_make.h"

/* ---- transpose ---------------------------------------------------------------------------------------------------------------- */

typedef struct two_dims {
  int64_t a, b;
} two_dims;

static wf_status transpose_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const two_dims *p = node->payload;
  out[0] = wf_transpose(grad[0], p->a, p->b);
  return wf__self.pending;
}
static const wf__node_class transpose_class = {"TransposeBackward0", transpose_apply, NULL};
static const wf__node_class transpose_in_place_class = {"TransposeBackward1", transpose_apply, NULL};

static wf_status transpose_layout(const wf_tensor *self, two_dims *dims, wf__layout *l) {
  wf__layout_copy(l, &self->layout);
  WF__TRY(wf__wrap_dim(&dims->a, l->ndim, true));
  WF__TRY(wf__wrap_dim(&dims->b, l->ndim, true));
  if (l->ndim == 0) return WF_OK;
  int64_t size = l->size[dims->a], stride = l->stride[dims->a];
  l->size[dims->a] = l->size[dims->b];
  l->stride[dims->a] = l->stride[dims->b];
  l->size[dims->b] = size;
  l->stride[dims->b] = stride;
  return WF_OK;
}

wf_tensor *wf_transpose(const wf_tensor *self, int64_t dim0, int64_t dim1) {
  WF__OP("transpose", NULL);
  two_dims dims = {dim0, dim1};
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(transpose_layout(self, &dims, &layout), NULL);
  return wf__give(wf__view_of(self, &layout, &transpose_class, &dims, sizeof dims));
}

wf_status wf_transpose_(wf_tensor *self, int64_t dim0, int64_t dim1) {
  WF__OP("transpose_", wf__self.pending);
  two_dims dims = {dim0, dim1};
  wf__layout layout;
  WF__TRY(wf__view_in_place_begin(self));
  WF__TRY(transpose_layout(self, &dims, &layout));
  return wf__view_in_place(self, &layout, &transpose_in_place_class, &dims, sizeof dims);
}

static wf_status t_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)node;
  out[0] = wf_t(grad[0]);
  return wf__self.pending;
}
static const wf__node_class t_class = {"TBackward0", t_apply, NULL};
static const wf__node_class t_in_place_class = {"TBackward1", t_apply, NULL};

static wf_status t_layout(const wf_tensor *self, const char *name, wf__layout *l) {
  two_dims dims = {0, self->layout.ndim < 2 ? 0 : 1};
  WF__CHECK(self->layout.ndim <= 2, WF_RUNTIME, "%s() expects a tensor with <= 2 dimensions, but self is %dD", name,
            self->layout.ndim);
  return transpose_layout(self, &dims, l);
}

wf_tensor *wf_t(const wf_tensor *self) {
  WF__OP("t", NULL);
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(t_layout(self, "t", &layout), NULL);
  return wf__give(wf__view_of(self, &layout, &t_class, NULL, 0));
}

wf_status wf_t_(wf_tensor *self) {
  WF__OP("t_", wf__self.pending);
  wf__layout layout;
  WF__TRY(wf__view_in_place_begin(self));
  WF__TRY(t_layout(self, "t_", &layout));
  return wf__view_in_place(self, &layout, &t_in_place_class, NULL, 0);
}

/* ---- permute --------------------------------------------------------------------------------------------------------------------- */

/* The payload holds the permutation as a wf__sizes. */
static wf_status permute_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const wf__sizes *order = node->payload;
  int64_t inverse[WF_MAX_DIMS];
  for (int i = 0; i < order->n; i++) inverse[order->at[i]] = i;
  out[0] = wf_permute(grad[0], wf_dims_of(inverse, order->n));
  return wf__self.pending;
}
static const wf__node_class permute_class = {"PermuteBackward0", permute_apply, NULL};

/* order: each dim once, wrapped. */
static wf_tensor *permuted(const wf_tensor *self, const wf__sizes *order) {
  wf__layout l;
  l.ndim = self->layout.ndim;
  l.numel = self->layout.numel;
  l.offset = self->layout.offset;
  for (int i = 0; i < l.ndim; i++) {
    l.size[i] = self->layout.size[order->at[i]];
    l.stride[i] = self->layout.stride[order->at[i]];
  }
  return wf__view_of(self, &l, &permute_class, order, sizeof *order);
}

static wf_status permutation(const wf_tensor *self, wf_dims dims, wf__sizes *order) {
  uint32_t seen = 0;
  order->n = dims.n;
  WF__TRY(wf__list_check(dims));
  WF__CHECK(
      dims.n == self->layout.ndim, WF_RUNTIME,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions "
      "i.e. input.dim() = %d is not equal to len(dims) = %d",
      self->layout.ndim, dims.n);
  for (int i = 0; i < dims.n; i++) {
    order->at[i] = dims.at[i];
    WF__TRY(wf__wrap_dim(&order->at[i], dims.n, true));
    WF__CHECK(!(seen >> order->at[i] & 1), WF_RUNTIME, "permute(): duplicate dims are not allowed.");
    seen |= 1u << order->at[i];
  }
  return WF_OK;
}

wf_tensor *wf_permute(const wf_tensor *self, wf_dims dims) {
  WF__OP("permute", NULL);
  wf__sizes order;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(permutation(self, dims, &order), NULL);
  return wf__give(permuted(self, &order));
}

/* ---- movedim ------------------------------------------------------------------------------------------------------------------------ */

static wf_status wrap_all(wf_dims dims, int ndim, int64_t *out) {
  WF__CHECK(dims.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, dims.n);
  for (int i = 0; i < dims.n; i++) {
    out[i] = dims.at[i];
    WF__TRY(wf__wrap_dim(&out[i], ndim, true));
  }
  return WF_OK;
}

static wf_status check_unique(const int64_t *wrapped, wf_dims given, const char *what) {
  char text[WF__DIMS_TEXT];
  uint32_t seen = 0;
  for (int i = 0; i < given.n; i++) {
    WF__CHECK(!(seen >> wrapped[i] & 1), WF_RUNTIME, "movedim: repeated dim in `%s` (%s)", what,
              wf__dims_text(given, text));
    seen |= 1u << wrapped[i];
  }
  return WF_OK;
}

/* Where dims named in destination come from; the others fill the free places in order. */
static wf_status movedim_order(const wf_tensor *self, wf_dims source, wf_dims destination, wf__sizes *order) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  int64_t from[WF_MAX_DIMS], to[WF_MAX_DIMS];
  int ndim = self->layout.ndim;
  WF__TRY(wf__list_check(source));
  WF__TRY(wf__list_check(destination));
  WF__CHECK(
      source.n == destination.n, WF_RUNTIME,
      "movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims as destination (%s dims)",
      wf__dims_text(source, a), wf__dims_text(destination, b));
  WF__TRY(wrap_all(source, ndim, from));
  WF__TRY(wrap_all(destination, ndim, to));
  WF__TRY(check_unique(from, source, "source"));
  WF__TRY(check_unique(to, destination, "destination"));
  order->n = ndim;
  if (ndim == 0) return WF_OK;
  uint32_t moved = 0, placed = 0;
  for (int i = 0; i < source.n; i++) {
    order->at[to[i]] = from[i];
    placed |= 1u << to[i];
    moved |= 1u << from[i];
  }
  for (int place = 0, dim = 0; place < ndim; place++) {
    if (placed >> place & 1) continue;
    while (moved >> dim & 1) dim++;
    order->at[place] = dim++;
  }
  return WF_OK;
}

wf_tensor *wf_movedim(const wf_tensor *self, wf_dims source, wf_dims destination) {
  WF__OP("movedim", NULL);
  wf__sizes order = {0};
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(movedim_order(self, source, destination, &order), NULL);
  if (self->layout.ndim == 0) return wf__give(wf__view_of(self, &self->layout, &permute_class, &order, sizeof order));
  return wf__give(permuted(self, &order));
}

/* ---- squeeze, unsqueeze --------------------------------------------------------------------------------------------------------------- */

static const wf__node_class squeeze_classes[2][3] = {
    {{"SqueezeBackward0", wf__reshape_apply, NULL},
     {"SqueezeBackward1", wf__reshape_apply, NULL},
     {"SqueezeBackward2", wf__reshape_apply, NULL}},
    {{"SqueezeBackward3", wf__reshape_apply, NULL},
     {"SqueezeBackward4", wf__reshape_apply, NULL},
     {"SqueezeBackward5", wf__reshape_apply, NULL}},
};
static const wf__node_class *squeeze_class(bool in_place, wf__squeeze_form form) {
  return &squeeze_classes[in_place][form];
}

/* Bit d of *chosen: dim d may go. */
static wf_status choose_dims(const wf_tensor *self, wf_dims dims, uint32_t *chosen) {
  *chosen = 0;
  WF__TRY(wf__list_check(dims));
  for (int i = 0; i < dims.n; i++) {
    int64_t d = dims.at[i];
    WF__TRY(wf__wrap_dim(&d, self->layout.ndim, true));
    WF__CHECK(!(*chosen >> d & 1), WF_RUNTIME, "dim %lld appears multiple times in the list of dims", (long long)d);
    *chosen |= 1u << d;
  }
  return WF_OK;
}

static wf_status squeeze_layout(const wf_tensor *self, wf_dims dims, wf__squeeze_form form, wf__layout *l) {
  uint32_t chosen = UINT32_MAX;
  if (form != WF__SQUEEZE_ALL) WF__TRY(choose_dims(self, dims, &chosen));
  l->numel = self->layout.numel;
  l->offset = self->layout.offset;
  l->ndim = 0;
  for (int d = 0; d < self->layout.ndim; d++) {
    if (self->layout.size[d] == 1 && (chosen >> d & 1)) continue;
    l->size[l->ndim] = self->layout.size[d];
    l->stride[l->ndim++] = self->layout.stride[d];
  }
  return WF_OK;
}

wf_tensor *wf__squeeze(const wf_tensor *self, wf_dims dims, wf__squeeze_form form) {
  WF__OP("squeeze", NULL);
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(squeeze_layout(self, dims, form, &layout), NULL);
  if (WF__LIKELY(!wf__may_need_grad(self))) return wf__give(wf__tensor_view(self, &layout));
  wf__sizes sizes = wf__sizes_of(self);
  return wf__give(wf__view_of(self, &layout, squeeze_class(false, form), &sizes, sizeof sizes));
}

wf_status wf__squeeze_(wf_tensor *self, wf_dims dims, wf__squeeze_form form) {
  WF__OP("squeeze_", wf__self.pending);
  wf__layout layout;
  WF__TRY(wf__view_in_place_begin(self));
  WF__TRY(squeeze_layout(self, dims, form, &layout));
  wf__sizes sizes = wf__sizes_of(self);
  return wf__view_in_place(self, &layout, squeeze_class(true, form), &sizes, sizeof sizes);
}

static wf__squeeze_form form_of(wf_dims dims) {
  return dims.n == 0 ? WF__SQUEEZE_ALL : dims.n == 1 ? WF__SQUEEZE_DIM : WF__SQUEEZE_DIMS;
}
wf_tensor *wf_squeeze(const wf_tensor *self, wf_dims dims) {
  WF__OP("squeeze", NULL);
  return wf__squeeze(self, dims, form_of(dims));
}
wf_status wf_squeeze_(wf_tensor *self, wf_dims dims) {
  WF__OP("squeeze_", wf__self.pending);
  return wf__squeeze_(self, dims, form_of(dims));
}

static wf_status unsqueeze_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  out[0] = wf_squeeze(grad[0], wf_dims_of(node->payload, 1));
  return wf__self.pending;
}
static const wf__node_class unsqueeze_class = {"UnsqueezeBackward0", unsqueeze_apply, NULL};
static const wf__node_class unsqueeze_in_place_class = {"UnsqueezeBackward1", unsqueeze_apply, NULL};

static wf_status unsqueeze_layout(const wf_tensor *self, int64_t *dim, wf__layout *l) {
  const wf__layout *old = &self->layout;
  WF__TRY(wf__wrap_dim(dim, old->ndim + 1, true));
  WF__CHECK(old->ndim < WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS,
            old->ndim + 1);
  wf__layout_copy(l, old);
  for (int d = old->ndim; d > *dim; d--) {
    l->size[d] = old->size[d - 1];
    l->stride[d] = old->stride[d - 1];
  }
  l->ndim++;
  l->size[*dim] = 1;
  l->stride[*dim] = *dim < old->ndim ? (int64_t)((uint64_t)old->size[*dim] * (uint64_t)old->stride[*dim]) : 1;
  return WF_OK;
}

wf_tensor *wf_unsqueeze(const wf_tensor *self, int64_t dim) {
  WF__OP("unsqueeze", NULL);
  wf__layout layout;
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(unsqueeze_layout(self, &dim, &layout), NULL);
  return wf__give(wf__view_of(self, &layout, &unsqueeze_class, &dim, sizeof dim));
}

wf_status wf_unsqueeze_(wf_tensor *self, int64_t dim) {
  WF__OP("unsqueeze_", wf__self.pending);
  wf__layout layout;
  WF__TRY(wf__view_in_place_begin(self));
  WF__TRY(unsqueeze_layout(self, &dim, &layout));
  return wf__view_in_place(self, &layout, &unsqueeze_in_place_class, &dim, sizeof dim);
}
