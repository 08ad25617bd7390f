/* What reader and writer of safetensors share: the dtypes of the format. */
#ifndef WF_IO_SAFETENSORS_H
#define WF_IO_SAFETENSORS_H

#include <weft/io.h>

#define WF__SAFETENSORS_HEADER_MAX 100000000

/* One dtype of the format in the writer's order of rows. dtype NONE: Weft has no such type. */
typedef struct wf__safetensors_dtype {
  const char *name;
  int bits;
  wf_dtype dtype;
} wf__safetensors_dtype;

/* NULL when the format has no such name. */
const wf__safetensors_dtype *wf__safetensors_dtype_named(const char *name);
/* Row of a Weft dtype; every one has one. *rank: its place in the writer's order. */
const wf__safetensors_dtype *wf__safetensors_dtype_of(wf_dtype dtype, int *rank);

#endif
