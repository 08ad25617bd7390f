/* What a file is that was given as a trace, from its first bytes: people mix up the profiler's files. */
#define _GNU_SOURCE
#include <string.h>

#include "audit/file_kind.h"
#include "audit/kineto.h"

static const char how_to_record[] =
    "record one with torch.profiler: `with torch.profiler.profile(record_shapes=True, with_stack=True) as p: …`, then "
    "`p.export_chrome_trace(\"trace.json\")`";

static wf_status is_not(const char *path, const char *what, const char *todo) {
  wf__fail(WF_VALUE, "%s: %s, not a trace of PyTorch", path, what);
  wf__hint("%s", todo);
  return WF_VALUE;
}

static bool has(const char *bytes, size_t n, const char *word) { return memmem(bytes, n, word, strlen(word)) != NULL; }

/* JSON whose first bytes aren't a trace's may be one all the same. */
static wf_status sniff_json(const char *path, const char *bytes, size_t n) {
  if (has(bytes, n, "\"nodes\"") && has(bytes, n, "\"schema\""))
    return is_not(path, "an execution trace (ExecutionTraceObserver)", how_to_record);
  if (has(bytes, n, "\"segments\"") && has(bytes, n, "\"blocks\""))
    return is_not(path, "a memory snapshot as JSON",
                  "keep snapshots as the pickle that torch writes, for `weft memory`");
  return WF_OK;
}

wf_status wf__kineto_sniff(const char *path, const char *bytes, size_t n) {
  wf__file_kind kind = wf__file_kind_of(bytes, n);
  switch (kind) {
    case WF__FILE_TRACE:
      /* Its events have other names, and its report has the answers already. */
      if (has(bytes, n, "\"otherData\"") && has(bytes, n, "\"weft\""))
        return is_not(path, "a recording of `weft train`",
                      "`weft train --report FILE` says what it copies and waits for");
      return WF_OK;
    case WF__FILE_JSON: return sniff_json(path, bytes, n);
    case WF__FILE_EMPTY:
    case WF__FILE_PICKLE:
    case WF__FILE_RMM_LOG:
    case WF__FILE_MEMORY_TIMELINE: return is_not(path, wf__file_kind_name(kind), wf__file_kind_advice(kind));
    default: return is_not(path, wf__file_kind_name(kind), how_to_record);
  }
}
