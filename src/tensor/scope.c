/* Scopes: a stack a thread of references that open scopes hold, and which of it belongs to whom.
 *
 * Each entry holds one reference of a tensor, or a list's array. Giving a reference back early leaves a hole that the next result fills,
 * so a long loop in one scope that frees what it no longer needs doesn't grow the stack. A tensor notes where it was put last, which
 * makes the early free cost a comparison; the note is a hint only, since a tensor may stand in several scopes and on several threads. */
#include "base/host.h"
#include "tensor/tensor.h"

enum {
  TAG_HOLE = 1,
  TAG_ARRAY = 2,
  TAG_BITS = 2
}; /* in the low bits of an entry; holes keep the next hole's index above them */
#define NO_HOLE UINT32_MAX

typedef struct mark {
  uint32_t begin; /* index of the scope's first entry */
  uint32_t hole;  /* first hole in the scope, NO_HOLE none */
} mark;

typedef struct scopes {
  uintptr_t *entry;
  mark *mark;
  uint32_t count, capacity;
  uint32_t depth, marks;
} scopes;

static inline uintptr_t tagged(const void *p, int tag) { return (uintptr_t)p | (uintptr_t)tag; }
static inline void note_place(wf_tensor *t, uint32_t at) {
  __atomic_store_n(&t->scope, (void *)((uintptr_t)at + 1), __ATOMIC_RELAXED);
}
static inline uint32_t noted_place(const wf_tensor *t) {
  return (uint32_t)((uintptr_t)__atomic_load_n(&t->scope, __ATOMIC_RELAXED) - 1);
}

static void drop_entry(uintptr_t entry) {
  if (entry & TAG_HOLE) return;
  if (entry & TAG_ARRAY) {
    wf__release((void *)(entry & ~(uintptr_t)TAG_ARRAY));
  } else {
    wf__tensor_release((wf_tensor *)entry);
  }
}

/* Pops one entry before dropping it: what is dropped may run foreign code that uses the stack. */
static void drop_down_to(scopes *s, uint32_t begin) {
  while (s->count > begin) drop_entry(s->entry[--s->count]);
}

/* A thread that ends with scopes open gives their references back. */
static void release_all(void *value) {
  scopes *s = value;
  s->depth = 0;
  drop_down_to(s, 0);
  wf__release(s->entry);
  wf__release(s->mark);
  wf__release(s);
}

static scopes *scopes_of_thread(void) {
  if (!wf__self.scope) {
    wf__self.scope = wf__calloc(1, sizeof(scopes));
    if (wf__self.scope) wf__thread_at_exit(&wf__self.scope, release_all);
  }
  return wf__self.scope;
}

static scopes *open_scopes(void) {
  scopes *s = wf__self.scope;
  return s && s->depth ? s : NULL;
}

static bool reserve(scopes *s, uint32_t more) {
  if (WF__LIKELY(s->capacity - s->count >= more)) return true;
  uint32_t capacity = s->capacity ? s->capacity * 2 : 64;
  while (capacity - s->count < more) capacity *= 2;
  uintptr_t *grown = wf__realloc(s->entry, capacity * sizeof *grown);
  if (!grown) return false;
  s->entry = grown;
  s->capacity = capacity;
  return true;
}

/* Puts an entry into the innermost scope; there is room. */
static uint32_t place(scopes *s, uintptr_t entry) {
  mark *m = &s->mark[s->depth - 1];
  uint32_t at = s->count;
  if (m->hole != NO_HOLE) {
    at = m->hole;
    m->hole = (uint32_t)(s->entry[at] >> TAG_BITS);
  } else {
    s->count++;
  }
  s->entry[at] = entry;
  return at;
}

static void take_out(scopes *s, uint32_t at) {
  if (at == s->count - 1) {
    s->count--;
    return;
  }
  mark *m = &s->mark[s->depth - 1];
  s->entry[at] = (uintptr_t)m->hole << TAG_BITS | TAG_HOLE;
  m->hole = at;
}

/* Index of the entry in the innermost scope, NO_HOLE when it isn't there. */
static uint32_t find(const scopes *s, uintptr_t entry, uint32_t hint) {
  uint32_t begin = s->mark[s->depth - 1].begin;
  if (hint >= begin && hint < s->count && s->entry[hint] == entry) return hint;
  for (uint32_t i = s->count; i > begin; i--)
    if (s->entry[i - 1] == entry) return i - 1;
  return NO_HOLE;
}

wf_scope wf_scope_begin(void) {
  wf_scope none = {0};
  scopes *s = scopes_of_thread();
  if (!s) return none;
  if (s->depth == s->marks) {
    uint32_t marks = s->marks ? s->marks * 2 : 16;
    mark *grown = wf__realloc(s->mark, marks * sizeof *grown);
    if (!grown) return none;
    s->mark = grown;
    s->marks = marks;
  }
  s->mark[s->depth] = (mark){s->count, NO_HOLE};
  return (wf_scope){++s->depth};
}

/* Takes one reference of `result` out of the entries from `begin` on. */
static bool rescue(scopes *s, uint32_t begin, wf_tensor *result) {
  for (uint32_t i = s->count; i > begin; i--) {
    if (s->entry[i - 1] != tagged(result, 0)) continue;
    s->entry[i - 1] = TAG_HOLE;
    return true;
  }
  return false;
}

wf_tensor *wf_scope_end(wf_scope scope, wf_tensor *result) {
  scopes *s = wf__self.scope;
  bool open = s && scope.depth && scope.depth <= s->depth;
  if (wf__self.pending) result = NULL;
  if (!open) return result; /* its beginning failed, or it has ended already: results went outside as they came */
  uint32_t begin = s->mark[scope.depth - 1].begin;
  if (result && !rescue(s, begin, result)) wf_retain(result);
  s->depth = scope.depth; /* what foreign code adds while things are dropped lands on top and is dropped with them */
  s->mark[scope.depth - 1].hole = NO_HOLE;
  drop_down_to(s, begin);
  s->depth--;
  return wf__give(result);
}

void wf_free(wf_tensor *tensor) {
  if (!tensor) return;
  scopes *s = open_scopes();
  uint32_t hint = noted_place(tensor);
  if (s && hint != NO_HOLE) {
    uint32_t at = find(s, tagged(tensor, 0), hint);
    if (at != NO_HOLE) take_out(s, at);
  }
  wf__tensor_release(tensor);
}

wf_tensor *wf__give(wf_tensor *t) {
  scopes *s = open_scopes();
  if (!t) return NULL;
  if (WF__UNLIKELY(wf__self.pending || (s && !reserve(s, 1)))) {
    wf__tensor_release(t);
    return NULL;
  }
  if (s) note_place(t, place(s, tagged(t, 0)));
  return t;
}

wf_tensors wf__give_list(wf_tensor **at, int n) {
  wf_tensors none = {NULL, 0}, list = {at, n};
  scopes *s = open_scopes();
  if (!at) return none;
  if (wf__self.pending || (s && !reserve(s, (uint32_t)n + 1))) {
    for (int i = 0; i < n; i++) wf__tensor_release(at[i]);
    wf__release(at);
    return none;
  }
  if (!s) return list;
  for (int i = 0; i < n; i++)
    if (at[i]) note_place(at[i], place(s, tagged(at[i], 0)));
  place(s, tagged(at, TAG_ARRAY));
  return list;
}

void wf_tensors_free(wf_tensors list) {
  if (!list.at) return;
  for (int i = 0; i < list.n; i++) wf_free(list.at[i]);
  scopes *s = open_scopes();
  uint32_t at = s ? find(s, tagged(list.at, TAG_ARRAY), NO_HOLE) : NO_HOLE;
  if (at != NO_HOLE) take_out(s, at);
  wf__release(list.at);
}
