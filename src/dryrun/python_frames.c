/* Frames of CPython, read without holding its lock.
 *
 * PyTorch releases the lock before it launches anything, so the documented calls, which count references, can't be used where it matters, and taking the
 * lock inside of a CUDA call could block for ever. But a thread's own frames don't change while it is in here: reading them is enough. Where their fields
 * lie differs between releases of Python and is found out once, while the lock is held: by looking where values that the documented calls give stand in
 * memory. Whatever doesn't come out the same for two frames is not used, and lines are then not known. */
#define _GNU_SOURCE
#include "dryrun/python_frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "dryrun/locks.h"

typedef void object;

/* What is used of Python; none of it is linked. */
static struct {
  object *(*this_thread)(void);
  int (*has_lock)(void);
  int (*call_later)(int (*)(void *), void *);
  object *(*current_frame)(void);
  object *(*frame_back)(object *);
  object *(*frame_code)(object *);
  int (*frame_line)(object *);
  int (*line_of)(const object *, int);
  object *(*attribute)(object *, const char *);
  long (*as_long)(object *);
  void (*clear_error)(void);
  void (*release)(object *);
  long (*length)(const object *);
  uint32_t (*character)(const object *, long);
  const void *code_type;
} python;

/* Offsets in bytes. */
static struct {
  int thread_frame;   /* in the thread's state: the frame, or a structure that holds it at `inner` */
  int inner;          /* -1: the frame itself */
  int code, previous; /* in a frame */
  int instruction;    /* in a frame: pointer into the code object; -1: the frame is an object that can say its line */
  int first;          /* in a code object: its first instruction */
  int file, name;     /* in a code object */
} at;

/* INNERMOST: all but the way from a frame to its caller is known. */
enum { UNTRIED, ABSENT, TRYING, INNERMOST, READY };
static atomic_int state;

static uintptr_t word(const void *base, int offset) { return *(const uintptr_t *)((const char *)base + offset); }
static const void *pointer(const void *base, int offset) { return (const void *)(word(base, offset) & ~(uintptr_t)3); }

static bool find_python(void) {
  struct {
    const char *name;
    void *to;
  } wanted[] = {
      {"PyGILState_GetThisThreadState", &python.this_thread},
      {"PyGILState_Check", &python.has_lock},
      {"Py_AddPendingCall", &python.call_later},
      {"PyEval_GetFrame", &python.current_frame},
      {"PyFrame_GetBack", &python.frame_back},
      {"PyFrame_GetCode", &python.frame_code},
      {"PyFrame_GetLineNumber", &python.frame_line},
      {"PyCode_Addr2Line", &python.line_of},
      {"PyObject_GetAttrString", &python.attribute},
      {"PyLong_AsLong", &python.as_long},
      {"PyErr_Clear", &python.clear_error},
      {"Py_DecRef", &python.release},
      {"PyUnicode_GetLength", &python.length},
      {"PyUnicode_ReadChar", &python.character},
      {"PyCode_Type", &python.code_type},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
    if (!found) return false;
    memcpy(wanted[i].to, &found, sizeof found);
  }
  return true;
}

/* ---- finding out where things lie; Python's lock is held ---- */

enum {
  WORDS_OF_FRAME = 16,
  WORDS_OF_CODE = 40,
  WORDS_OF_THREAD = 48,
  HEAD_OF_CODE = 512,
  OLD_BACK = 24,
  FRAME_OF_OBJECT = 24
};

/* The offset at which the pointer stands; -1: nowhere in so many words. */
static int offset_of(const void *base, int words, const void *wanted) {
  for (int i = 0; i < words; i++)
    if (pointer(base, i * 8) == wanted) return i * 8;
  return -1;
}

static bool in_own_stack(uintptr_t address) {
  pthread_attr_t attributes;
  void *low;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes)) return false;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  return address >= (uintptr_t)&attributes && address < (uintptr_t)low + bytes - 64;
}

/* Python 3.13 and later keep the frame in the thread's state, 3.11 and 3.12 in a structure on the stack or at the end of that state. */
static bool find_thread_frame(const void *thread, const void *frame) {
  at.inner = -1;
  at.thread_frame = offset_of(thread, WORDS_OF_THREAD, frame);
  if (at.thread_frame >= 0) return true;
  for (int i = 0; i < WORDS_OF_THREAD; i++) {
    uintptr_t candidate = word(thread, i * 8);
    bool readable =
        candidate % 8 == 0 && (in_own_stack(candidate) || candidate - (uintptr_t)thread < WORDS_OF_THREAD * 8);
    int inner = readable ? offset_of((const void *)candidate, 3, frame) : -1;
    if (inner < 0) continue;
    at.thread_frame = i * 8;
    at.inner = inner;
    return true;
  }
  return false;
}

static long long_attribute(object *of, const char *name) {
  object *value = python.attribute(of, name);
  long number = value ? python.as_long(value) : -1;
  if (value) python.release(value);
  else python.clear_error();
  return number;
}

/* Where a code object has an attribute. */
static int attribute_offset(object *code, const char *name) {
  object *value = python.attribute(code, name);
  if (!value) return python.clear_error(), -1;
  int offset = offset_of(code, WORDS_OF_CODE, value);
  python.release(value);
  return offset;
}

/* The word of the frame that points into the code object. */
static bool find_instruction(const void *frame, object *frame_object, const void *code) {
  long last = long_attribute(frame_object, "f_lasti");
  for (int i = 0; i < WORDS_OF_FRAME && last >= 0; i++) {
    intptr_t first = (intptr_t)(word(frame, i * 8) - (uintptr_t)code) - last;
    if (first <= 0 || first >= HEAD_OF_CODE) continue;
    at.instruction = i * 8;
    at.first = (int)first;
    return true;
  }
  return false;
}

/* That one frame reads as the documented calls say. */
static bool reads_right(object *frame_object, const void *frame, object *code) {
  wf__python_frame f = {frame, pointer(frame, at.code), NULL, NULL};
  if (f.code != code) return false;
  return wf__python_line_at(&f, wf__python_instruction(&f)) == python.frame_line(frame_object);
}

/* Before 3.11 frames were objects, linked to one another. */
static bool is_old(void) {
  const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
  return version && atoi(version()) == 3 && atoi(version() + 2) < 11;
}

static const void *frame_of(object *frame_object) {
  return is_old() ? frame_object : (const void *)word(frame_object, FRAME_OF_OBJECT);
}

/* Everything but where the caller is. */
static bool calibrate_one(object *frame_object, object *code) {
  const void *frame = frame_of(frame_object);
  at.previous = at.instruction = -1;
  at.code = offset_of(frame, WORDS_OF_FRAME, code);
  at.file = attribute_offset(code, "co_filename");
  at.name = attribute_offset(code, "co_qualname");
  if (at.name < 0) at.name = attribute_offset(code, "co_name");
  if (at.code < 0 || at.file < 0 || at.name < 0) return false;
  if (!is_old() && !find_instruction(frame, frame_object, code)) return false;
  return find_thread_frame(python.this_thread(), frame) && reads_right(frame_object, frame, code);
}

/* That too; takes a caller, which a program's outermost level hasn't. */
static bool find_previous(object *inner, object *outer) {
  object *code = python.frame_code(outer);
  int offset = is_old() ? OLD_BACK : offset_of(frame_of(inner), WORDS_OF_FRAME, frame_of(outer));
  bool right = offset >= 0 && reads_right(outer, frame_of(outer), code);
  python.release(code);
  if (right) at.previous = offset;
  return right;
}

/* What can be found out now, from what was known before. */
static int calibrate(int before) {
  object *inner = python.this_thread() && python.has_lock() ? python.current_frame() : NULL; /* borrowed */
  if (!inner) return before;
  int now = before;
  if (now == TRYING) {
    object *code = python.frame_code(inner);
    if (calibrate_one(inner, code)) now = INNERMOST;
    python.release(code);
  }
  object *outer = now == INNERMOST ? python.frame_back(inner) : NULL;
  if (outer && find_previous(inner, outer)) now = READY;
  if (outer) python.release(outer);
  return now;
}

/* Python runs this soon on its main thread, with its lock. */
static int try_again(void *unused) {
  wf__dry_lock(DRY_LOCK_FRAMES);
  atomic_store(&state, calibrate(atomic_load(&state)));
  wf__dry_unlock(DRY_LOCK_FRAMES);
  return 0;
}

static bool is_ready(void) {
  enum { TRIES = 1000 };
  static int tries;
  int now = atomic_load(&state);
  if (now == READY || now == ABSENT) return now == READY;
  if (!wf__dry_trylock(DRY_LOCK_FRAMES)) return now == INNERMOST;
  now = atomic_load(&state);
  if (now == UNTRIED) now = find_python() ? TRYING : ABSENT;
  if (now == TRYING || now == INNERMOST) now = calibrate(now);
  if ((now == TRYING || now == INNERMOST) && tries < TRIES && !python.has_lock()) python.call_later(try_again, NULL);
  if (now == TRYING && ++tries == 10 * TRIES) now = ABSENT;
  atomic_store(&state, now);
  wf__dry_unlock(DRY_LOCK_FRAMES);
  return now >= INNERMOST;
}

/* ---- reading ---- */

/* Takes the frame, or the next one outward that runs Python code: between them stand some that C calls. */
static bool take(wf__python_frame *f, const void *frame) {
  while (frame) {
    const void *code = pointer(frame, at.code);
    if (code && (const void *)word(code, 8) == python.code_type) {
      *f = (wf__python_frame){frame, code, pointer(code, at.file), pointer(code, at.name)};
      return true;
    }
    frame = at.previous < 0 ? NULL : pointer(frame, at.previous);
  }
  return false;
}

bool wf__python_innermost(wf__python_frame *f) {
  if (!is_ready()) return false;
  const void *thread = python.this_thread();
  if (!thread) return false;
  const void *frame = pointer(thread, at.thread_frame);
  if (at.inner >= 0 && frame) frame = pointer(frame, at.inner);
  return take(f, frame);
}

bool wf__python_caller(wf__python_frame *f) { return at.previous >= 0 && take(f, pointer(f->frame, at.previous)); }

int wf__python_instruction(const wf__python_frame *f) {
  if (at.instruction < 0)
    return python.frame_line((object *)(uintptr_t)f->frame); /* any number that changes with the line does */
  return (int)(word(f->frame, at.instruction) - (uintptr_t)f->code) - at.first;
}

int wf__python_line_at(const wf__python_frame *f, int instruction) {
  return at.instruction < 0 ? instruction : python.line_of(f->code, instruction);
}

void wf__python_text(const void *string, char *buffer, size_t bytes) {
  size_t used = 0;
  long length = python.length(string);
  for (long i = 0; i < length && used + 5 < bytes; i++) {
    uint32_t c = python.character(string, i);
    if (c < 0x80) {
      buffer[used++] = (char)c;
    } else if (c < 0x800) {
      buffer[used++] = (char)(0xc0 | c >> 6);
      buffer[used++] = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
      buffer[used++] = (char)(0xe0 | c >> 12);
      buffer[used++] = (char)(0x80 | (c >> 6 & 63));
      buffer[used++] = (char)(0x80 | (c & 63));
    } else {
      buffer[used++] = (char)(0xf0 | c >> 18);
      buffer[used++] = (char)(0x80 | (c >> 12 & 63));
      buffer[used++] = (char)(0x80 | (c >> 6 & 63));
      buffer[used++] = (char)(0x80 | (c & 63));
    }
  }
  buffer[used] = 0;
}
