/* Rows of copies: the innermost loops that all methods end in. */
#ifndef WF_EXEC_COPY_ROWS_H
#define WF_EXEC_COPY_ROWS_H

#include "exec/copy_method.h"
#include "kernel/tables.h"

#define WF__COPY_PERIOD 512 /* elements that factors are repeated for */

/* Scaled copies (copy_scaled.c): where an element's factor is. */
typedef struct wf__copy_scale {
  wf__convert_fn widen, narrow; /* to and from f32, NULL when it is that */
  wf__scale_fn scale;
  int64_t to_size, from_size;  /* bytes of an element */
  const float *factor, *shift; /* `period` of them, going round */
  int64_t period;
  int64_t step; /* by which an element's are apart from the next one's: 0 or 1 */
  float repeated[2][WF__COPY_PERIOD];
} wf__copy_scale;

/* What a row needs to know. */
typedef struct wf__copy_row {
  const wf__kernels *kernels;
  wf__convert_fn convert; /* NULL: the elements stay as they are */
  int64_t to_size, from_size;
  int to_log, from_log;
  int64_t to_stride;
  const wf__copy_scale *scale; /* NULL: none */
  bool stream;
} wf__copy_row;

/* n elements at equal distances from src to the destination's row at dst; `by`: bytes from the first factor to the row's. */
void wf__copy_row_move(const wf__copy_row *row, char *dst, const char *src, int64_t from_stride, int64_t n, int64_t by);
/* Prepares a row of the method but for its stride: kernels, sizes, conversion. `scale` is filled for a scaled copy. */
void wf__copy_row_of(wf__copy_row *row, const wf__copy_method *method, const wf_plan *plan, wf__copy_scale *scale);
/* The factors of a plan, and n elements by them. */
void wf__copy_scale_of(wf__copy_scale *scale, const wf__copy_method *method, const wf_plan *plan);
void wf__copy_scaled(const wf__copy_scale *scale, char *dst, const char *src, int64_t n, int64_t by);

/* TILES (copy_tiles.c). */
void wf__copy_tiles(const wf__copy_method *method, const wf_plan *plan);

static inline int wf__copy_log(int64_t size) { return __builtin_ctzll((unsigned long long)size); }

#endif
