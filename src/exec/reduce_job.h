/* What a reduction has become: its kernel, the road of the input to it, and the walks over results and over what each is made of.
 * exec_reduce.c makes and runs it; reduce_rows.c has the ways in which many sums or extremes are made together. */
#ifndef WF_EXEC_REDUCE_JOB_H
#define WF_EXEC_REDUCE_JOB_H

#include "exec/cast.h"
#include "exec/walk.h"

/* Sums or extremes made together: 4 KiB of double, in L1 with their second level; runs of 2 KiB of f32. */
#define WF__ROW_RESULTS 512
#define WF__ROWS 32 /* rows of the input in one unit of work */

typedef struct wf__reduce_job wf__reduce_job;
struct wf__reduce_job {
  const wf__kernels *kernels;
  wf__reduce_fn take;
  /* Units [begin, end) of the reductions whose input begins at `input`, into the states of `cols` neighbouring results. */
  void (*reduce)(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                 int64_t end);
  bool begins; /* `reduce` goes on from states that have begun; else it sets them */
  wf__reduce_op op;
  wf__reduce_kind kind;
  wf__class class;
  wf_dtype compute;
  bool is_integer, has_index;
  double parameter;
  wf__cast cast;
  wf__convert_fn to_out; /* compute to operand 0's dtype; NULL: nothing to do */
  int64_t size, wide;    /* bytes of an input element, in memory and in the kernel */
  int log_size;
  const wf_plan *plan;
  wf__walk kept;                   /* results: operands 0, 1, 2 */
  wf__walk reduced;                /* the outer reduced dims: operand 1 in slot 1 */
  int64_t index_step[WF_MAX_DIMS]; /* of the walk `reduced`: how far one step moves the index */
  int64_t n, stride, inner_step;   /* innermost reduced dim: elements, bytes, steps of the index */
  int64_t pieces, piece;           /* that dim is cut into pieces of `piece` elements */
  int64_t units;                   /* walk steps times pieces: what one reduction consists of */
  int64_t total;                   /* elements of one reduction */
  int64_t cols, col_stride[3];     /* kept dim along which results are made together; strides of operands 0, 1, 2 */
  int64_t blocks, block;           /* it is cut into blocks of `block` results */
  int64_t segments;                /* one result cut into segments: how many, */
  char *const *at;                 /* its corner, */
  wf__reduce_state *segment;       /* their states [segments][block], */
  int64_t now;                     /* and the number of columns */
};

/* Sums where a kept dim is consecutive: rows are added to a row of totals, eight at a time. */
void wf__sums_by_rows(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                      int64_t end);
/* Sums of short consecutive stretches, one for each result of a block. */
void wf__sums_of_stretches(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                           int64_t end);

/* Extremes without places, as sums by rows. */
void wf__extremes_by_rows(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                          int64_t end);

#endif
