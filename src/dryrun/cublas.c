/* cuBLAS and cuBLASLt: the answers that decide something in a program. The products themselves are in entries.def. Workspaces of matrix products are
 * PyTorch's own, of sizes that it chooses by capability, so they are counted without help. */
#include <string.h>
#include "dryrun/stand_in.h"

DRY_API int cublasGetVersion_v2(void *handle, int *version) {
  *version = wf__dry_runtime() / 1000 * 10000 + 300; /* only ever compared with releases of the same toolkit */
  return DRY_OK;
}
DRY_API size_t cublasLtGetVersion(void) { return (size_t)wf__dry_runtime() / 1000 * 10000 + 300; }

static __thread struct {
  int math_mode, pointer_mode;
  void *stream;
} last_set __attribute__((tls_model("initial-exec")));

DRY_API int cublasSetMathMode(void *handle, int mode) { return last_set.math_mode = mode, DRY_OK; }
DRY_API int cublasGetMathMode(void *handle, int *mode) { return *mode = last_set.math_mode, DRY_OK; }
DRY_API int cublasSetPointerMode_v2(void *handle, int mode) { return last_set.pointer_mode = mode, DRY_OK; }
DRY_API int cublasGetPointerMode_v2(void *handle, int *mode) { return *mode = last_set.pointer_mode, DRY_OK; }
DRY_API int cublasSetStream_v2(void *handle, void *stream) { return last_set.stream = stream, DRY_OK; }
DRY_API int cublasGetStream_v2(void *handle, void **stream) { return *stream = last_set.stream, DRY_OK; }

/* cublasLtMatmulHeuristicResult_t. */
typedef struct heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
} heuristic;

/* One algorithm, which needs no workspace beyond the one that PyTorch has taken by then. */
DRY_API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d,
                                           void *preference, int asked, heuristic *results, int *given) {
  enum { INVALID = 7 };
  if (asked < 1 || !results || !given) return INVALID;
  memset(results, 0, sizeof *results);
  results->waves = 1;
  *given = 1;
  return DRY_OK;
}
