/* What every fuzz target includes: the entry that libFuzzer and the replay driver call, and a check that stops both. */
#ifndef WF_FUZZ_FUZZ_H
#define WF_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What holds whatever the input was. Trapping is what libFuzzer records an input for. */
#define must(condition)                \
  do {                                 \
    if (!(condition)) __builtin_trap(); \
  } while (0)

#endif
