/* Files plain or gzipped: whatever the bytes are, reading ends, by their end or by WF_IO; in one piece and byte by byte it gives the same. */
#include "fuzz.h"

#include "format/gzip.h"

#define MOST (1 << 20) /* a few bytes can unpack to a thousand times as many */

/* All that comes, `step` bytes a call; its length, and an error as -1. */
static int64_t read_all(const uint8_t *data, size_t size, uint8_t *out, size_t step) {
  wf__input *input = wf__input_memory(data, size, "fuzz");
  if (!input) return -1;
  int64_t total = 0, got = 0;
  while (total + (int64_t)step <= MOST && (got = wf__input_read(input, out + total, step)) > 0) total += got;
  if (got < 0) must(wf__input_read(input, out, 1) == -1);
  else must(wf__input_position(input) == total);
  wf__input_close(input);
  return got < 0 ? -1 : total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t one[MOST], other[MOST];
  int64_t whole = read_all(data, size, one, 4096);
  must(whole >= 0 || wf_error_peek().status == WF_IO);
  wf_error_take();
  int64_t bytes = read_all(data, size, other, 1);
  wf_error_take();
  if (whole < MOST - 4096 && whole >= 0) must(bytes == whole && !memcmp(one, other, (size_t)whole));
  if (whole < 0) must(bytes < 0 || bytes == MOST);
  return 0;
}
