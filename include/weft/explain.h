/* What the copy engine would do, told beforehand: normal form, method and reasons. */
#ifndef WEFT_EXPLAIN_H
#define WEFT_EXPLAIN_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** How the copy engine moves elements. Numbers are ABI: append only. */
typedef enum wf_copy_method {
  WF_METHOD_NOTHING = 0, /* there are no elements, or each is at its place already */
  WF_METHOD_FILL,        /* one value everywhere */
  WF_METHOD_ROWS,        /* row by row; one run in the best case */
  WF_METHOD_STRAIGHT,    /* blocks turned in registers and stored straight into place */
  WF_METHOD_TILES,       /* blocks turned within the cache, then stored */
  WF_METHOD_TRANSFER     /* between devices */
} wf_copy_method;

/** What the copy engine would do, and why. Dims are those of its normal form: the destination's fastest last, dims of size 1 dropped,
 *  neighbours merged that are consecutive on both sides. Steps are in bytes. Texts are clauses without a full stop, static, and "" where
 *  there is nothing to say. */
typedef struct wf_copy_explanation {
  wf_copy_method method;
  const char *name;    /* "tiles" */
  const char *why;     /* why this method */
  const char *way;     /* where elements are between one side and the other */
  const char *convert; /* when elements are cast */
  const char *stores;  /* how results are stored, and why */
  bool streaming;      /* stores go past the cache */
  bool
      temporary; /* both sides overlap: a packed copy of the source is made first, and all the rest tells the copy from there */
  int ndim;
  int64_t size[WF_MAX_DIMS];
  int64_t dst_step[WF_MAX_DIMS];
  int64_t src_step[WF_MAX_DIMS];
  int64_t tile[WF_MAX_DIMS]; /* elements of one tile along each dim; 0 without tiles */
  int64_t element_bytes;     /* bytes that move as one: several elements where short runs agree on both sides */
  int64_t bytes_read;
  int64_t bytes_written;
} wf_copy_explanation;
/** What wf_copy_(dst, src) would do, by the function that chooses for it; src NULL: what wf_fill_ would. No data is read or written. Errors:
 *  WF_RUNTIME where wf_copy_ would refuse shapes or overlap. */
WF_API wf_status wf_copy_explain(const wf_tensor *dst, const wf_tensor *src, wf_copy_explanation *explanation);

WF_EXTERN_C_END
#endif
