/* cuDNN's older way to convolutions, which PyTorch takes where TORCH_CUDNN_V8_API_DISABLED is set: one algorithm for each, which needs no work space, and
 * the report says so. */
#include "dryrun/stand_in.h"

/* cudnnConvolutionFwdAlgoPerf_t; those of the derivatives are the same. */
typedef struct performance {
  int algorithm, status;
  float milliseconds;
  size_t work_space;
  int deterministic, math, reserved[3];
} performance;

static int give_one(int asked, int *given, performance *results) {
  enum { INVALID = 2000, IMPLICIT_GEMM = 1, DETERMINISTIC = 1 };
  if (asked < 1 || !given || !results) return INVALID;
  wf__dry_limit(
      "cuDNN's algorithms of convolutions",
      "their workspaces aren't counted: which is chosen depends on the GPU (without TORCH_CUDNN_V8_API_DISABLED "
      "cuDNN 9.8 and later can be asked)");
  results[0] = (performance){.algorithm = IMPLICIT_GEMM, .deterministic = DETERMINISTIC};
  *given = 1;
  return DRY_OK;
}

/* The three kinds of convolution have the same arguments in the same places. */
#define CONVOLUTION(kind)                                                                                            \
  DRY_API int cudnnGetConvolution##kind##Algorithm_v7(void *handle, void *a, void *b, void *convolution, void *c,    \
                                                      int asked, int *given, performance *results) {                 \
    return give_one(asked, given, results);                                                                          \
  }                                                                                                                  \
  DRY_API int cudnnFindConvolution##kind##AlgorithmEx(void *handle, void *a, void *a_at, void *b, void *b_at,        \
                                                      void *convolution, void *c, void *c_at, int asked, int *given, \
                                                      performance *results, void *work, size_t work_bytes) {         \
    return give_one(asked, given, results);                                                                          \
  }
CONVOLUTION(Forward)
CONVOLUTION(BackwardData)
CONVOLUTION(BackwardFilter)
