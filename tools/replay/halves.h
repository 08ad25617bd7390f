/* float16 and bfloat16 in plain C, apart from the library's own: they state what the library must give. */
#ifndef WF_REPLAY_HALVES_H
#define WF_REPLAY_HALVES_H

#include <stdint.h>

/* By way of float, to nearest even each time. */
uint16_t half_of(double value);
double half_value(uint16_t bits);
uint16_t bfloat_of(double value);
double bfloat_value(uint16_t bits);

#endif
