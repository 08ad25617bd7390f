/* The JSON scanner: whatever the bytes are, it ends, stays inside of them, and finds the same tokens however often it is asked. */
#include "fuzz.h"

#include "format/json_scanner.h"

/* Follows all structure, resynchronising after damage; a hash of what was seen. */
static uint64_t scan_all(const uint8_t *data, size_t size) {
  wf__input *input = wf__input_memory(data, size, "fuzz");
  if (!input) return 0;
  wf__scanner s;
  uint64_t seen = 0, tokens = 0;
  must(!wf__scanner_open(&s, input));
  size_t n;
  must(wf__scan_peek(&s, &n) && n <= 4096);
  for (;;) {
    wf__json_type type = wf__scan_value(&s);
    if (type == WF__JSON_END) break;
    must(++tokens <= 2 * (uint64_t)wf__input_position(input) + 16);
    seen = seen * 31 + type;
    if (type == WF__JSON_OBJECT) {
      while ((type = wf__scan_key(&s)) == WF__JSON_STRING && wf__scan_skip(&s, wf__scan_value(&s)))
        seen = seen * 31 + s.size;
      if (type == WF__JSON_CLOSE) continue;
      type = WF__JSON_BAD;
    }
    if (type == WF__JSON_STRING)
      for (size_t i = 0; i < s.size; i++) seen = seen * 31 + (unsigned char)s.text[i];
    if (type == WF__JSON_NUMBER) {
      int64_t value = 0;
      if (wf__json_to_int(s.text, s.size, &value)) seen += (uint64_t)value;
      if (wf__json_to_ns(s.text, s.size, &value)) seen += (uint64_t)value;
    }
    if (type == WF__JSON_BAD && !wf__scan_resync(&s)) break;
  }
  wf__scanner_close(&s);
  wf__input_close(input);
  wf_error_take();
  return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint64_t once = scan_all(data, size);
  wf_error_take();
  must(scan_all(data, size) == once);
  wf_error_take();
  return 0;
}
