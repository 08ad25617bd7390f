/* The line of progress, and the terminal's width. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft.h"

#define FIRST_S 1.0
#define AGAIN_S 0.2

static double since(const struct timespec *t) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

/* A packed file says nothing of its size unpacked. */
static bool is_packed(const char *path) {
  unsigned char magic[2] = {0};
  FILE *file = fopen(path, "rb");
  bool packed = file && fread(magic, 1, 2, file) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  if (file) fclose(file);
  return packed;
}

void progress_begin(progress *p, const char *path) {
  struct stat s;
  *p = (progress){.path = path, .wanted = isatty(STDERR_FILENO)};
  clock_gettime(CLOCK_MONOTONIC, &p->begun);
  p->last = p->begun;
  if (p->wanted && !stat(path, &s) && S_ISREG(s.st_mode) && !is_packed(path)) p->size = s.st_size;
}

bool progress_bytes(void *context, int64_t bytes) {
  progress *p = context;
  if (interrupted()) return false;
  if (!p->wanted || since(&p->begun) < FIRST_S || (p->shown && since(&p->last) < AGAIN_S)) return true;
  char done[32];
  human_bytes(bytes, done);
  if (p->size > 0) fprintf(stderr, "\r%s: %3.0f %% (%s)\033[K", p->path, 100.0 * (double)bytes / (double)p->size, done);
  else fprintf(stderr, "\r%s: %s\033[K", p->path, done);
  fflush(stderr);
  p->shown = true;
  clock_gettime(CLOCK_MONOTONIC, &p->last);
  return true;
}

void progress_end(progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}

int terminal_columns(void) {
  struct winsize size;
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 80) return 80;
  return size.ws_col;
}
