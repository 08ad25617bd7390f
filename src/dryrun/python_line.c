/* Which line of the program is running: the innermost one that is neither PyTorch's nor Python's own library's. Numbers of lines are looked up in
 * tables by code object, so that it costs little for each launch. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/host.h"
#include "dryrun/python_frames.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"
#include "format/string_set.h"

/* A code object that was met. Another one may stand at its address later; then its strings differ. */
typedef struct code {
  const void *object, *file_object, *name_object;
  uint32_t file, name; /* numbers of strings */
  bool skipped;        /* not the program's own */
  bool without_file;   /* a text that was executed: by the program, or by a library for it */
} code;

typedef struct place {
  uint32_t file, name;
  int line;
} place;

/* What was found for an instruction, to find it again without a search. */
typedef struct memory {
  const void *code, *file_object;
  int instruction;
  uint32_t number;
} memory;

enum { CODES = 1 << 14, PLACES = 1 << 16, MEMORIES = 1 << 12 };

static struct {
  wf__string_set strings;
  code *codes;     /* by hash of the address; CODES of them */
  uint32_t *slots; /* of places, by hash: number, 0 free */
  place *places;   /* [number]; 0 is no place */
  uint32_t place_count, code_count;
  memory memories[MEMORIES];
  bool is_text;     /* the program */
  char torch[4096]; /* PyTorch's folder, with a slash; "": not found yet */
} known;

/* Where the last thread that runs Python was: threads without Python, or with nothing but PyTorch's (the backward pass), work for it. */
static _Atomic uint32_t last;

/* Autograd's own threads run Python, too (hooks, a user's backward function, what a checkpoint computes again). Those lines are their own: what such a
 * thread does afterwards without Python is for whoever waits for the backward pass. */
static bool is_autograds(void) {
  static __thread int answer __attribute__((tls_model("initial-exec"))); /* 0: not looked up */
  char name[16];
  if (!answer)
    answer = !pthread_getname_np(pthread_self(), name, sizeof name) && !strncmp(name, "pt_autograd", 11) ? 1 : -1;
  return answer > 0;
}

static int find_torch(struct dl_phdr_info *info, size_t size, void *data) {
  const char *tail = info->dlpi_name ? strstr(info->dlpi_name, "/torch/lib/libc10.so") : NULL;
  if (!tail) return 0;
  snprintf(known.torch, sizeof known.torch, "%.*s/torch/", (int)(tail - info->dlpi_name), info->dlpi_name);
  return 1;
}

/* PyTorch's files, also those that it writes (Inductor's), Triton's, Python's own library, what watches the program from inside, and what stands where
 * C called Python (3.12). */
static bool is_skipped(const char *file) {
  if (!known.torch[0]) dl_iterate_phdr(find_torch, NULL);
  size_t n = strlen(known.torch);
  if (n && !strncmp(file, known.torch, n)) return true;
  if (!strcmp(file, "<shim>") || !strncmp(file, "<frozen ", 8) || !strncmp(file, "<eval_with_key>", 15) ||
      strstr(file, "/site-packages/triton/") || strstr(file, "/torchinductor_"))
    return true;
  const char *base = strrchr(file, '/');
  if (base && !strncmp(base, "/weft_dry", 9)) return true;
  const char *library = strstr(file, "/lib/python3");
  return library && !strstr(library, "/site-packages/") && !strstr(library, "/dist-packages/");
}

static bool make_tables(void) {
  if (known.places) return true;
  known.codes = wf__calloc(CODES, sizeof *known.codes);
  known.slots = wf__calloc(PLACES * 2, sizeof *known.slots);
  known.places = wf__calloc(PLACES, sizeof *known.places);
  known.place_count = 1;
  if (known.codes && known.slots && known.places) return true;
  wf__release(known.codes);
  wf__release(known.slots);
  wf__release(known.places);
  known.places = NULL;
  wf_error_take();
  return false;
}

static uint64_t mixed(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 31;
}

static code learn(const wf__python_frame *f) {
  char file[4096], name[512];
  wf__python_text(f->file, file, sizeof file);
  wf__python_text(f->name, name, sizeof name);
  code c = {f->code,
            f->file,
            f->name,
            wf__string_set_add(&known.strings, file, strlen(file)),
            wf__string_set_add(&known.strings, name, strlen(name)),
            is_skipped(file),
            !strcmp(file, "<string>")};
  if (c.file == UINT32_MAX || c.name == UINT32_MAX) wf_error_take();
  return c;
}

static const code *code_of(const wf__python_frame *f) {
  size_t i = mixed((uintptr_t)f->code >> 4) & (CODES - 1);
  for (; known.codes[i].object; i = (i + 1) & (CODES - 1)) {
    code *c = &known.codes[i];
    if (c->object != f->code) continue;
    if (c->file_object != f->file || c->name_object != f->name) *c = learn(f);
    return c;
  }
  if (known.code_count == CODES * 3 / 4) { /* programs that make functions all the time: start again */
    memset(known.codes, 0, CODES * sizeof *known.codes);
    known.code_count = 0;
    i = mixed((uintptr_t)f->code >> 4) & (CODES - 1);
  }
  known.code_count++;
  known.codes[i] = learn(f);
  return &known.codes[i];
}

static uint32_t number_of(place p) {
  size_t mask = PLACES * 2 - 1, i = mixed((uint64_t)p.file << 40 ^ (uint64_t)p.name << 20 ^ (uint64_t)p.line) & mask;
  for (; known.slots[i]; i = (i + 1) & mask) {
    const place *q = &known.places[known.slots[i]];
    if (q->file == p.file && q->name == p.name && q->line == p.line) return known.slots[i];
  }
  if (known.place_count == PLACES) return 0;
  known.places[known.place_count] = p;
  return known.slots[i] = known.place_count++;
}

static uint32_t number_in(const wf__python_frame *f, const code *c) {
  int instruction = wf__python_instruction(f);
  memory *m = &known.memories[mixed((uintptr_t)f->code ^ (uint64_t)instruction << 48) & (MEMORIES - 1)];
  if (m->code == f->code && m->file_object == f->file && m->instruction == instruction) return m->number;
  int line = wf__python_line_at(f, instruction);
  uint32_t number = line > 0 ? number_of((place){c->file, c->name, line}) : 0;
  *m = (memory){f->code, f->file, instruction, number};
  return number;
}

/* Texts are the program's own where it is one itself (python -c), as its outermost frame shows. Otherwise a library made them, or a line that is further out.
 * The caller holds the lock. */
static uint32_t find_line(wf__python_frame *f) {
  enum { DEPTH = 1000 };
  uint32_t of_text = 0;
  for (int depth = 0; depth < DEPTH; depth++) {
    const code *c = code_of(f);
    if (!c->skipped && !c->without_file) return number_in(f, c);
    if (!c->skipped && !of_text) of_text = number_in(f, c);
    if (wf__python_caller(f)) continue;
    known.is_text |= c->without_file;
    break;
  }
  return known.is_text ? of_text : 0;
}

uint32_t wf__dry_python_line(void) {
  wf__python_frame frame;
  if (!wf__python_innermost(&frame)) return atomic_load(&last);
  if (!wf__dry_lock_soon(DRY_LOCK_LINES)) return atomic_load(&last);
  uint32_t number = make_tables() ? find_line(&frame) : 0;
  wf__dry_unlock(DRY_LOCK_LINES);
  if (!number) return atomic_load(&last);
  if (!is_autograds()) atomic_store(&last, number);
  return number;
}

void wf__dry_line_of(uint32_t number, wf__dry_line *line) {
  *line = (wf__dry_line){.line = 0};
  if (!number || number >= known.place_count) return;
  place p = known.places[number];
  line->line = p.line;
  snprintf(line->file, sizeof line->file, "%s", wf__string_set_text(&known.strings, p.file));
  snprintf(line->function, sizeof line->function, "%s", wf__string_set_text(&known.strings, p.name));
}
