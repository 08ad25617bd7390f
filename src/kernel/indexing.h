/* Plans that address elements by tensors of indices or by masks, and the loops of SCAN: along one dim. What select, gather, scatter and
 * add along one dim read is in kernel/neural.h.
 *
 * ---- INDEX: several index tensors, masks ----
 * Operands share plan.size; operand `table` has stride 0 in the dims that come from an index alone. Index k, operand 2 + k (i64 or i32),
 * moves within it: shape[2 + k] holds { entries of the indexed dim, its byte stride in the table, its number for error texts }.
 *   INDEX_GET          0 out := table at the indices        1 table
 *   INDEX_PUT          0 table at the indices := value, += when param.index.flag; in the plan's order: the last of equal ones wins  1 value
 *   INDEX_NONZERO      0 out [count, dims] i64, stride[0] and stride[1] its own                  1 input over plan.size, unpermuted
 *   INDEX_MASKED_GET   0 out [count], stride[0] its own     1 table  2 mask (bytes), both over plan.size, unpermuted
 *   INDEX_MASKED_PUT   0 table over plan.size               1 source [param.index.count], stride[0] its own   2 mask
 * A negative index of GET and PUT counts from the end when param.index.flag2. param.index.step is a wf__index_refusal.
 *
 * ---- SCAN ----
 * Along dim param.index.dim of plan.size.
 *   SCAN_CUMSUM, SCAN_CUMPROD  0 out, 1 input, which is cast to out's dtype first. Sums of f32 are kept in f64, of halves in f32, of
 *                              integers in i64; each is rounded once
 *   SCAN_SORT, SCAN_TOPK       0 values  1 indices (i64)  2 input, with param.index.count entries along the dim, of which the first
 *                              plan.size[dim] in order are given. Stable. param.index.flag: descending. NaN is the greatest. */
#ifndef WF_KERNEL_INDEXING_H
#define WF_KERNEL_INDEXING_H

#include <weft/sys/plan.h>

/* How an index out of range is refused; by default as gather and scatter do, or for SELECT and ADD with the text of SELF. */
typedef enum wf__index_refusal {
  WF__REFUSE_DEFAULT, /* WF_RUNTIME "index i is out of bounds for dimension d with size n" */
  WF__REFUSE_SELF,    /* WF_INDEX "index out of range in self" */
  WF__REFUSE_BRACKET, /* WF_INDEX, the text of the first */
  WF__REFUSE_COPY,    /* WF_INDEX, the same behind "index_copy_(): " */
  WF__REFUSE_TAKE,    /* WF_INDEX "out of range: tried to access index i on a tensor of n elements." */
  WF__REFUSE_DATA     /* WF_RUNTIME "INDICES element is out of DATA bounds, id=i axis_dim=n" */
} wf__index_refusal;

/* One index tensor along a row of the plan. */
typedef struct wf__index_row {
  const char *at;
  int64_t stride; /* bytes from one index to the next */
  int64_t entries, step;
  bool narrow; /* i32 */
} wf__index_row;

/* n places, each a run of m elements of one table. Strides in bytes; add: elements of `dtype` are added, else moved. */
typedef struct wf__index_block {
  char *to;
  const char *from;
  int64_t n, to_stride, from_stride;
  int64_t m, to_step, from_step;
  const wf__index_row *row;
  int rows;
  bool wraps, into_table, add;
  wf_dtype dtype;
} wf__index_block;

/* Moves the block; indices are in range. */
void wf__ref_index_block(const wf__index_block *block);
/* Whether n indices are in range; the first that isn't goes to *bad. */
bool wf__ref_index_row_fits(const wf__index_row *row, int64_t n, bool wraps, int64_t *bad);
/* The coordinates of all elements that aren't 0, row by row. */
void wf__ref_nonzero(const wf_plan *plan);
/* How many bytes of the mask are set; and the elements there, in order. */
int64_t wf__ref_mask_count(const wf_plan *plan);
void wf__ref_masked(const wf_plan *plan);

/* An element to be sorted: a key that orders as its dtype does, and where it was. */
typedef struct wf__sort_entry {
  uint64_t key;
  int64_t at;
} wf__sort_entry;
/* Keys of n elements; descending keys are inverted. */
void wf__ref_sort_keys(wf_dtype dtype, const char *from, int64_t stride, int64_t n, bool descending,
                       wf__sort_entry *entry);
/* The k first of them, 1 <= k <= n, in the order of a stable sort. For k that are small beside n: others take k steps each. */
void wf__ref_select(wf_dtype dtype, const char *from, int64_t stride, int64_t n, bool descending, int64_t k,
                    wf__sort_entry *entry);
/* Sorts by the low `bytes` bytes of the key, stable; returns where the result is: in entry or in spare. */
const wf__sort_entry *wf__ref_sort(wf__sort_entry *entry, wf__sort_entry *spare, int64_t n, int bytes);

#endif
