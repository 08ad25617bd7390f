/* What a file is by its first bytes: for those who were given something else than they read. */
#ifndef WF_AUDIT_FILE_KIND_H
#define WF_AUDIT_FILE_KIND_H

#include <stddef.h>

typedef enum wf__file_kind {
  WF__FILE_UNKNOWN,
  WF__FILE_EMPTY,
  WF__FILE_PICKLE,
  WF__FILE_RMM_LOG,
  WF__FILE_TRACE,           /* Kineto or Chrome */
  WF__FILE_MEMORY_TIMELINE, /* torch.profiler's export_memory_timeline */
  WF__FILE_JSON,            /* other JSON */
  WF__FILE_HTML,
  WF__FILE_ZIP,       /* a torch archive, as torch.save writes */
  WF__FILE_TORCH_OLD, /* torch.save before 1.6 */
  WF__FILE_SAFETENSORS
} wf__file_kind;

/* bytes: the first of the file, unpacked; 4096 of them suffice. */
wf__file_kind wf__file_kind_of(const void *bytes, size_t n);
/* "a trace of the profiler", and what to do with it: "weft audit reads it". */
const char *wf__file_kind_name(wf__file_kind kind);
const char *wf__file_kind_advice(wf__file_kind kind);

#endif
