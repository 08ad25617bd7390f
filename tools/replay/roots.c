/* The one tolerance in exact data, for square roots. PyTorch takes them from MKL, which on some CPUs gives the neighbour of the correctly rounded
 * value (vmsSqrt with MKL_ENABLE_INSTRUCTIONS=SSE4_2: one float in seven), so a recorded root may be the accident of one machine. Where the
 * library's root is the correctly rounded one, the recorded value may be one unit in the last place beside it. Nothing else may. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

/* The step that bound `name`; a detached tensor has the elements of its source. */
static const json_t *maker(const json_t *steps, const char *name) {
  for (size_t i = json_array_size(steps); i-- > 0;) {
    const json_t *step = json_array_get(steps, i), *out = json_object_get(step, "out");
    const char *bound = json_string_value(json_array_get(out, 0));
    if (!bound || strcmp(bound, name)) continue;
    const char *op = json_string_value(json_object_get(step, "op"));
    if (strcmp(op, "detach")) return strcmp(op, "sqrt") ? NULL : step;
    return maker(steps, json_string_value(json_array_get(json_object_get(step, "in"), 0)));
  }
  return NULL;
}

/* Element i of the root's argument as it is now: an argument that changed meanwhile doesn't give the root, and nothing is tolerated. */
static bool argument(runner *r, const json_t *step, wf_dtype dtype, size_t i, double *x) {
  const char *name = json_string_value(json_array_get(json_object_get(step, "in"), 0));
  const reg *in = name ? find_register(&r->registers, name) : NULL;
  if (!in || in->kind != REGISTER_TENSOR || wf_dtype_of(in->tensor) != dtype || i >= (size_t)wf_numel(in->tensor))
    return false;
  size_t bytes = (size_t)wf_numel(in->tensor) * wf_dtype_size(dtype);
  void *data = malloc(bytes);
  bool got = data && !wf_to_host(in->tensor, data, bytes);
  if (got) *x = dtype == WF_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
  else wf_error_take();
  free(data);
  return got;
}

bool root_beside(runner *r, const char *name, wf_dtype dtype, size_t i, double came, double wanted) {
  double x;
  const json_t *step = maker(r->steps, name);
  if (!step || (dtype != WF_F32 && dtype != WF_F64) || !argument(r, step, dtype, i, &x)) return false;
  if (dtype == WF_F32) { /* the double's root, rounded once more, is the correctly rounded float */
    if ((float)came != (float)sqrt(x)) return false;
    return (float)wanted == nextafterf((float)came, (float)wanted) && (float)wanted != (float)came;
  }
  return came == sqrt(x) && wanted != came && wanted == nextafter(came, wanted);
}
