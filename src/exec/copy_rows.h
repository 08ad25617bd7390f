/* Rows of copies: the innermost loops that all methods end in. */
#ifndef WF_EXEC_COPY_ROWS_H
#define WF_EXEC_COPY_ROWS_H

#include "exec/copy_method.h"
#include "kernel/tables.h"

/* What a row needs to know. */
typedef struct wf__copy_row {
  const wf__kernels *kernels;
  wf__convert_fn convert; /* NULL: the elements stay as they are */
  int64_t to_size, from_size;
  int to_log, from_log;
  int64_t to_stride;
  bool stream;
} wf__copy_row;

/* n elements at equal distances from src to the destination's row at dst. */
void wf__copy_row_move(const wf__copy_row *row, char *dst, const char *src, int64_t from_stride, int64_t n);

/* TILES (copy_tiles.c). */
wf_status wf__copy_tiles(const wf__copy_method *method, char *dst, const char *src);

static inline int wf__copy_log(int64_t size) { return __builtin_ctzll((unsigned long long)size); }

#endif
