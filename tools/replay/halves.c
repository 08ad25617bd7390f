/* float16 by arithmetic on its fraction and exponent, bfloat16 as the upper half of a float. */
#include "halves.h"

#include <math.h>
#include <string.h>

uint16_t half_of(double value) {
  float f = (float)value, size = fabsf(f);
  unsigned sign = signbit(f) ? 0x8000 : 0;
  if (isnan(f)) return 0x7e00;
  if (size >= 65520) return (uint16_t)(sign | 0x7c00);
  if (size < 0x1p-14f)
    return (uint16_t)(sign | (unsigned)nearbyintf(size * 0x1p24f)); /* 1024 units are the least normal number */
  int exponent;
  float fraction = frexpf(size, &exponent); /* 0.5 to 1: 1024 to 2048 units, of which 2048 carries into the exponent */
  return (uint16_t)(sign | (((unsigned)(exponent + 14) << 10) + (unsigned)nearbyintf(fraction * 2048) - 1024));
}

double half_value(uint16_t bits) {
  double sign = bits & 0x8000 ? -1 : 1;
  int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

uint16_t bfloat_of(double value) {
  float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if (isnan(f)) return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double bfloat_value(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, 4);
  return f;
}
