/* Pickles: whatever the bytes are, reading ends; what a client is given is what the machine's header says. */
#include "fuzz.h"

#include "format/pickle.h"

static wf_status fold(void *context, wf__pickle_value *container, const wf__pickle_value *items, size_t count) {
  must(container->type >= WF__PICKLE_LIST && container->type <= WF__PICKLE_RECORD);
  must(count > 0);
  for (size_t i = 0; i < count; i++) {
    must(items[i].type <= WF__PICKLE_RECORD);
    if (items[i].type == WF__PICKLE_STRING) must(items[i].string < ((wf__string_set *)context)->count);
  }
  if (container->type == WF__PICKLE_DICT) must(count % 2 == 0);
  container->type = WF__PICKLE_RECORD;
  return WF_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  wf__string_set strings = {0};
  wf__pickle_client client = {&strings, fold, NULL};
  wf__pickle_value value;
  wf__input *input = wf__input_memory(data, size, "x");
  wf_status status = input ? wf__pickle_read(input, "x", &strings, &client, &value) : WF_IO;
  wf_error e = wf_error_take();
  must(e.status == status || !input);
  if (status) must(!strchr(e.text, '\n'));
  wf__input_close(input);
  wf__string_set_release(&strings);
  return 0;
}
