/* See indexed.h. self is looked at as a table that stands still in the dims which indices choose (stride 0); the indices move within it. The
 * broadcasting iterator then decides order and strides as for any pointwise operator, and the kernel adds up the offsets. */
#include "op/indexed.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "op/place.h"
#include "tensor/iterator.h"

typedef struct walk {
  int n;                               /* index tensors */
  int dim[WF_MAX_DIMS];                /* of self */
  wf_tensor *index[WF__INDEX_TENSORS]; /* one reference each: reshaped to stand at its dims of the result */
  wf_tensor *table;                    /* one reference */
  int shape_n;
  int64_t shape[WF_MAX_DIMS]; /* of the indices together */
  int first;                  /* dim of the result where they begin */
} walk;

static void close_walk(walk *w) {
  for (int k = 0; k < w->n && k < WF__INDEX_TENSORS; k++) wf__tensor_release(w->index[k]);
  wf__tensor_release(w->table);
}

static wf_status collect(walk *w, const wf_tensor *self, const wf__indices *indices) {
  char texts[WF_MAX_DIMS * 64], one[WF__DIMS_TEXT];
  size_t used = 0;
  bool fits = true;
  for (int d = 0; d < self->layout.ndim; d++) {
    if (indices->at[d]) w->dim[w->n++] = d;
  }
  for (int k = 0; k < w->n && fits; k++) {
    wf_dims size = wf_sizes(indices->at[w->dim[k]]);
    for (int i = 1; i <= size.n && i <= w->shape_n && fits; i++) {
      int64_t a = size.at[size.n - i], b = w->shape[w->shape_n - i];
      fits = a == b || a == 1 || b == 1;
    }
    if (fits) WF__TRY(wf__broadcast(wf_dims_of(w->shape, w->shape_n), size, w->shape, &w->shape_n));
  }
  bool few = w->n <= WF__INDEX_TENSORS;
  WF__CHECK(few || !fits, WF_NOT_IMPLEMENTED, "index: more than %d index tensors", WF__INDEX_TENSORS);
  if (fits) return WF_OK;
  for (int k = 0; k < w->n && used < sizeof texts; k++)
    used += (size_t)snprintf(texts + used, sizeof texts - used, "%s%s", k ? ", " : "",
                             wf__dims_text(wf_sizes(indices->at[w->dim[k]]), one));
  return wf__fail(WF_INDEX, "shape mismatch: indexing tensors could not be broadcast together with shapes %s", texts);
}

static bool are_neighbours(const walk *w) { return w->n > 0 && w->dim[w->n - 1] - w->dim[0] == w->n - 1; }

static bool is_chosen(const walk *w, int dim) {
  for (int k = 0; k < w->n; k++)
    if (w->dim[k] == dim) return true;
  return false;
}

/* The result's sizes with self's strides, 0 where indices choose. */
static wf_status lay_table(walk *w, const wf_tensor *self, wf__layout *l) {
  const wf__layout *own = &self->layout;
  WF__CHECK(own->ndim - w->n + w->shape_n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d",
            WF_MAX_DIMS, own->ndim - w->n + w->shape_n);
  w->first = are_neighbours(w) ? w->dim[0] : 0;
  l->ndim = 0;
  l->offset = own->offset;
  for (int d = 0, left = w->first;; d++) {
    if (left-- == 0)
      for (int i = 0; i < w->shape_n; i++) {
        l->size[l->ndim] = w->shape[i];
        l->stride[l->ndim++] = 0;
      }
    if (d == own->ndim) break;
    if (is_chosen(w, d)) continue;
    l->size[l->ndim] = own->size[d];
    l->stride[l->ndim++] = own->stride[d];
  }
  return wf__layout_recount(l);
}

/* The k-th index over the common shape of indices, with size 1 in the other dims of the result. Their strides are those of a view: they have a
 * say in the order of dims. */
static wf_tensor *lay_index(const walk *w, const wf_tensor *index, int ndim) {
  wf__layout wide = {.ndim = w->shape_n}, l = {.ndim = ndim, .offset = index->layout.offset};
  int missing = w->shape_n - index->layout.ndim;
  for (int d = 0; d < wide.ndim; d++) {
    wide.size[d] = w->shape[d];
    wide.stride[d] =
        d < missing || index->layout.size[d - missing] != w->shape[d] ? 0 : index->layout.stride[d - missing];
  }
  for (int d = 0; d < ndim; d++) {
    bool own = d >= w->first && d < w->first + w->shape_n;
    l.size[d] = own ? w->shape[d - w->first] : 1;
    l.stride[d] = own ? wide.stride[d - w->first] : 0;
  }
  WF__TRY_OR(wf__layout_recount(&wide), NULL);
  WF__TRY_OR(wf__layout_recount(&l), NULL);
  int64_t stride[WF_MAX_DIMS];
  if (wf__view_strides(&wide, wf__layout_sizes(&l), stride)) memcpy(l.stride, stride, sizeof stride);
  return wf__tensor_alias(index, (wf_dtype)index->dtype, &l);
}

/* In brackets an index into a dim of size 0 is refused as such; elsewhere by the kernel, which names it. */
static wf_status check_empty(const walk *w, const wf_tensor *self, bool brackets) {
  if (!brackets) return WF_OK;
  for (int i = 0; i < w->shape_n; i++)
    if (w->shape[i] == 0) return WF_OK;
  for (int k = 0; k < w->n; k++)
    WF__CHECK(self->layout.size[w->dim[k]], WF_INDEX, "index is out of bounds for dimension with size 0");
  return WF_OK;
}

static wf_status open_walk(walk *w, const wf_tensor *self, const wf__indices *indices) {
  wf__layout layout;
  memset(w, 0, sizeof *w);
  WF__TRY(collect(w, self, indices));
  WF__TRY(check_empty(w, self, indices->ordinal));
  WF__TRY(lay_table(w, self, &layout));
  w->table = wf__tensor_alias(self, (wf_dtype)self->dtype, &layout);
  for (int k = 0; k < w->n && !wf__self.pending; k++) w->index[k] = lay_index(w, indices->at[w->dim[k]], layout.ndim);
  return wf__self.pending;
}

/* Builds, launches. first, second: the plan's operands 0 and 1, first NULL to be made; its reference is then the caller's, in *made. */
static wf_status run(const walk *w, const wf_tensor *self, const wf__indices *indices, int op, bool accumulate,
                     wf_tensor *first, const wf_tensor *second, wf_tensor **made) {
  wf_plan plan = {0};
  wf__iter it = {.outputs = 1, .operands = 2 + w->n, .no_overlap_check = true};
  it.tensor[0] = first;
  it.dtype[0] = (wf_dtype)self->dtype;
  it.tensor[1] = (wf_tensor *)second;
  for (int k = 0; k < w->n; k++) it.tensor[2 + k] = w->index[k];
  WF__TRY(wf__iter_build(&it, &plan));
  if (made) *made = it.tensor[0];
  plan.family = WF_FAMILY_INDEX;
  plan.op = (uint16_t)op;
  plan.param.index.flag = accumulate;
  plan.param.index.flag2 = indices->wraps;
  plan.param.index.step = indices->refusal;
  for (int k = 0; k < w->n; k++) {
    int64_t *about = plan.shape[2 + k];
    about[0] = self->layout.size[w->dim[k]];
    about[1] = self->layout.stride[w->dim[k]] * (int64_t)wf__itemsize(self);
    about[2] = indices->ordinal ? k : w->dim[k];
  }
  if (!it.tensor[0]->layout.numel) return WF_OK;
  return wf__launch_counted(&plan, it.tensor[0], (const wf_tensor *const *)it.tensor + 1, 1 + w->n);
}

wf_tensor *wf__index_get(const wf_tensor *self, const wf__indices *indices) {
  walk w;
  wf_tensor *out = NULL;
  if (!open_walk(&w, self, indices)) run(&w, self, indices, WF__INDEX_GET, false, NULL, w.table, &out);
  close_walk(&w);
  if (!wf__self.pending) return out;
  wf__tensor_release(out);
  return NULL;
}

wf_status wf__index_get_into(wf_tensor *out, const wf_tensor *self, const wf__indices *indices) {
  walk w;
  if (!open_walk(&w, self, indices)) run(&w, self, indices, WF__INDEX_GET, false, out, w.table, NULL);
  close_walk(&w);
  return wf__self.pending;
}

static wf_status check_values(const walk *w, const wf_tensor *values) {
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  const wf__layout *to = &w->table->layout, *from = &values->layout;
  bool fits = from->ndim <= to->ndim;
  for (int i = 1; i <= from->ndim && fits; i++) {
    int64_t size = from->size[from->ndim - i];
    fits = size == 1 || size == to->size[to->ndim - i];
  }
  WF__CHECK(fits, WF_RUNTIME,
            "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
            wf__dims_text(wf__layout_sizes(from), a), wf__dims_text(wf__layout_sizes(to), b));
  WF__CHECK(
      w->table->dtype == values->dtype, WF_RUNTIME,
      "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
      wf__scalar_type_text((wf_dtype)w->table->dtype), wf__scalar_type_text((wf_dtype)values->dtype));
  return WF_OK;
}

wf_status wf__index_put(wf_tensor *self, const wf__indices *indices, const wf_tensor *values, bool accumulate) {
  walk w;
  if (!open_walk(&w, self, indices) && !check_values(&w, values))
    run(&w, self, indices, WF__INDEX_PUT, accumulate, w.table, values, NULL);
  close_walk(&w);
  return wf__self.pending;
}
