/* Conversion between any two dtypes, one element at a time: the rules themselves.
 *
 * To float: one rounding to nearest even, halves by way of f32. Float to integer: cut off towards zero; what doesn't fit becomes what the
 * x86 instruction gives (the lowest number of 32 bits, of 64 for i64 and u8) and keeps its low bits. Integer to integer: low bits.
 * To bool: whether it isn't zero; NaN is true. */
#include "base/convert.h"
#include "kernel/tables.h"

typedef union value {
  double f;
  int64_t i;
} value;

static value load(wf_dtype dtype, const void *p) {
  value v;
  switch (dtype) {
    case WF_U8: v.i = *(const uint8_t *)p; break;
    case WF_I8: v.i = *(const int8_t *)p; break;
    case WF_I16: v.i = *(const int16_t *)p; break;
    case WF_I32: v.i = *(const int32_t *)p; break;
    case WF_I64: v.i = *(const int64_t *)p; break;
    case WF_F16: v.f = wf__f16_to_f32(*(const uint16_t *)p); break;
    case WF_BF16: v.f = wf__bf16_to_f32(*(const uint16_t *)p); break;
    case WF_F32: v.f = *(const float *)p; break;
    case WF_F64: v.f = *(const double *)p; break;
    default: v.i = *(const uint8_t *)p != 0; break;
  }
  return v;
}

static int64_t cut(double f, wf_dtype to) {
  double most = to == WF_I64 || to == WF_U8 ? 0x1p63 : 0x1p31;
  int64_t none = to == WF_I64 || to == WF_U8 ? INT64_MIN : INT32_MIN;
  return f >= -most && f < most ? (int64_t)f : none;
}

static void store_float(wf_dtype to, void *p, double f) {
  switch (to) {
    case WF_F16: *(uint16_t *)p = wf__f32_to_f16((float)f); break;
    case WF_BF16: *(uint16_t *)p = wf__f32_to_bf16((float)f); break;
    case WF_F32: *(float *)p = (float)f; break;
    default: *(double *)p = f; break;
  }
}

static void store_int(wf_dtype to, void *p, int64_t i) {
  switch (to) {
    case WF_U8: *(uint8_t *)p = (uint8_t)i; break;
    case WF_I8: *(int8_t *)p = (int8_t)i; break;
    case WF_I16: *(int16_t *)p = (int16_t)i; break;
    case WF_I32: *(int32_t *)p = (int32_t)i; break;
    default: *(int64_t *)p = i; break;
  }
}

/* Integers reach f32 in one step: by way of double they would be rounded twice. */
static void store_int_as_float(wf_dtype to, void *p, int64_t i) {
  if (to == WF_F64) *(double *)p = (double)i;
  else store_float(to, p, (float)i);
}

static void convert_one(wf_dtype from, wf_dtype to, const void *src, void *dst) {
  value v = load(from, src);
  bool from_float = wf_dtype_is_float(from), to_float = wf_dtype_is_float(to);
  if (to == WF_BOOL) *(uint8_t *)dst = from_float ? v.f != 0 : v.i != 0;
  else if (from_float) to_float ? store_float(to, dst, v.f) : store_int(to, dst, cut(v.f, to));
  else to_float ? store_int_as_float(to, dst, v.i) : store_int(to, dst, v.i);
}

static void convert(wf_dtype from, wf_dtype to, void *dst, const void *src, int64_t n) {
  if (from == to) {
    memmove(dst, src, (size_t)n * wf_dtype_size(to));
    return;
  }
  for (int64_t i = 0; i < n; i++)
    convert_one(from, to, (const char *)src + i * (int64_t)wf_dtype_size(from),
                (char *)dst + i * (int64_t)wf_dtype_size(to));
}

/* clang-format off */
#define FROM_EACH(X, T) X(U8, T) X(I8, T) X(I16, T) X(I32, T) X(I64, T) X(F16, T) X(BF16, T) X(F32, T) X(F64, T) X(BOOL, T)
#define EACH_PAIR(X) \
  FROM_EACH(X, U8) FROM_EACH(X, I8) FROM_EACH(X, I16) FROM_EACH(X, I32) FROM_EACH(X, I64) FROM_EACH(X, F16) \
  FROM_EACH(X, BF16) FROM_EACH(X, F32) FROM_EACH(X, F64) FROM_EACH(X, BOOL)
/* clang-format on */

#define WF_PAIR(F, T) \
  static void F##_to_##T(void *dst, const void *src, int64_t n) { convert(WF_##F, WF_##T, dst, src, n); }
EACH_PAIR(WF_PAIR)
#undef WF_PAIR

static void scale(float *out, const float *in, const float *factor, const float *shift, int64_t n, int64_t step) {
  if (step == 0) {
    float by = *factor, more = *shift;
    for (int64_t i = 0; i < n; i++) out[i] = in[i] * by + more;
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = in[i] * factor[i] + shift[i];
}

void wf__convert_ref(wf__kernels *table) {
  table->scale = scale;
#define WF_PAIR(F, T) table->convert[WF_##F][WF_##T] = F##_to_##T;
  EACH_PAIR(WF_PAIR)
#undef WF_PAIR
}
