/* Philox4x32-10 (Salmon et al., 2011). */
#include "base/rng.h"

#define MULTIPLIER_A 0xD2511F53u
#define MULTIPLIER_B 0xCD9E8D57u
#define WEYL_A 0x9E3779B9u
#define WEYL_B 0xBB67AE85u
#define ROUNDS 10

void wf__philox(uint64_t seed, uint64_t offset, uint64_t subsequence, uint32_t out[4]) {
  uint32_t key_a = (uint32_t)seed, key_b = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)offset, c1 = (uint32_t)(offset >> 32), c2 = (uint32_t)subsequence,
           c3 = (uint32_t)(subsequence >> 32);
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t a = (uint64_t)MULTIPLIER_A * c0, b = (uint64_t)MULTIPLIER_B * c2;
    uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ key_a, n2 = (uint32_t)(a >> 32) ^ c3 ^ key_b;
    c1 = (uint32_t)b;
    c3 = (uint32_t)a;
    c0 = n0;
    c2 = n2;
    key_a += WEYL_A;
    key_b += WEYL_B;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}
