/* Reads plain and gzip files by zlib. */
#define _GNU_SOURCE
#include "format/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/host.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define ASK_MS 250                   /* between questions whether to go on waiting */
#define CHUNK_MAX ((size_t)16 << 20) /* zlib counts in 32 bits */

struct wf__input {
  char *name;
  int file;      /* -1: from memory */
  bool may_wait; /* no regular file: opened without blocking */
  wf__progress progress;
  void *context;
  const char *memory; /* what is left of it */
  size_t memory_left;
  bool compressed, in_member, failed;
  int64_t position;
  z_stream z;
  size_t begin, end; /* of what is read and not yet used */
  size_t peeked_at, peeked_end;
  unsigned char peeked[WF__PEEK_MAX];
  unsigned char buffer[BUFFER_BYTES];
};

static bool fail(wf__input *in, const char *text) {
  in->failed = true;
  wf__fail(WF_IO, "%s: %s", in->name, text);
  return false;
}

/* What zlib finds wrong with the data. */
static bool fail_data(wf__input *in, const char *text) {
  fail(in, text);
  wf__hint("copy it again from where it was written");
  return false;
}

static bool fail_system(wf__input *in, int error) {
  char text[128];
  return fail(in, strerror_r(error, text, sizeof text));
}

/* Until there are bytes, or the end. Reading itself would begin again after a signal, and a signal just before it would be missed. */
static bool wait_for_bytes(wf__input *in) {
  for (;;) {
    struct pollfd p = {in->file, POLLIN, 0};
    int ready = poll(&p, 1, in->progress ? ASK_MS : -1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return fail_system(in, errno);
    if (!in->progress || in->progress(in->context, in->position)) continue;
    in->failed = true;
    wf__fail(WF_CANCELLED, "%s: reading was stopped", in->name);
    return false;
  }
}

/* More bytes behind the unused ones; no change at the end. */
static bool fill(wf__input *in) {
  if (in->begin) {
    memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
  }
  size_t room = BUFFER_BYTES - in->end;
  if (in->file < 0) {
    size_t n = room < in->memory_left ? room : in->memory_left;
    if (n) memcpy(in->buffer + in->end, in->memory, n);
    in->memory = n ? in->memory + n : in->memory;
    in->memory_left -= n;
    in->end += n;
    return true;
  }
  ssize_t n;
  do {
    if (in->may_wait && !wait_for_bytes(in)) return false;
    n = read(in->file, in->buffer + in->end, room);
  } while (n < 0 && (errno == EINTR || (in->may_wait && errno == EAGAIN))); /* somebody else took them */
  if (n < 0) return fail_system(in, errno);
  in->end += (size_t)n;
  return true;
}

static size_t left(const wf__input *in) { return in->end - in->begin; }

static bool at_least(wf__input *in, size_t n) {
  while (left(in) < n) {
    size_t before = left(in);
    if (!fill(in)) return false;
    if (left(in) == before) break;
  }
  return true;
}

static bool at_magic(const wf__input *in) {
  return left(in) >= 2 && in->buffer[in->begin] == 0x1f && in->buffer[in->begin + 1] == 0x8b;
}

/* zlib's own allocations go through the library's: faults reach them too. */
static voidpf zlib_take(voidpf context, uInt count, uInt size) { return wf__calloc(count, size); }
static void zlib_give(voidpf context, voidpf p) { wf__release(p); }

static wf__input *discard(wf__input *in) {
  wf__input_close(in);
  return NULL;
}

static wf__input *start(wf__input *in) {
  if (!at_least(in, 2)) return discard(in);
  if (!at_magic(in)) return in;
  in->z.zalloc = zlib_take;
  in->z.zfree = zlib_give;
  if (inflateInit2(&in->z, 15 + 16) != Z_OK) {
    fail(in, "no memory to decompress");
    return discard(in);
  }
  in->compressed = in->in_member = true;
  return in;
}

static wf__input *new_input(const char *name) {
  wf__input *in = wf__calloc(1, sizeof *in);
  if (!in) return NULL;
  in->file = -1;
  in->name = wf__strdup(name);
  return in->name ? in : discard(in);
}

wf__input *wf__input_open(const char *path, wf__progress progress, void *context) {
  wf__input *in = new_input(path);
  struct stat s;
  if (!in) return NULL;
  in->progress = progress;
  in->context = context;
  do in->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a FIFO that nobody writes yet, too */
  while (in->file < 0 && errno == EINTR);
  if (in->file < 0) {
    fail_system(in, errno);
    return discard(in);
  }
  bool known = !fstat(in->file, &s);
  if (known && S_ISDIR(s.st_mode)) {
    fail_system(in, EISDIR);
    return discard(in);
  }
  in->may_wait = !known || !S_ISREG(s.st_mode);
  return start(in);
}

wf__input *wf__input_memory(const void *bytes, size_t size, const char *name) {
  wf__input *in = new_input(name);
  if (!in) return NULL;
  in->memory = bytes;
  in->memory_left = size;
  return start(in);
}

void wf__input_close(wf__input *in) {
  if (!in) return;
  if (in->compressed) inflateEnd(&in->z);
  if (in->file >= 0) close(in->file);
  wf__release(in->name);
  wf__release(in);
}

/* Between members: another one, the end (zeros may pad it, as on tapes), or an error. */
static bool next_member(wf__input *in) {
  if (!at_least(in, 2)) return false;
  if (at_magic(in)) {
    inflateReset(&in->z);
    in->in_member = true;
    return true;
  }
  while (left(in)) {
    for (size_t i = in->begin; i < in->end; i++)
      if (in->buffer[i]) return fail_data(in, "something follows the compressed data that isn't gzip");
    in->begin = in->end = 0;
    if (!fill(in)) return false;
  }
  return true;
}

static bool inflate_some(wf__input *in, unsigned char *to, size_t room, size_t *got) {
  if (!at_least(in, 1)) return false;
  if (!left(in)) return fail_data(in, "the compressed data is cut off");
  in->z.next_in = in->buffer + in->begin;
  in->z.avail_in = (uInt)left(in);
  in->z.next_out = to;
  in->z.avail_out = (uInt)room;
  int result = inflate(&in->z, Z_NO_FLUSH);
  in->begin = in->end - in->z.avail_in;
  *got = room - in->z.avail_out;
  if (result == Z_STREAM_END) in->in_member = false;
  else if (result == Z_MEM_ERROR) return fail(in, "no memory to decompress");
  else if (result != Z_OK) return fail_data(in, "the compressed data is damaged");
  return true;
}

/* Some bytes, at least one unless at the end. */
static bool read_some(wf__input *in, unsigned char *to, size_t room, size_t *got) {
  *got = 0;
  if (room > CHUNK_MAX) room = CHUNK_MAX;
  if (!in->compressed) {
    if (!at_least(in, 1)) return false;
    *got = left(in) < room ? left(in) : room;
    memcpy(to, in->buffer + in->begin, *got);
    in->begin += *got;
    return true;
  }
  while (!*got) {
    if (!in->in_member && !next_member(in)) return false;
    if (!in->in_member) return true;
    if (!inflate_some(in, to, room, got)) return false;
  }
  return true;
}

int64_t wf__input_peek(wf__input *in, const void **bytes) {
  size_t got = 1;
  if (in->failed) return -1;
  while (in->peeked_end < WF__PEEK_MAX && got) {
    if (!read_some(in, in->peeked + in->peeked_end, WF__PEEK_MAX - in->peeked_end, &got)) return -1;
    in->peeked_end += got;
  }
  *bytes = in->peeked;
  return (int64_t)in->peeked_end;
}

int64_t wf__input_read(wf__input *in, void *buffer, size_t size) {
  size_t done = in->peeked_end - in->peeked_at, got = 1;
  if (in->failed) return -1;
  if (done > size) done = size;
  if (done) memcpy(buffer, in->peeked + in->peeked_at, done);
  in->peeked_at += done;
  while (done < size && got) {
    if (!read_some(in, (unsigned char *)buffer + done, size - done, &got)) return -1;
    done += got;
  }
  in->position += (int64_t)done;
  return (int64_t)done;
}

wf_status wf__input_exactly(wf__input *in, void *buffer, size_t size, const char *what) {
  int64_t got = wf__input_read(in, buffer, size);
  if (got == (int64_t)size) return WF_OK;
  if (got < 0) return wf__fail(WF_IO, "%s: could not be read", in->name);
  in->failed = true;
  return wf__fail(WF_IO, "%s: ends after %lld of %zu bytes of %s", in->name, (long long)got, size, what);
}

int64_t wf__input_position(const wf__input *in) { return in->position; }
