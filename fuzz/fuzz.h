/* What every fuzz target includes: the entry that libFuzzer and the replay driver call, a check that stops both, and the input in the
 * forms that parsers take. */
#ifndef WF_FUZZ_FUZZ_H
#define WF_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What holds whatever the input was. Trapping is what libFuzzer records an input for. */
#define must(condition)                 \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (0)

/* The input as a string; free it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  must(text);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  return text;
}

/* The input as a file in memory: writes its path to `path`, returns the descriptor to close. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64]) {
  int fd = memfd_create("fuzz", 0);
  must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  snprintf(path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

#endif
