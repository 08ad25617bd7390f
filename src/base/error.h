/* The error record of a thread and its single writer. A failing function sets it once and returns; callers pass it on. */
#ifndef WF_BASE_ERROR_H
#define WF_BASE_ERROR_H

#include "base/thread.h"

/* Sets the record (text as printf) unless an error is pending already: the first one stays. Returns the pending status. */
wf_status wf__fail(wf_status status, const char *format, ...) WF_PRINTF(2, 3);
/* Adds the hint to the record just set: operands, and what to do. */
void wf__hint(const char *format, ...) WF_PRINTF(1, 2);
/* WF_NO_MEMORY for host memory, in PyTorch's words. */
wf_status wf__fail_memory(size_t bytes);

/* Returns from the enclosing function with the pending status, or with `value`, when a step failed. */
#define WF__TRY(step)                               \
  do {                                              \
    wf_status wf__s = (step);                       \
    if (WF__UNLIKELY(wf__s != WF_OK)) return wf__s; \
  } while (0)
#define WF__TRY_OR(step, value)                        \
  do {                                                 \
    if (WF__UNLIKELY((step) != WF_OK)) return (value); \
  } while (0)
/* PyTorch's TORCH_CHECK: `return wf__fail(...)` unless it holds. */
#define WF__CHECK(condition, ...)                                 \
  do {                                                            \
    if (WF__UNLIKELY(!(condition))) return wf__fail(__VA_ARGS__); \
  } while (0)

/* Puts an error aside so that something else can run, and back. For cleanup paths that must call operators. */
wf_status wf__error_suspend(void);
void wf__error_resume(wf_status status);

/* "[2, 3]" into a static-size buffer of the caller. */
#define WF__DIMS_TEXT 400
char *wf__dims_text(wf_dims d, char buffer[WF__DIMS_TEXT]);

#endif
