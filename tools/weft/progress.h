/* What a command says while it works, on standard error and on a terminal only, once a second has passed. */
#ifndef WEFT_TOOLS_PROGRESS_H
#define WEFT_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct progress {
  const char *path; /* of the file that is read */
  int64_t size;     /* of it; 0: unknown, or packed */
  bool shown, wanted;
  struct timespec begun, last;
} progress;

/* Begins to count for reading a file. */
void progress_begin(progress *p, const char *path);
/* So many bytes have been read. The callback of readers: context is the progress. False once Ctrl-C was pressed. */
bool progress_bytes(void *context, int64_t bytes);
/* Wipes the line. */
void progress_end(progress *p);

/* Columns of the terminal that standard output is, at least 80; 80 when it is none. */
int terminal_columns(void);

#endif
