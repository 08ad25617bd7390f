/* IDX files of images and labels: any bytes are refused (WF_IO or WF_VALUE), or give samples that can be read. The first
 * byte says how the rest is cut in two. */
#include "fuzz.h"

#include <weft/data.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  size_t cut = 1 + (size - 1) * data[0] / 255;
  char images[64], labels[64];
  int one = fuzz_file(data + 1, cut - 1, images), other = fuzz_file(data + cut, size - cut, labels);
  wf_dataset *set = wf_dataset_idx(images, labels, 10);
  wf_status status = wf_error_take().status;
  must(set || status == WF_IO || status == WF_VALUE);
  if (set && wf_dataset_count(set)) {
    int n;
    const wf_field *fields = wf_dataset_fields(set, &n);
    must(n == 2 && fields[0].ndim == 3);
    size_t bytes = (size_t)(fields[0].size[0] * fields[0].size[1] * fields[0].size[2]);
    uint8_t *image = malloc(bytes + 1);
    int64_t label = -1;
    must(image);
    must(wf_dataset_fetch(set, wf_dataset_count(set) - 1, (void *[]){image, &label}) == WF_OK);
    must(label >= 0 && label < 10);
    free(image);
  }
  wf_dataset_free(set);
  close(one);
  close(other);
  return 0;
}
