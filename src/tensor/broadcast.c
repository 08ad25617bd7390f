/* Broadcasting: common sizes of two operands, and the layout that shows one tensor at larger sizes by strides of 0. */
#include "tensor/layout.h"

wf_status wf__broadcast(wf_dims a, wf_dims b, int64_t *out, int *n) {
  int rank = a.n > b.n ? a.n : b.n;
  WF__CHECK(rank <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, rank);
  int64_t size[WF_MAX_DIMS]; /* out may be a's or b's own array */
  for (int i = rank - 1; i >= 0; i--) {
    int ia = i - (rank - a.n), ib = i - (rank - b.n);
    int64_t x = ia >= 0 ? a.at[ia] : 1, y = ib >= 0 ? b.at[ib] : 1;
    WF__CHECK(x == y || x == 1 || y == 1, WF_RUNTIME,
              "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
              (long long)x, (long long)y, i);
    size[i] = x == 1 ? y : x;
  }
  for (int i = 0; i < rank; i++) out[i] = size[i];
  *n = rank;
  return WF_OK;
}

wf_status wf__layout_expand(const wf__layout *l, wf_dims size, const char *type, wf__layout *out) {
  char target[WF__DIMS_TEXT], own[WF__DIMS_TEXT];
  int64_t sizes[WF_MAX_DIMS], strides[WF_MAX_DIMS];
  wf_dims have = wf__layout_sizes(l);
  WF__TRY(wf__list_check(size));
  WF__CHECK(
      size.n >= l->ndim, WF_RUNTIME,
      "expand(%s{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor "
      "(%d)",
      type, wf__dims_text(have, own), wf__dims_text(size, target), size.n, l->ndim);
  WF__CHECK(size.n <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, size.n);
  for (int i = size.n - 1; i >= 0; i--) {
    int own_dim = i - (size.n - l->ndim);
    int64_t wanted = size.at[i], n = own_dim >= 0 ? l->size[own_dim] : 1, stride;
    if (own_dim >= 0) {
      stride = l->stride[own_dim];
    } else { /* a new leading dim; what follows in `strides` is placed already */
      stride = l->ndim == 0 || i + 1 == size.n ? 0 : (int64_t)((uint64_t)sizes[i + 1] * (uint64_t)strides[i + 1]);
      WF__CHECK(wanted != -1 || l->ndim == 0, WF_RUNTIME,
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", i);
    }
    if (wanted == -1 && own_dim >= 0) wanted = n; /* a number has no size to keep: -1 ends as a negative one */
    if (n != wanted) {
      WF__CHECK(
          n == 1, WF_RUNTIME,
          "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension %d.  Target sizes: "
          "%s.  Tensor sizes: %s",
          (long long)wanted, (long long)n, i, wf__dims_text(size, target), wf__dims_text(have, own));
      stride = 0;
    }
    sizes[i] = wanted;
    strides[i] = stride;
  }
  if (!wf__layout_strided(out, wf_dims_of(sizes, size.n), wf_dims_of(strides, size.n), l->offset)) return WF_OK;
  wf__hint("%s can't be shown as %s: sizes are 0 or more, -1 keeps one that is there, and their product fits 63 bits",
           wf__dims_text(have, own), wf__dims_text(size, target));
  return wf__self.pending;
}
