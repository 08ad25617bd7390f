/* Scalars and half formats. */
#include "base/convert.h"

#include <float.h>
#include <math.h>
#include "base/error.h"

float wf__f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent == 31) return wf__bits_f32(sign | 0x7f800000u | fraction << 13);
  if (exponent) return wf__bits_f32(sign | (exponent + 112) << 23 | fraction << 13);
  float f = (float)fraction * 0x1p-24f; /* zero and subnormals are exact in f32 */
  return sign ? -f : f;
}

uint16_t wf__f32_to_f16(float f) {
  uint32_t u = wf__f32_bits(f), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
  if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
  if (rest < 0x38800000u) {                                   /* below 2^-14: subnormal, let f32 addition round */
    uint32_t rounded = wf__f32_bits(wf__bits_f32(rest) + 0.5f) - 0x3f000000u;
    return (uint16_t)(sign | rounded);
  }
  rest += 0xfffu + ((rest >> 13) & 1);
  return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}

int64_t wf__scalar_int(wf_scalar s) {
  if (s.kind != WF_SCALAR_FLOAT) return s.as.i;
  if (!(s.as.f >= -0x1p63 && s.as.f < 0x1p63)) return INT64_MIN;
  return (int64_t)s.as.f;
}

void wf__scalar_store(wf_scalar s, wf_dtype dtype, void *element) {
  switch (dtype) {
    case WF_U8: *(uint8_t *)element = (uint8_t)wf__scalar_int(s); break;
    case WF_I8: *(int8_t *)element = (int8_t)wf__scalar_int(s); break;
    case WF_I16: *(int16_t *)element = (int16_t)wf__scalar_int(s); break;
    case WF_I32: *(int32_t *)element = (int32_t)wf__scalar_int(s); break;
    case WF_I64: *(int64_t *)element = wf__scalar_int(s); break;
    case WF_F16: *(uint16_t *)element = wf__f32_to_f16((float)wf__scalar_double(s)); break;
    case WF_BF16: *(uint16_t *)element = wf__f32_to_bf16((float)wf__scalar_double(s)); break;
    case WF_F32: *(float *)element = (float)wf__scalar_double(s); break;
    case WF_F64: *(double *)element = wf__scalar_double(s); break;
    case WF_BOOL: *(uint8_t *)element = wf__scalar_true(s); break;
    default: break;
  }
}

wf_scalar wf__scalar_load(wf_dtype dtype, const void *element) {
  switch (dtype) {
    case WF_U8: return wf_int(*(const uint8_t *)element);
    case WF_I8: return wf_int(*(const int8_t *)element);
    case WF_I16: return wf_int(*(const int16_t *)element);
    case WF_I32: return wf_int(*(const int32_t *)element);
    case WF_I64: return wf_int(*(const int64_t *)element);
    case WF_F16: return wf_float(wf__f16_to_f32(*(const uint16_t *)element));
    case WF_BF16: return wf_float(wf__bf16_to_f32(*(const uint16_t *)element));
    case WF_F32: return wf_float(*(const float *)element);
    case WF_F64: return wf_float(*(const double *)element);
    case WF_BOOL: return wf_bool(*(const uint8_t *)element != 0);
    default: return wf_no_scalar();
  }
}

/* PyTorch's rule for a number that is stored: integers must lie in the type's range, but a negative one may wrap into an unsigned type
 * as long as its magnitude fits; a float must lie in the range before its fraction is cut off; no integer type takes infinity or NaN. */
static bool fits_integer(wf_scalar s, int64_t low, int64_t high) {
  if (s.kind != WF_SCALAR_FLOAT) return low == 0 && s.as.i < 0 ? s.as.i >= -high : s.as.i >= low && s.as.i <= high;
  double beyond = high == INT64_MAX ? 0x1p63 : (double)high + 1;
  return s.as.f >= (double)low && s.as.f < beyond; /* false for NaN */
}

static bool fits(wf_scalar s, wf_dtype dtype) {
  double f = wf__scalar_double(s);
  switch (dtype) {
    case WF_U8: return fits_integer(s, 0, UINT8_MAX);
    case WF_I8: return fits_integer(s, INT8_MIN, INT8_MAX);
    case WF_I16: return fits_integer(s, INT16_MIN, INT16_MAX);
    case WF_I32: return fits_integer(s, INT32_MIN, INT32_MAX);
    case WF_I64: return fits_integer(s, INT64_MIN, INT64_MAX);
    case WF_F16: return isinf(f) || isnan(f) || fabs(f) <= 65504.0;
    case WF_BF16: return isinf(f) || isnan(f) || fabs(f) <= 0x1.fep127;
    case WF_F32: return isinf(f) || isnan(f) || fabs(f) <= FLT_MAX;
    default: return true;
  }
}

wf_status wf__scalar_check_fits(wf_scalar s, wf_dtype dtype) {
  static const char *const stored_names[WF_DTYPE_COUNT] = {
      [WF_U8] = "uint8_t",  [WF_I8] = "int8_t",     [WF_I16] = "int16_t",        [WF_I32] = "int",
      [WF_I64] = "int64_t", [WF_F16] = "c10::Half", [WF_BF16] = "c10::BFloat16", [WF_F32] = "float"};
  if (fits(s, dtype)) return WF_OK;
  return wf__fail(WF_RUNTIME, "value cannot be converted to type %s without overflow", stored_names[dtype]);
}
