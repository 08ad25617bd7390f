/* What a file is that was given as a trace, from its first bytes: people mix up the profiler's files. */
#define _GNU_SOURCE
#include <string.h>

#include "audit/kineto.h"

static const char *const how_to_record =
    "record one with torch.profiler: `with torch.profiler.profile(record_shapes=True, with_stack=True) as p: …`, then "
    "`p.export_chrome_trace(\"trace.json\")`";

static bool begins(const char *bytes, size_t n, const char *with, size_t size) {
  return n >= size && !memcmp(bytes, with, size);
}

/* The text behind what it begins with; both end at `n`. */
static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
  return at;
}

static wf_status is_not(const char *path, const char *what, const char *todo) {
  wf__fail(WF_VALUE, "%s: %s, not a trace", path, what);
  wf__hint("%s", todo);
  return WF_VALUE;
}

wf_status wf__kineto_sniff(const char *path, const char *bytes, size_t n) {
  const char *end = bytes + n, *at = skip_space(bytes, end);
  if (begins(bytes, n, "\xef\xbb\xbf", 3)) at = skip_space(bytes + 3, end);
  if (at == end) return is_not(path, n ? "white space and nothing else" : "an empty file", how_to_record);
  if (bytes[0] == '\x80' && n > 1 && bytes[1] >= 2 && bytes[1] <= 5)
    return is_not(path, "a pickle, as memory snapshots are", "look at it with `weft memory`");
  if (begins(bytes, n, "PK\3\4", 4)) return is_not(path, "a zip archive", "unpack it, or give the trace in it");
  if (*at == '[') {
    const char *first = skip_space(at + 1, end);
    if (first < end && *first == '[')
      return is_not(path, "a memory timeline (export_memory_timeline)",
                    "record a trace with export_chrome_trace for `weft audit`, or a memory snapshot with "
                    "torch.cuda.memory._dump_snapshot for `weft memory`");
    if (first < end && *first != '{' && *first != ']')
      return is_not(path, "a JSON list of something else", how_to_record);
    return WF_OK;
  }
  if (*at == '<') return is_not(path, "a page in HTML", how_to_record);
  if (*at != '{') return is_not(path, "no JSON", how_to_record);
  if (memmem(at, (size_t)(end - at), "\"traceEvents\"", 13)) return WF_OK;
  if (memmem(at, (size_t)(end - at), "\"nodes\"", 7) && memmem(at, (size_t)(end - at), "\"schema\"", 8))
    return is_not(path, "an execution trace (ExecutionTraceObserver)", how_to_record);
  if (memmem(at, (size_t)(end - at), "\"segments\"", 10))
    return is_not(path, "a memory snapshot as JSON",
                  "keep snapshots as the pickle that torch writes, for `weft memory`");
  return WF_OK;
}
