/* The one thread-local struct, and the frame that every public call pushes. Small, so that it can live in static TLS. */
#ifndef WF_BASE_THREAD_H
#define WF_BASE_THREAD_H

#include <weft/base.h>

#define WF__LIKELY(x) __builtin_expect(!!(x), 1)
#define WF__UNLIKELY(x) __builtin_expect(!!(x), 0)

/* One public call in progress; lives on the C stack. The outermost call's return address is the user's line. */
typedef struct wf__frame {
  struct wf__frame *outer;
  const char *op;   /* static string: "add" */
  const void *site; /* of the outermost frame; inherited inward */
} wf__frame;

typedef struct wf__thread {
  wf_status pending;  /* WF_OK: none. Duplicates record->status so that the common check touches one line */
  bool grad_disabled; /* so that zero means PyTorch's default */
  bool anomaly;
  uint8_t copy_policy;   /* wf_copy_policy */
  uint8_t asked;         /* depth of "this copy was asked for": copy_, clone, to … set it while they run */
  uint32_t module;       /* trace/: id of the module path */
  uint32_t number;       /* small number of the thread, 0 until asked for */
  uint16_t zones;        /* trace/: depth of open zones, counted while off too so that begin and end stay paired */
  uint8_t zone;          /* trace/: id of the innermost zone */
  uint16_t modules_lost; /* trace/: pushed module names that got no id; their pops change nothing */
  wf__frame *frame;      /* innermost public call */
  /* From here on what ends with the thread (wf__thread_at_exit): pointers only. */
  struct wf__record *record; /* error record, made at the first failure */
  void *scope;               /* tensor/scope.c: stack of open scopes */
  void *slabs;               /* tensor/: free lists */
  void *memory;              /* memory/: blocks of host memory at hand */
  void *trace;               /* trace/: buffer of this thread */
  void *streams;             /* device/: current stream of each device */
  void *backward;            /* autograd/: the backward pass in progress */
  void *modes;               /* autograd/: saved-tensor hooks, checkpoint */
} wf__thread;

extern __thread wf__thread wf__self __attribute__((tls_model("initial-exec")));

/* Registers fn(value of the slot) to run when a thread that set the slot ends; slot is `record` or a pointer behind it in wf__self. They
 * run in that order, and again for what a later one set anew. */
void wf__thread_at_exit(void **slot, void (*fn)(void *value));
/* Makes sure that the exit functions run for this thread. Called by whoever first sets a slot. */
void wf__thread_attach(void);
uint32_t wf__thread_number(void);

static inline wf__frame *wf__frame_enter(wf__frame *f, const char *op, const void *site) {
  f->outer = wf__self.frame;
  f->op = op;
  f->site = f->outer ? f->outer->site : site;
  wf__self.frame = f;
  return f;
}
static inline void wf__frame_leave(wf__frame **f) { wf__self.frame = (*f)->outer; }

/* First statement of each public operator: pushes the frame until the function returns, whatever way. */
#define WF__ENTER(name)                                                          \
  wf__frame wf__frame_here;                                                      \
  wf__frame *wf__frame_guard __attribute__((cleanup(wf__frame_leave), unused)) = \
      wf__frame_enter(&wf__frame_here, (name), __builtin_return_address(0))
/* The same, and returns `value` at once while an error is pending: operators do nothing then. */
#define WF__OP(name, value)                           \
  WF__ENTER(name);                                    \
  do {                                                \
    if (WF__UNLIKELY(wf__self.pending)) return value; \
  } while (0)

#endif
