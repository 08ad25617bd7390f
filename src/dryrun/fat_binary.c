/* Which code a module of kernels has for the device: the headers of the fat binary that the compiler put into the program list an architecture for
 * each build of it. The layouts are those of fatbinary_section.h and fatbinary.h of the CUDA toolkit. */
#include <stdio.h>
#include "dryrun/stand_in.h"

typedef struct wrapper {
  int magic, version;
  const void *data, *linked;
} wrapper;

typedef struct file_header {
  uint32_t magic;
  uint16_t version, bytes;
  uint64_t entries_bytes;
} file_header;

typedef struct entry_header {
  uint16_t kind, version;
  uint32_t bytes;
  uint64_t code_bytes;
  uint32_t compressed_bytes, options;
  uint16_t minor, major; /* of the format of the code */
  uint32_t architecture; /* 86: compute capability 8.6 */
} entry_header;

enum { WRAPPER_MAGIC = 0x466243b1, ENTRY_PTX = 1, ENTRY_BINARY = 2 };
#define FILE_MAGIC 0xba55ed50u

/* Machine code runs on its own generation's devices from its minor version on; PTX is compiled for any device that isn't older. The driver
 * takes machine code before PTX, and of each the newest. */
static void consider(const entry_header *e, int device, wf__dry_code *found) {
  int architecture = (int)e->architecture;
  if (!found->oldest || architecture < found->oldest) found->oldest = architecture;
  if (architecture > device) return;
  if (e->kind == ENTRY_BINARY && architecture / 10 == device / 10 && architecture > found->binary)
    found->binary = architecture;
  if (e->kind == ENTRY_PTX && architecture > found->ptx) found->ptx = architecture;
}

/* Where a module's builds stand. */
typedef struct builds {
  const char *at, *end;
} builds;

static builds builds_of(const void *image) {
  const wrapper *w = image;
  if (!w || w->magic != WRAPPER_MAGIC || !w->data) return (builds){0};
  const file_header *file = w->data;
  if (file->magic != FILE_MAGIC) return (builds){0};
  const char *at = (const char *)file + file->bytes;
  return (builds){at, at + file->entries_bytes};
}

/* The next one; NULL: there is none that is whole. */
static const entry_header *next_build(builds *b) {
  if ((size_t)(b->end - b->at) < sizeof(entry_header)) return NULL;
  const entry_header *e = (const void *)b->at;
  if (e->bytes < sizeof *e || e->code_bytes > (uint64_t)(b->end - b->at) - e->bytes) return NULL;
  b->at += e->bytes + e->code_bytes;
  return e;
}

wf__dry_code wf__dry_code_for(const void *image, int device) {
  wf__dry_code found = {0};
  builds b = builds_of(image);
  for (const entry_header *e; (e = next_build(&b));) consider(e, device, &found);
  return found;
}

/* In order and each once, since modules of many files of source repeat them. */
void wf__dry_code_list(const void *image, char *text, size_t size) {
  size_t n = 0;
  *text = 0;
  for (uint32_t kind = ENTRY_BINARY; kind >= ENTRY_PTX; kind--) {
    for (uint32_t last = 0, next; n < size; last = next) {
      builds b = builds_of(image);
      next = UINT32_MAX;
      for (const entry_header *e; (e = next_build(&b));)
        if (e->kind == kind && e->architecture > last && e->architecture < next) next = e->architecture;
      if (next == UINT32_MAX) break;
      n += (size_t)snprintf(text + n, size - n, "%s%s_%u", n ? " " : "", kind == ENTRY_PTX ? "compute" : "sm", next);
    }
  }
}
