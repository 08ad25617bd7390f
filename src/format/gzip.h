/* A stream of bytes read from a file, plain or gzip: which one the first two bytes say (1f 8b), not the name. Several gzip members one
 * after the other are read as one, as gzip does. Everything read is checked: a compressed file that is cut off, damaged (CRC, length)
 * or followed by something else is an error, never a shorter file. */
#ifndef WF_FORMAT_GZIP_H
#define WF_FORMAT_GZIP_H

#include "base/error.h"

typedef struct wf__input wf__input;

/* Told how many bytes were given out; false: stop. */
typedef bool (*wf__progress)(void *context, int64_t bytes);

/* NULL on error (WF_IO with path and reason, WF_NO_MEMORY). While nothing comes (a pipe whose writer is slow, a FIFO that nobody writes
 * yet) `progress` is asked a few times a second, and at once after a signal; where it stops the waiting, here or in a later read, the
 * error is WF_CANCELLED. NULL: it waits for as long as it takes. */
wf__input *wf__input_open(const char *path, wf__progress progress, void *context);
/* The same from memory, which must stay; `name` for texts. */
wf__input *wf__input_memory(const void *bytes, size_t size, const char *name);
void wf__input_close(wf__input *input);
/* Up to `size` bytes; fewer at the end only, then 0. -1 on error (WF_IO, WF_CANCELLED), and again -1 from then on. */
int64_t wf__input_read(wf__input *input, void *buffer, size_t size);
/* Exactly `size` bytes, or an error (WF_IO) that names the file, `what` was to be read and how much is there. */
wf_status wf__input_exactly(wf__input *input, void *buffer, size_t size, const char *what);
/* The first bytes, WF__PEEK_MAX at most, without taking them: before anything else is read. -1 on error, as wf__input_read. */
#define WF__PEEK_MAX 4096
int64_t wf__input_peek(wf__input *input, const void **bytes);
/* Bytes given out so far. */
int64_t wf__input_position(const wf__input *input);

#endif
