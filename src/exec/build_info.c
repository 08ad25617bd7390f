/* What kernels and libraries are in use, for weft info and its like. */
#include <stdio.h>

#include "base/cpu.h"
#include "exec/blas.h"
#include "trace/trace.h"
#ifdef WF_HAVE_DNNL
#include <dnnl.h>
#endif

static const char *dnnl_text(void) {
#ifdef WF_HAVE_DNNL
  char text[32];
  const dnnl_version_t *v = dnnl_version();
  snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
  const char *kept = wf__intern(text);
  return kept ? kept : "";
#else
  return "none";
#endif
}

wf_build_info wf_get_build_info(void) {
  return (wf_build_info){wf__cpu_isa_name(wf__cpu_isa()), wf__blas_core(), wf__blas_threading(), dnnl_text()};
}
