/* Compares registers with what the case expects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "halves.h"
#include "replay.h"

typedef struct tolerance {
  double rtol, atol;
  bool exact;
} tolerance;

static bool close_enough(double came, double wanted, tolerance t) {
  if (isnan(wanted)) return isnan(came);
  if (isinf(wanted) || t.exact) return came == wanted;
  return fabs(came - wanted) <= t.atol + t.rtol * fabs(wanted);
}

/* The i-th element of a row-major host copy. */
static wf_scalar element(const void *data, size_t i, wf_dtype dtype) {
  switch (dtype) {
    case WF_F64: return wf_float(((const double *)data)[i]);
    case WF_F32: return wf_float(((const float *)data)[i]);
    case WF_F16: return wf_float(half_value(((const uint16_t *)data)[i]));
    case WF_BF16: return wf_float(bfloat_value(((const uint16_t *)data)[i]));
    case WF_I64: return wf_int(((const int64_t *)data)[i]);
    case WF_I32: return wf_int(((const int32_t *)data)[i]);
    case WF_I16: return wf_int(((const int16_t *)data)[i]);
    case WF_I8: return wf_int(((const int8_t *)data)[i]);
    case WF_U8: return wf_int(((const uint8_t *)data)[i]);
    case WF_BOOL:
      return wf_int(((const uint8_t *)data)[i] != 0); /* any other byte, through view_dtype, is true as well */
    default: return wf_int(((const uint8_t *)data)[i]);
  }
}

/* An expected number as the dtype holds it: cases write the shortest decimal that converts back. */
static double narrowed(double value, wf_dtype dtype) {
  uint8_t bytes[8];
  store_element(bytes, 0, dtype, wf_float(value));
  return element(bytes, 0, dtype).as.f;
}

static double as_double(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT ? s.as.f : (double)s.as.i; }

static void compare_elements(runner *r, const char *name, const char *field, const wf_tensor *t, const json_t *wanted,
                             tolerance tol) {
  size_t n = (size_t)wf_numel(t), bytes = n * wf_dtype_size(wf_dtype_of(t));
  if (n != json_array_size(wanted)) {
    mismatch(r, name, field, "%zu elements came, %zu expected", n, json_array_size(wanted));
    return;
  }
  void *data = malloc(bytes + 1);
  if (!data || wf_to_host(t, data, bytes)) {
    mismatch(r, name, field, "can't be read: %s", wf_error_take().text);
    free(data);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    wf_scalar came = element(data, i, wf_dtype_of(t)), want = json_scalar(json_array_get(wanted, i));
    bool is_float = came.kind == WF_SCALAR_FLOAT;
    double value = is_float ? narrowed(as_double(want), wf_dtype_of(t)) : 0;
    if (is_float ? close_enough(came.as.f, value, tol) : came.as.i == want.as.i) continue;
    if (tol.exact && is_float && root_beside(r, name, wf_dtype_of(t), i, came.as.f, value)) {
      note(r, name, "element %zu: the recorded root %.9g is the neighbour of the correctly rounded %.9g", i, value,
           came.as.f);
      continue;
    }
    mismatch(r, name, field, "element %zu: came %.17g, expected %.17g", i, as_double(came), as_double(want));
    break;
  }
  free(data);
}

static void compare_dims(runner *r, const char *name, const char *field, wf_dims came, const json_t *wanted) {
  bool same = (size_t)came.n == json_array_size(wanted);
  for (int i = 0; same && i < came.n; i++) {
    const json_t *w = json_array_get(wanted, (size_t)i);
    same = json_is_null(w) || came.at[i] == json_integer_value(w);
  }
  if (same) return;
  char text[512] = "";
  for (int i = 0, at = 0; i < came.n; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, i ? ", %lld" : "%lld", (long long)came.at[i]);
  char *list = json_dumps(wanted, JSON_COMPACT);
  mismatch(r, name, field, "came [%s], expected %s", text, list ? list : "?");
  free(list);
}

static void compare_int(runner *r, const char *name, const char *field, int64_t came, const json_t *wanted) {
  int64_t want = json_is_boolean(wanted) ? json_is_true(wanted) : json_integer_value(wanted);
  if (came != want) mismatch(r, name, field, "came %lld, expected %lld", (long long)came, (long long)want);
}

static tolerance tolerance_of(const json_t *test, const json_t *expect) {
  const json_t *tol = json_object_get(expect, "tol");
  if (!tol) tol = json_object_get(test, "tol");
  return (tolerance){json_number_value(json_object_get(tol, "rtol")), json_number_value(json_object_get(tol, "atol")),
                     false};
}

static void compare_grad(runner *r, const char *name, const wf_tensor *t, const json_t *expect, tolerance tol) {
  const json_t *wanted = json_object_get(expect, "grad");
  if (!wanted) return;
  wf_tensor *grad = wf_grad(t);
  if (json_is_null(wanted) || !grad) {
    if (!json_is_null(wanted) || grad)
      mismatch(r, name, "grad", "came %s, expected %s", grad ? "one" : "none", grad ? "none" : "one");
    return;
  }
  compare_elements(r, name, "grad", grad, wanted, tol);
  const json_t *stride = json_object_get(expect, "grad_stride");
  if (stride) compare_dims(r, name, "grad_stride", wf_strides(grad), stride);
}

/* The other register that the expectation says is the same object. */
static void compare_identity(runner *r, registers *set, const char *name, const wf_tensor *t, const json_t *expect) {
  const char *other = json_string_value(json_object_get(expect, "is"));
  reg *o = other ? find_register(set, other) : NULL;
  if (other && (!o || o->tensor != t)) mismatch(r, name, "is", "came another tensor, expected %s itself", other);
}

static void compare_tensor(runner *r, registers *set, const char *name, const wf_tensor *t, const json_t *test,
                           const json_t *expect) {
  const json_t *w;
  if (json_object_get(expect, "layout")) {
    note_missing(r, "sparse layouts");
    return;
  }
  if ((w = json_object_get(expect, "dtype")) && strcmp(json_string_value(w), wf_dtype_name(wf_dtype_of(t))))
    mismatch(r, name, "dtype", "came %s, expected %s", wf_dtype_name(wf_dtype_of(t)), json_string_value(w));
  if ((w = json_object_get(expect, "shape"))) compare_dims(r, name, "shape", wf_sizes(t), w);
  if ((w = json_object_get(expect, "stride"))) compare_dims(r, name, "stride", wf_strides(t), w);
  if ((w = json_object_get(expect, "offset"))) compare_int(r, name, "offset", wf_storage_offset(t), w);
  if ((w = json_object_get(expect, "contiguous")))
    compare_int(r, name, "contiguous", wf_is_contiguous(t, WF_FORMAT_CONTIGUOUS), w);
  if ((w = json_object_get(expect, "channels_last")))
    compare_int(r, name, "channels_last", wf_is_contiguous(t, WF_FORMAT_CHANNELS_LAST), w);
  if ((w = json_object_get(expect, "nbytes"))) compare_int(r, name, "nbytes", (int64_t)wf_storage_nbytes(t), w);
  if ((w = json_object_get(expect, "version"))) compare_int(r, name, "version", wf_version_of(t), w);
  if ((w = json_object_get(expect, "leaf"))) compare_int(r, name, "leaf", wf_is_leaf(t), w);
  if ((w = json_object_get(expect, "requires_grad"))) compare_int(r, name, "requires_grad", wf_requires_grad(t), w);
  if ((w = json_object_get(expect, "grad_fn"))) compare_int(r, name, "grad_fn", wf_has_grad_fn(t), w);
  compare_identity(r, set, name, t, expect);
  tolerance tol = tolerance_of(test, expect);
  compare_grad(r, name, t, expect, tol);
  tol.exact = json_is_true(json_object_get(expect, "exact"));
  if ((w = json_object_get(expect, "data"))) compare_elements(r, name, "data", t, w, tol);
}

static void compare_value(runner *r, const char *name, const reg *came, const json_t *test, const json_t *expect) {
  const json_t *wanted = json_object_get(expect, "value");
  if (came->kind != REGISTER_VALUE) {
    mismatch(r, name, "value", "came no value");
    return;
  }
  if (came->string || (json_is_string(wanted) && json_scalar(wanted).kind == WF_SCALAR_NONE)) {
    const char *word = json_string_value(wanted);
    if (!came->string || !word || strcmp(came->string, word))
      mismatch(r, name, "value", "came '%s', expected '%s'", came->string ? came->string : "a number",
               word ? word : "a number");
    return;
  }
  wf_scalar want = json_scalar(wanted);
  if (came->scalar.kind != want.kind) {
    mismatch(r, name, "value", "came kind %d, expected kind %d", came->scalar.kind, want.kind);
    return;
  }
  bool same = want.kind == WF_SCALAR_FLOAT ? close_enough(came->scalar.as.f, want.as.f, tolerance_of(test, expect))
                                           : came->scalar.as.i == want.as.i;
  if (!same) mismatch(r, name, "value", "came %.17g, expected %.17g", as_double(came->scalar), as_double(want));
}

/* Two registers share storage if and only if their letters are equal. */
static void compare_storages(runner *r, registers *set, const json_t *all) {
  const char *a, *b;
  json_t *x, *y;
  json_object_foreach((json_t *)all, a, x) {
    const char *letter = json_string_value(json_object_get(x, "storage"));
    reg *ra = find_register(set, a);
    if (!letter || !ra || ra->kind != REGISTER_TENSOR) continue;
    json_object_foreach((json_t *)all, b, y) {
      const char *other = json_string_value(json_object_get(y, "storage"));
      reg *rb = find_register(set, b);
      if (!other || !rb || rb->kind != REGISTER_TENSOR || strcmp(a, b) >= 0) continue;
      bool wanted = !strcmp(letter, other), came = wf_shares_storage(ra->tensor, rb->tensor);
      if (wanted != came)
        mismatch(r, a, "storage", "%s %s, expected the opposite", came ? "shared with" : "not shared with", b);
    }
  }
}

void compare_all(runner *r, registers *set, const json_t *test) {
  const json_t *all = json_object_get(test, "expect");
  const char *name;
  json_t *expect;
  json_object_foreach((json_t *)all, name, expect) {
    reg *came = find_register(set, name);
    if (!came) {
      mismatch(r, name, "register", "isn't bound");
    } else if (json_is_null(expect)) {
      if (came->kind != REGISTER_NOTHING) mismatch(r, name, "register", "holds something, expected nothing");
    } else if (json_object_get(expect, "value")) {
      compare_value(r, name, came, test, expect);
    } else if (came->kind != REGISTER_TENSOR) {
      mismatch(r, name, "register", "holds no tensor");
    } else {
      compare_tensor(r, set, name, came->tensor, test, expect);
      if (wf_error_peek().status) mismatch(r, name, "getter", "raised %s", wf_error_take().text);
    }
  }
  compare_storages(r, set, all);
}
