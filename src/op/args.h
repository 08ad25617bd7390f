/* Argument types that operators take from the table of operators beyond those of the public face. */
#ifndef WF_OP_ARGS_H
#define WF_OP_ARGS_H

#include <weft/tensor.h>

/* A tensor or a number: "other" of add. Neither: absent. */
typedef struct wf__operand_arg {
  wf_tensor *tensor;
  wf_scalar scalar;
} wf__operand_arg;

/* One integer, a list of them, or a word: split's sizes, conv2d's padding ("same"). */
typedef struct wf__ints {
  wf_dims dims; /* one entry when single */
  bool single;
  const char *word; /* NULL: not a word */
} wf__ints;

/* A list of floating-point numbers: interpolate's scale_factor. single: it was one number. */
typedef struct wf__floats {
  const double *at;
  int n;
  bool single;
} wf__floats;

static inline wf__operand_arg wf__tensor_arg(const wf_tensor *t) {
  wf__operand_arg a = {(wf_tensor *)t, {WF_SCALAR_NONE, {0}}};
  return a;
}
static inline wf__operand_arg wf__number_arg(wf_scalar s) {
  wf__operand_arg a = {NULL, s};
  return a;
}

#endif
