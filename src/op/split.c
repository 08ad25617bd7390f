/* Views of all parts of a dimension: split, chunk, tensor_split, unbind. Pieces of the first two and the last share one node, whose
 * derivative puts their gradients side by side; tensor_split gives plain slices, as in PyTorch. */
#include "base/host.h"
#include "op/view_make.h"

/* ---- lists of pieces ------------------------------------------------------------------------------------------------------------- */

/* A list under construction. `at` is NULL after an error. */
typedef struct pieces {
  wf_tensor **at;
  int n;
} pieces;

static wf_status pieces_begin(pieces *p, int64_t count) {
  *p = (pieces){NULL, 0};
  WF__CHECK(count >= 0 && count <= INT32_MAX / 2, WF_RUNTIME, "a list of %lld tensors is too long", (long long)count);
  p->at = wf__malloc((size_t)(count ? count : 1) * sizeof *p->at);
  return p->at ? WF_OK : wf__self.pending;
}

static void pieces_add(pieces *p, wf_tensor *t) {
  if (t) p->at[p->n++] = t;
}

/* A piece of a node shared by all; node NULL: no gradient is recorded. */
static wf_status pieces_add_output(pieces *p, const wf_tensor *self, const wf__layout *layout, wf__node *node) {
  wf_tensor *view = wf__tensor_view(self, layout);
  if (!view) return wf__self.pending;
  p->at[p->n++] = view;
  return wf__view_made(view, self, WF__VIEW_MULTI_OUTPUT, node, p->n - 1);
}

/* ---- split ------------------------------------------------------------------------------------------------------------------------- */

typedef struct split_payload {
  wf__sizes sizes;
  int64_t dim;
  int64_t piece;    /* size of all pieces but the last, or -1: as in `lengths` */
  int64_t *lengths; /* owned */
} split_payload;

static void split_destroy(wf__node *node) { wf__release(((split_payload *)node->payload)->lengths); }

static wf_tensor *some_grad(const wf__node *node, wf_tensor *const *grad) {
  for (uint32_t i = 0; i < node->outputs; i++)
    if (grad[i]) return grad[i];
  return NULL;
}

static wf_status split_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const split_payload *p = node->payload;
  const wf_tensor *any = some_grad(node, grad);
  wf_tensor *whole = any ? wf__zeros_for(any, &p->sizes) : NULL;
  if (!whole) return wf__self.pending;
  int64_t start = 0, size = p->sizes.at[p->dim];
  for (uint32_t i = 0; i < node->outputs; i++) {
    int64_t length = p->lengths ? p->lengths[i] : p->piece < size - start ? p->piece : size - start;
    wf_tensor *part = grad[i] ? wf_narrow(whole, p->dim, start, length) : NULL;
    if (grad[i]) WF__TRY(part ? wf__ops.copy_(part, grad[i]) : wf__self.pending);
    start += length;
  }
  out[0] = whole;
  return WF_OK;
}
static const wf__node_class split_class = {"SplitBackward0", split_apply, split_destroy};
static const wf__node_class split_with_sizes_class = {"SplitWithSizesBackward0", split_apply, split_destroy};

/* Views of the given lengths side by side, which fill the dimension. lengths NULL: all of `piece`, the last as it comes. */
static wf_tensors side_by_side(const wf_tensor *self, int64_t dim, int64_t count, const int64_t *lengths, int64_t piece,
                               const wf__node_class *cls) {
  split_payload payload = {.sizes = wf__sizes_of(self), .dim = dim, .piece = piece};
  wf_tensors none = {NULL, 0};
  pieces list;
  WF__TRY_OR(pieces_begin(&list, count), none);
  wf__node *node = wf__view_node(self, cls, &payload, sizeof payload);
  if (node && lengths) {
    int64_t *kept = ((split_payload *)node->payload)->lengths = wf__malloc((size_t)(count ? count : 1) * sizeof *kept);
    for (int64_t i = 0; kept && i < count; i++) kept[i] = lengths[i];
  }
  wf__layout l = self->layout;
  int64_t left = self->layout.size[dim];
  for (int64_t i = 0; i < count && !wf__self.pending; i++) {
    int64_t length = lengths ? lengths[i] : piece < left ? piece : left;
    l.size[dim] = length;
    if (!wf__layout_recount(&l)) pieces_add_output(&list, self, &l, node);
    l.offset += length * l.stride[dim];
    left -= length;
  }
  wf__node_release(node);
  return wf__give_list(list.at, list.n);
}

static wf_status check_split(const wf_tensor *self, int64_t size, int64_t *dim) {
  WF__CHECK(self->layout.ndim > 0, WF_RUNTIME, "split expects at least a 1-dimensional tensor");
  WF__CHECK(size >= 0, WF_RUNTIME, "split expects split_size be non-negative, but got split_size=%lld",
            (long long)size);
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  int64_t extent = self->layout.size[*dim];
  WF__CHECK(size > 0 || extent == 0, WF_RUNTIME,
            "split_size can only be 0 if dimension size is 0, but got dimension size of %lld", (long long)extent);
  return WF_OK;
}

static wf_tensors split(const wf_tensor *self, int64_t size, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__TRY_OR(check_split(self, size, &dim), none);
  int64_t extent = self->layout.size[dim], count = size ? extent / size + (extent % size != 0) : 1;
  return side_by_side(self, dim, count ? count : 1, NULL, size, &split_class);
}

wf_tensors wf_split(const wf_tensor *self, int64_t split_size, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("split", none);
  WF__TRY_OR(wf__given(self, "self"), none);
  return split(self, split_size, dim);
}

static wf_status check_sizes(const wf_tensor *self, wf_dims sizes, int64_t *dim) {
  char text[WF__DIMS_TEXT];
  int64_t sum = 0, given = *dim;
  bool overflow = false;
  WF__CHECK(self->layout.ndim > 0, WF_RUNTIME, "split expects at least a 1-dimensional tensor");
  WF__TRY(wf__wrap_dim(dim, self->layout.ndim, true));
  WF__TRY(wf__list_check(sizes));
  for (int i = 0; i < sizes.n; i++) {
    WF__CHECK(sizes.at[i] >= 0, WF_RUNTIME,
              "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
              wf__dims_text(sizes, text));
    overflow |= __builtin_add_overflow(sum, sizes.at[i], &sum);
  }
  WF__CHECK(
      !overflow && sum == self->layout.size[*dim], WF_RUNTIME,
      "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), but got split_sizes=%s",
      (long long)self->layout.size[*dim], (long long)given, wf__dims_text(sizes, text));
  return WF_OK;
}

wf_tensors wf_split_with_sizes(const wf_tensor *self, wf_dims split_sizes, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("split_with_sizes", none);
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(check_sizes(self, split_sizes, &dim), none);
  return side_by_side(self, dim, split_sizes.n, split_sizes.at, -1, &split_with_sizes_class);
}

static wf_tensors chunk(const wf_tensor *self, int64_t chunks, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__TRY_OR(self->layout.ndim > 0 ? WF_OK : wf__fail(WF_RUNTIME, "chunk expects at least a 1-dimensional tensor"),
             none);
  WF__TRY_OR(chunks > 0
                 ? WF_OK
                 : wf__fail(WF_RUNTIME, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks),
             none);
  WF__TRY_OR(wf__wrap_dim(&dim, self->layout.ndim, true), none);
  int64_t extent = self->layout.size[dim], size = extent / chunks + (extent % chunks != 0);
  if (size > 0) return split(self, size, dim);
  /* An empty dimension: as many empty pieces as asked for, by the node of split_with_sizes. */
  int64_t *lengths = chunks <= INT32_MAX / 2 ? wf__calloc((size_t)chunks, sizeof *lengths) : NULL;
  if (!lengths) wf__fail(WF_RUNTIME, "a list of %lld tensors is too long", (long long)chunks);
  wf_tensors list = lengths ? side_by_side(self, dim, chunks, lengths, -1, &split_with_sizes_class) : none;
  wf__release(lengths);
  return list;
}

wf_tensors wf_chunk(const wf_tensor *self, int64_t chunks, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("chunk", none);
  WF__TRY_OR(wf__given(self, "self"), none);
  return chunk(self, chunks, dim);
}

/* ---- tensor_split ------------------------------------------------------------------------------------------------------------------ */

static wf_status check_tensor_split(const wf_tensor *self, int64_t *dim) {
  WF__CHECK(self->layout.ndim > 0, WF_RUNTIME,
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  return wf__wrap_dim(dim, self->layout.ndim, true);
}

wf_tensors wf_tensor_split(const wf_tensor *self, int64_t sections, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("tensor_split", none);
  pieces list;
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(check_tensor_split(self, &dim), none);
  if (sections <= 0) wf__fail(WF_RUNTIME, "number of sections must be larger than 0, got %lld", (long long)sections);
  WF__TRY_OR(wf__self.pending, none);
  WF__TRY_OR(pieces_begin(&list, sections), none);
  int64_t extent = self->layout.size[dim], start = 0;
  for (int64_t i = 0; i < sections && !wf__self.pending; i++) {
    int64_t length = extent / sections + (i < extent % sections);
    pieces_add(&list, wf__slice(self, dim, start, start + length, 1));
    start += length;
  }
  return wf__give_list(list.at, list.n);
}

wf_tensors wf_tensor_split_at(const wf_tensor *self, wf_dims indices, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("tensor_split", none);
  pieces list;
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(wf__list_check(indices), none);
  WF__TRY_OR(check_tensor_split(self, &dim), none);
  WF__TRY_OR(pieces_begin(&list, (int64_t)indices.n + 1), none);
  int64_t start = 0;
  for (int i = 0; i <= indices.n && !wf__self.pending; i++) {
    int64_t end = i < indices.n ? indices.at[i] : self->layout.size[dim];
    pieces_add(&list, wf__slice(self, dim, start, end, 1));
    start = end;
  }
  return wf__give_list(list.at, list.n);
}

/* ---- unbind --------------------------------------------------------------------------------------------------------------------------- */

typedef struct unbind_payload {
  wf__sizes sizes;
  int64_t dim;
} unbind_payload;

static wf_status unbind_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const unbind_payload *p = node->payload;
  const wf_tensor *any = some_grad(node, grad);
  wf_tensor *whole = any ? wf__zeros_for(any, &p->sizes) : NULL;
  if (!whole) return wf__self.pending;
  for (uint32_t i = 0; i < node->outputs; i++) {
    wf_tensor *part = grad[i] ? wf_select(whole, p->dim, i) : NULL;
    if (grad[i]) WF__TRY(part ? wf__ops.copy_(part, grad[i]) : wf__self.pending);
  }
  out[0] = whole;
  return WF_OK;
}
static const wf__node_class unbind_class = {"UnbindBackward0", unbind_apply, NULL};

wf_tensors wf_unbind(const wf_tensor *self, int64_t dim) {
  wf_tensors none = {NULL, 0};
  WF__OP("unbind", none);
  pieces list;
  WF__TRY_OR(wf__given(self, "self"), none);
  WF__TRY_OR(wf__wrap_dim(&dim, self->layout.ndim, true), none);
  if (!self->layout.ndim)
    return wf__fail(WF_INDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)dim), none;
  int64_t count = self->layout.size[dim], step = self->layout.stride[dim];
  unbind_payload payload = {.sizes = wf__sizes_of(self), .dim = dim};
  WF__TRY_OR(pieces_begin(&list, count), none);
  wf__node *node = wf__view_node(self, &unbind_class, &payload, sizeof payload);
  wf__layout l = self->layout;
  wf__layout_drop(&l, dim);
  wf__layout_recount(&l);
  for (int64_t i = 0; i < count && !wf__self.pending; i++) {
    pieces_add_output(&list, self, &l, node);
    l.offset += step;
  }
  wf__node_release(node);
  return wf__give_list(list.at, list.n);
}
