/* weft copy-plan: a copy as it is described on the command line, and its picture. */
#ifndef WEFT_TOOLS_COPY_PLAN_H
#define WEFT_TOOLS_COPY_PLAN_H

#include "weft.h"

/* One side of a copy: sizes and strides in elements. */
typedef struct side {
  wf_dtype dtype;
  int ndim;
  int64_t size[WF_MAX_DIMS], stride[WF_MAX_DIMS];
} side;

typedef struct copy_request {
  char title[512]; /* "f32[32,224,224,3] permute 0,3,1,2 to bf16" */
  side from, to;   /* `from` in the destination's order of dims */
} copy_request;

/* Writes the picture of what moves. False when the file can't be written: errno says why. */
bool copy_picture_write(const char *path, const copy_request *request, const wf_copy_explanation *explanation);

#endif
