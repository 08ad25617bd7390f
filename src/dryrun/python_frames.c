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
  int (*frame_line)(object *);
  int (*line_of)(const object *, int);
  object *(*attribute)(object *, const char *);
  long (*as_long)(object *);
  void (*clear_error)(void);
  void (*release)(object *);
  long (*length)(const object *);
  uint32_t (*character)(const object *, long);
  const void *code_type, *frame_type;
} python;

/* Offsets in bytes. */
static struct {
  int type;           /* in any object; behind it a size or an object's own fields */
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
static atomic_bool strange; /* something was met that isn't as it was found out */
enum { UNIT = 2 };          /* bytes of an instruction */

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
      {"PyFrame_GetLineNumber", &python.frame_line},
      {"PyCode_Addr2Line", &python.line_of},
      {"PyObject_GetAttrString", &python.attribute},
      {"PyLong_AsLong", &python.as_long},
      {"PyErr_Clear", &python.clear_error},
      {"Py_DecRef", &python.release},
      {"PyUnicode_GetLength", &python.length},
      {"PyUnicode_ReadChar", &python.character},
      {"PyCode_Type", &python.code_type},
      {"PyFrame_Type", &python.frame_type},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
    if (!found) return false;
    memcpy(wanted[i].to, &found, sizeof found);
  }
  return true;
}

/* ---- finding out where things lie; Python's lock is held ---- */

enum { WORDS_OF_HEAD = 4, WORDS_OF_FRAME = 16, WORDS_OF_CODE = 40, WORDS_OF_THREAD = 48, HEAD_OF_CODE = 512 };

/* The offset, from that one on, at which the pointer stands; -1: nowhere in so many words. */
static int offset_from(int first, const void *base, int words, const void *wanted) {
  for (int i = first / 8; i < words; i++)
    if (pointer(base, i * 8) == wanted) return i * 8;
  return -1;
}
static int offset_of(const void *base, int words, const void *wanted) { return offset_from(0, base, words, wanted); }

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

/* A new reference; NULL: it has no such attribute. */
static object *attribute(object *of, const char *name) {
  object *value = python.attribute(of, name);
  if (!value) python.clear_error();
  return value;
}

static long long_attribute(object *of, const char *name) {
  object *value = attribute(of, name);
  long number = value ? python.as_long(value) : -1;
  if (value) python.release(value);
  return number;
}

/* Where a code object has an attribute, from that offset on. */
static int attribute_offset(object *code, const char *name, int first) {
  object *value = attribute(code, name);
  if (!value) return -1;
  int offset = offset_from(first, code, WORDS_OF_CODE, value);
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

/* Behind an object's head stand the caller's frame object and then the frame itself; before 3.11 a size and the caller's. */
static const void *frame_of(object *frame_object) {
  return is_old() ? frame_object : (const void *)word(frame_object, at.type + 16);
}

/* Everything but where the caller is. */
static bool calibrate_one(object *frame_object, object *code) {
  at.type = offset_of(frame_object, WORDS_OF_HEAD, python.frame_type);
  if (at.type < 0 || pointer(code, at.type) != python.code_type) return false;
  const void *frame = frame_of(frame_object);
  at.previous = at.instruction = -1;
  at.code = offset_of(frame, WORDS_OF_FRAME, code);
  at.file = attribute_offset(code, "co_filename", 0);
  at.name = attribute_offset(code, "co_name", 0);
  if (at.code < 0 || at.file < 0 || at.name < 0) return false;
  int qualified = attribute_offset(code, "co_qualname", at.name + 8); /* often the same object */
  if (qualified >= 0) at.name = qualified;
  if (!is_old() && !find_instruction(frame, frame_object, code)) return false;
  return find_thread_frame(python.this_thread(), frame) && reads_right(frame_object, frame, code);
}

/* That too; takes a caller, which a program's outermost level hasn't. */
static bool find_previous(object *inner, object *outer) {
  object *code = attribute(outer, "f_code"); /* None has none: there is no caller */
  if (!code) return false;
  int offset = is_old() ? at.type + 16 : offset_of(frame_of(inner), WORDS_OF_FRAME, frame_of(outer));
  bool right = offset >= 0 && reads_right(outer, frame_of(outer), code);
  python.release(code);
  if (right) at.previous = offset;
  return right;
}

static const void *thread_frame(const void *thread) {
  const void *frame = pointer(thread, at.thread_frame);
  return at.inner >= 0 && frame ? pointer(frame, at.inner) : frame;
}

/* What was found out once may have come out so by chance: it must hold for other frames as well. */
static bool holds_for(object *frame_object, object *code) {
  const void *frame = frame_of(frame_object);
  return thread_frame(python.this_thread()) == frame && reads_right(frame_object, frame, code);
}

/* What can be found out now, from what was known before. */
static int calibrate(int before) {
  object *inner = python.this_thread() && python.has_lock() ? python.current_frame() : NULL; /* borrowed */
  object *code = inner ? attribute(inner, "f_code") : NULL;
  if (!code) return before;
  int now = before;
  if (now != TRYING) now = holds_for(inner, code) ? now : ABSENT;
  else if (calibrate_one(inner, code)) now = INNERMOST;
  python.release(code);
  object *outer = now == INNERMOST ? attribute(inner, "f_back") : NULL;
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
  enum { TRIES = 1000, CHECKS = 100 };
  static int tries;
  static atomic_int checks;
  int now = atomic_load(&state);
  if (now == ABSENT || (now == READY && (atomic_load(&checks) >= CHECKS || !python.has_lock()))) return now == READY;
  if (!wf__dry_trylock(DRY_LOCK_FRAMES)) return now >= INNERMOST;
  now = atomic_load(&state);
  if (now == UNTRIED) now = find_python() ? TRYING : ABSENT;
  if (now == READY) atomic_fetch_add(&checks, 1);
  if (now != ABSENT) now = calibrate(now);
  if ((now == TRYING || now == INNERMOST) && tries < TRIES && !python.has_lock()) python.call_later(try_again, NULL);
  if (now == TRYING && ++tries == 10 * TRIES) now = ABSENT;
  atomic_store(&state, now);
  wf__dry_unlock(DRY_LOCK_FRAMES);
  return now >= INNERMOST;
}

const char *wf__python_unread(void) {
  if (!dlsym(RTLD_DEFAULT, "Py_IsInitialized")) return NULL;
  if (atomic_load(&state) < INNERMOST) return "the frames of this Python can't be read, so its lines aren't known";
  return atomic_load(&strange) ? "where some threads are in their code can't be read, so their lines aren't known"
                               : NULL;
}

/* ---- reading ---- */

/* Takes the frame, or the next one outward that runs Python code: between them stand some that C calls. */
static bool take(wf__python_frame *f, const void *frame) {
  while (frame) {
    const void *code = pointer(frame, at.code);
    if (code && pointer(code, at.type) == python.code_type) {
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
  return take(f, thread_frame(thread));
}

bool wf__python_caller(wf__python_frame *f) { return at.previous >= 0 && take(f, pointer(f->frame, at.previous)); }

int wf__python_instruction(const wf__python_frame *f) {
  if (at.instruction < 0)
    return python.frame_line((object *)(uintptr_t)f->frame); /* any number that changes with the line does */
  intptr_t instruction = (intptr_t)(word(f->frame, at.instruction) - (uintptr_t)f->code) - at.first;
  intptr_t end = (intptr_t)word(f->code, at.type + 8) * UNIT;
  if (instruction >= 0 && instruction < end) return (int)instruction;
  atomic_store(&strange, true); /* threads of a Python without the lock run copies of the code */
  return -1;
}

int wf__python_line_at(const wf__python_frame *f, int instruction) {
  if (instruction < 0) return 0;
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
