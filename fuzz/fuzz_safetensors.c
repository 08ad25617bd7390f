/* Safetensors files: any bytes are refused with WF_IO, or give a table of which every tensor can be read or says why not. */
#include "fuzz.h"

#include <weft/io.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int fd = fuzz_file(data, size, path);
  wf_safetensors *file = wf_safetensors_open(path);
  must(file || wf_error_peek().status == WF_IO);
  wf_error_take();
  for (int i = 0; i < wf_safetensors_count(file); i++) {
    wf_tensor *t = wf_safetensors_get(file, wf_safetensors_name(file, i));
    must(t ? wf_numel(t) * (int64_t)wf_dtype_size(wf_dtype_of(t)) <= (int64_t)size : wf_error_peek().status != WF_OK);
    wf_free(t);
    wf_error_take();
  }
  wf_safetensors_close(file);
  close(fd);
  return 0;
}
