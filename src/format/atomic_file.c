/* Writing a file in one step, as seen from outside. */
#define _GNU_SOURCE
#include "format/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/host.h"

static wf_status fail(const char *what, const char *path, int error) {
  char reason[128];
  return wf__fail(WF_IO, "%s: %s: %s", path, what, strerror_r(error, reason, sizeof reason));
}

static void forget(wf__atomic_file *f) {
  wf__release(f->path);
  wf__release(f->temporary);
  *f = (wf__atomic_file){0};
}

/* mkstemp makes the file private; this gives it the rights that open() would have. */
static void usual_rights(int fd) {
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd, 0666 & ~mask)) return;
}

/* What is at `path` and can't be replaced by a file: a device or a pipe, which is written to, or a folder; 0: neither. */
static mode_t special_at(const char *path) {
  struct stat s;
  return stat(path, &s) || S_ISREG(s.st_mode) ? 0 : s.st_mode & S_IFMT;
}

static wf_status open_special(wf__atomic_file *f, const char *path) {
  f->stream = fopen(path, "wb");
  if (f->stream) return WF_OK;
  int error = errno;
  forget(f);
  return fail("can't be written", path, error);
}

wf_status wf__atomic_open(wf__atomic_file *f, const char *path) {
  *f = (wf__atomic_file){0};
  size_t n = strlen(path) + sizeof ".XXXXXX";
  f->path = wf__strdup(path);
  mode_t special = f->path ? special_at(path) : 0;
  if (special == S_IFDIR) return forget(f), fail("can't be written", path, EISDIR);
  if (special) return open_special(f, path);
  f->temporary = f->path ? wf__malloc(n) : NULL;
  if (!f->temporary) return forget(f), wf__self.pending;
  snprintf(f->temporary, n, "%s.XXXXXX", path);
  int fd = mkstemp(f->temporary);
  if (fd < 0) {
    int error = errno;
    forget(f);
    return fail("can't be written", path, error);
  }
  usual_rights(fd);
  f->stream = fdopen(fd, "wb");
  if (f->stream) return WF_OK;
  int error = errno;
  close(fd);
  unlink(f->temporary);
  forget(f);
  return fail("can't be written", path, error);
}

void wf__atomic_abandon(wf__atomic_file *f) {
  if (!f->stream) return;
  fclose(f->stream);
  if (f->temporary) unlink(f->temporary);
  forget(f);
}

wf_status wf__atomic_put(wf__atomic_file *f, const void *bytes, size_t n) {
  if (fwrite(bytes, 1, n, f->stream) == n) return WF_OK;
  if (!f->error) f->error = errno ? errno : EIO;
  return fail("can't be written", f->path, f->error);
}

wf_status wf__atomic_commit(wf__atomic_file *f) {
  errno = 0;
  bool written = !ferror(f->stream) && !fflush(f->stream) && (!f->temporary || !fsync(fileno(f->stream)));
  int error = f->error ? f->error : errno;
  if (fclose(f->stream) && written) {
    written = false;
    error = errno;
  }
  if (written && f->temporary && rename(f->temporary, f->path)) {
    written = false;
    error = errno;
  }
  wf_status status = written ? WF_OK : fail("can't be written", f->path, error ? error : EIO);
  if (!written && f->temporary) unlink(f->temporary);
  forget(f);
  return status;
}

wf_status wf__atomic_write(const char *path, const void *bytes, size_t n) {
  wf__atomic_file file;
  WF__TRY(wf__atomic_open(&file, path));
  wf_status status = wf__atomic_put(&file, bytes, n);
  if (!status) return wf__atomic_commit(&file);
  wf__atomic_abandon(&file);
  return status;
}
