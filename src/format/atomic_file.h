/* Files that appear whole or not at all: written beside their place under another name, flushed, then renamed. What is there already
 * and isn't a file (a terminal, a pipe, /dev/null) is written to as it is, never replaced. */
#ifndef WF_FORMAT_ATOMIC_FILE_H
#define WF_FORMAT_ATOMIC_FILE_H

#include <stdio.h>
#include "base/error.h"

typedef struct wf__atomic_file {
  FILE *stream;           /* write here */
  int error;              /* errno of the first failed wf__atomic_put */
  char *path, *temporary; /* temporary NULL: written directly */
} wf__atomic_file;

/* Opens a file for writing that will become `path`. Errors: WF_IO with the path and the system's reason. */
wf_status wf__atomic_open(wf__atomic_file *file, const char *path);
/* Writes bytes to the stream. A failure (WF_IO with its reason) needs no look here: the commit fails then. */
wf_status wf__atomic_put(wf__atomic_file *file, const void *bytes, size_t n);
/* Puts the file into its place; on failure (full disk, say) nothing is left and what was at `path` stays. */
wf_status wf__atomic_commit(wf__atomic_file *file);
/* All of it at once. */
wf_status wf__atomic_write(const char *path, const void *bytes, size_t n);
/* Gives up and removes what was written. Nothing when the file isn't open. */
void wf__atomic_abandon(wf__atomic_file *file);

#endif
