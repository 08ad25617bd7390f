/* A few bytes decide; what they don't is unknown. */
#define _GNU_SOURCE
#include "audit/file_kind.h"

#include <string.h>

static int begins(const char *text, size_t n, const char *with) {
  size_t length = strlen(with);
  return n >= length && !memcmp(text, with, length);
}

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static int has(const char *text, size_t n, const char *word) { return memmem(text, n, word, strlen(word)) != NULL; }

/* Both are JSON; a memory timeline is a list of two or more lists of numbers, a trace has events. */
static wf__file_kind kind_of_json(const char *text, size_t n) {
  if (*text == '{') {
    static const char *const keys[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                       "\"displayTimeUnit\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      if (has(text, n, keys[i])) return WF__FILE_TRACE;
    return WF__FILE_JSON;
  }
  size_t i = 1;
  while (i < n && is_space(text[i])) i++;
  if (i < n && text[i] == '{') return has(text, n, "\"ph\"") ? WF__FILE_TRACE : WF__FILE_JSON;
  return i < n && text[i] == '[' ? WF__FILE_MEMORY_TIMELINE : WF__FILE_JSON;
}

wf__file_kind wf__file_kind_of(const void *bytes, size_t n) {
  const char *text = bytes;
  if (!n) return WF__FILE_EMPTY;
  if (begins(text, n, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")) return WF__FILE_TORCH_OLD;
  if ((unsigned char)*text == 0x80) return WF__FILE_PICKLE;
  if (begins(text, n, "PK\x03\x04") || begins(text, n, "PK\x05\x06")) return WF__FILE_ZIP;
  if (n > 9 && text[8] == '{' && !text[7] && !text[6]) return WF__FILE_SAFETENSORS;
  if (begins(text, n, "\xef\xbb\xbf")) text += 3, n -= 3;
  while (n && is_space(*text)) text++, n--;
  if (!n) return WF__FILE_EMPTY;
  if (begins(text, n, "Thread,Time,Action,Pointer,Size,Stream")) return WF__FILE_RMM_LOG;
  if (*text == '<') return WF__FILE_HTML;
  return *text == '{' || *text == '[' ? kind_of_json(text, n) : WF__FILE_UNKNOWN;
}

static const struct {
  const char *name, *advice;
} texts[] = {
    [WF__FILE_UNKNOWN] = {"no format that is known here",
                          "a memory snapshot is written by torch.cuda.memory._dump_snapshot(\"FILE.pickle\")"},
    [WF__FILE_EMPTY] = {"an empty file", "was the program stopped before it had written it?"},
    [WF__FILE_PICKLE] = {"a pickle", "weft memory reads memory snapshots"},
    [WF__FILE_RMM_LOG] = {"an RMM log of allocations", "weft memory and weft replay-alloc read it"},
    [WF__FILE_TRACE] = {"a trace of the profiler", "weft audit reads it"},
    [WF__FILE_MEMORY_TIMELINE] = {"a memory timeline of the profiler, which has only sums",
                                  "record torch.cuda.memory._record_memory_history() and _dump_snapshot() instead"},
    [WF__FILE_JSON] = {"JSON, but no trace",
                       "a trace is written by torch.profiler's export_chrome_trace(\"FILE.json\")"},
    [WF__FILE_HTML] = {"a page for browsers", "the data that it was made from is what is read here"},
    [WF__FILE_ZIP] = {"an archive, such as torch.save writes",
                      "a memory snapshot is written by torch.cuda.memory._dump_snapshot(\"FILE.pickle\")"},
    [WF__FILE_TORCH_OLD] = {"a file of torch.save",
                            "a memory snapshot is written by torch.cuda.memory._dump_snapshot(\"FILE.pickle\")"},
    [WF__FILE_SAFETENSORS] = {"a safetensors file",
                              "a memory snapshot is written by torch.cuda.memory._dump_snapshot(\"FILE.pickle\")"},
};

const char *wf__file_kind_name(wf__file_kind kind) { return texts[kind].name; }
const char *wf__file_kind_advice(wf__file_kind kind) { return texts[kind].advice; }
