/* What exec/ asks of OpenBLAS besides its products: which build runs, and with which kernels. */
#ifndef WF_EXEC_BLAS_H
#define WF_EXEC_BLAS_H

#include <weft/base.h>

/* "OpenMP", "pthreads", "sequential"; "none" without OpenBLAS. */
const char *wf__blas_threading(void);
/* The CPU whose kernels run: "SkylakeX"; "none" without OpenBLAS. */
const char *wf__blas_core(void);

#endif
