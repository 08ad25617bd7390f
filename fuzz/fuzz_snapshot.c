/* Memory snapshots and logs: whatever the bytes are, they are read or refused with a text; what is read can be reported, mapped, compared
 * and replayed. */
#include "fuzz.h"

#include <weft/snapshot.h>

#include "base/host.h"

static void take(char *text) {
  if (!text) must(wf_error_take().status != WF_OK);
  wf__release(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int file = fuzz_file(data, size, path);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  if (!s) {
    wf_error e = wf_error_take();
    must(e.status == WF_VALUE || e.status == WF_IO);
    must(*e.text && !strchr(e.text, '\n'));
  } else {
    wf_memory_options o = wf_memory_defaults();
    o.stacks = true;
    take(wf_memory_text(s, &o));
    take(wf_memory_json(s, &o, 0));
    take(wf_memory_map(s, &o));
    o.at = WF_MEMORY_AT_END;
    o.group = WF_MEMORY_BY_MODULE;
    take(wf_memory_text(s, &o));
    wf_memory_change *c = wf_memory_compare(s, s, NULL);
    if (c) take(wf_memory_change_text(c));
    else wf_error_take();
    wf_memory_change_free(c);
    wf_replay *r = wf_replay_history(s, NULL);
    if (r) take(wf_replay_text(r, 80));
    else wf_error_take();
    wf_replay_free(r);
  }
  wf_snapshot_free(s);
  close(file);
  return 0;
}
