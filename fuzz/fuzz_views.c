/* Programs of views and copies: whatever the bytes, elements are where coordinates say (tests/op/view_program.h). */
#include "fuzz.h"

#include "../tests/op/view_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static view_program program;
  run_program(&program, data, size);
  if (program.fault[0]) fprintf(stderr, "%s\n", program.fault);
  must(!program.fault[0]);
  return 0;
}
