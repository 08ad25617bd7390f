/* Number conversions that every folder needs: half formats, and the value of a scalar as each type. All round to nearest even. */
#ifndef WF_BASE_CONVERT_H
#define WF_BASE_CONVERT_H

#include <string.h>
#include <weft/dtype.h>

static inline uint32_t wf__f32_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline float wf__bits_f32(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline float wf__bf16_to_f32(uint16_t h) { return wf__bits_f32((uint32_t)h << 16); }
static inline uint16_t wf__f32_to_bf16(float f) {
  uint32_t u = wf__f32_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0; /* NaN: quiet, payload dropped, as PyTorch */
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
float wf__f16_to_f32(uint16_t h);
uint16_t wf__f32_to_f16(float f);

static inline double wf__scalar_double(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT ? s.as.f : (double)s.as.i; }
/* Truncates; a float out of int64's range gives INT64_MIN, as x86 does. */
int64_t wf__scalar_int(wf_scalar s);
static inline bool wf__scalar_true(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT ? s.as.f != 0 : s.as.i != 0; }
/* Writes the number as one element of `dtype` (no range check; integers keep their low bits). */
void wf__scalar_store(wf_scalar s, wf_dtype dtype, void *element);
/* Reads one element. */
wf_scalar wf__scalar_load(wf_dtype dtype, const void *element);
/* "value cannot be converted to type <t> without overflow" unless the number fits, by PyTorch's rules for stored numbers. */
wf_status wf__scalar_check_fits(wf_scalar s, wf_dtype dtype);

#endif
