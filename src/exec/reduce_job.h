/* What a reduction has become: its kernel, the road of the input to it, and the walks over results and over what each is made of.
 * exec_reduce.c makes and runs it; reduce_rows.c has the ways in which many sums or extremes are made together. */
#ifndef WF_EXEC_REDUCE_JOB_H
#define WF_EXEC_REDUCE_JOB_H

#include "exec/cast.h"
#include "exec/walk.h"

/* Sums or extremes made together: 4 KiB of double, in L1 with their second level; runs of 2 KiB of f32. */
#define WF__ROW_RESULTS 512
#define WF__ROWS_TOGETHER 32 /* rows of the input in one unit of work */

#define WF__TURNED 16

/* How many results are made together. */
typedef enum wf__rows_form {
  WF__ROWS,           /* a kept dim is consecutive: rows of the input are taken into a row of results */
  WF__ROWS_TURNED,    /* the reduced dim is, but has at most WF__TURNED elements: the same after turning them round */
  WF__ROWS_STRETCHES, /* it is and has more: sums of stretches, one for each result */
} wf__rows_form;

typedef struct wf__reduce_job wf__reduce_job;
struct wf__reduce_job {
  const wf__kernels *kernels;
  wf__reduce_fn take;
  /* Units [begin, end) of the reductions whose input begins at `input`, into the states of `cols` neighbouring results. */
  void (*reduce)(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                 int64_t end);
  bool
      begins; /* `reduce` goes on from states that have begun; else it sets them, and wf__row_values_of() does without them */
  wf__rows_form form; /* where `begins` is false */
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

/* Sums, products, counts and extremes of a block of results, in one of the three forms. Places of extremes: only where there is one unit. */
void wf__reduce_by_rows(const wf__reduce_job *j, char *input, int64_t cols, wf__reduce_state *state, int64_t begin,
                        int64_t end);

/* The same without the detour of states. */
typedef struct wf__row_values {
  char value[WF__ROW_RESULTS * 8] __attribute__((aligned(64)));
  int64_t place[WF__ROW_RESULTS]; /* of MAX and MIN with places: the row of each */
  wf_dtype dtype;                 /* of `value` */
} wf__row_values;
/* The units of a block whose input begins at `input`; there is at least one. */
void wf__row_values_of(const wf__reduce_job *j, char *input, int64_t cols, wf__row_values *values);

#endif
