/* Programs of views and copies against a reference without strides: it knows of each tensor only the places of its elements, in logical order,
 * and finds those of a view by coordinates. A program is a string of bytes, random in the test and libFuzzer's in the fuzz target. */
#ifndef WF_TESTS_OP_VIEW_PROGRAM_H
#define WF_TESTS_OP_VIEW_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <weft/copy.h>
#include <weft/create.h>
#include <weft/view.h>

#define MOST_ELEMENTS 256
#define MOST_DIMS 8
#define MOST_TENSORS 24
#define MOST_MEMORY 512

typedef struct model {
  int ndim;
  int64_t size[MOST_DIMS], numel;
  int place[MOST_ELEMENTS]; /* in logical order */
  int memory;               /* which */
  wf_tensor *tensor;
} model;

typedef struct view_program {
  const uint8_t *at, *end;
  model all[MOST_TENSORS];
  int count, memories;
  int32_t memory[MOST_TENSORS][MOST_MEMORY];
  char fault[160]; /* empty: none */
} view_program;

static inline int next_below(view_program *p, int n) {
  if (n <= 1) return 0;
  return (p->at < p->end ? *p->at++ : 0) % n;
}

#define program_fault(p, ...) (void)((p)->fault[0] || snprintf((p)->fault, sizeof(p)->fault, __VA_ARGS__))

static inline int64_t count_of(const model *m) {
  int64_t n = 1;
  for (int d = 0; d < m->ndim; d++) n *= m->size[d];
  return n;
}

static inline void coordinates(const model *m, int64_t k, int64_t *at) {
  for (int d = m->ndim - 1; d >= 0; d--) {
    at[d] = k % m->size[d];
    k /= m->size[d];
  }
}

static inline int64_t number_of(const model *m, const int64_t *at) {
  int64_t k = 0;
  for (int d = 0; d < m->ndim; d++) k = k * m->size[d] + at[d];
  return k;
}

/* Strides that walk the model's places: 1 when there are some. They are free in dims of size 1 and without elements. */
static inline int walkable(const model *m, int64_t *stride) {
  for (int d = 0; d < m->ndim; d++) {
    int64_t at[MOST_DIMS] = {0};
    stride[d] = 0;
    if (m->numel == 0 || m->size[d] < 2) continue;
    at[d] = 1;
    stride[d] = m->place[number_of(m, at)] - m->place[0];
  }
  for (int64_t k = 0; k < m->numel; k++) {
    int64_t at[MOST_DIMS], place = m->place[0];
    coordinates(m, k, at);
    for (int d = 0; d < m->ndim; d++) place += at[d] * stride[d];
    if (place != m->place[k]) return 0;
  }
  return 1;
}

/* Holds a tensor against its model: sizes, strides, offset, contiguity. */
static inline void compare_geometry(view_program *p, const model *m, const char *op) {
  const wf_tensor *t = m->tensor;
  int64_t stride[MOST_DIMS];
  if (wf_ndim(t) != m->ndim || wf_numel(t) != m->numel) {
    program_fault(p, "%s: rank %d, expected %d", op, wf_ndim(t), m->ndim);
    return;
  }
  walkable(m, stride);
  int contiguous = 1;
  for (int64_t k = 0; k < m->numel; k++) contiguous &= m->place[k] == m->place[0] + k;
  for (int d = 0; d < m->ndim; d++) {
    if (wf_size(t, d) != m->size[d]) program_fault(p, "%s: size %d is %lld", op, d, (long long)wf_size(t, d));
    if (m->numel && m->size[d] > 1 && wf_stride(t, d) != stride[d])
      program_fault(p, "%s: stride %d is %lld, expected %lld", op, d, (long long)wf_stride(t, d), (long long)stride[d]);
  }
  if (m->numel && wf_storage_offset(t) != m->place[0])
    program_fault(p, "%s: offset %lld, expected %d", op, (long long)wf_storage_offset(t), m->place[0]);
  if (wf_is_contiguous(t, WF_FORMAT_CONTIGUOUS) != (contiguous != 0)) program_fault(p, "%s: contiguity", op);
}

static inline void compare_elements_of(view_program *p, const model *m, const char *op) {
  int32_t came[MOST_ELEMENTS];
  if (wf_to_host(m->tensor, came, (size_t)m->numel * 4)) {
    program_fault(p, "%s: can't be read", op);
    return;
  }
  for (int64_t k = 0; k < m->numel; k++)
    if (came[k] != p->memory[m->memory][m->place[k]])
      program_fault(p, "%s: element %lld is %d, expected %d", op, (long long)k, came[k],
                    p->memory[m->memory][m->place[k]]);
}

/* Takes the model in when the tensor is there. expected: whether it had to be. */
static inline void settle(view_program *p, model *m, wf_tensor *t, int expected, const char *op) {
  wf_error e = wf_error_take();
  if (!t != !expected) {
    program_fault(p, "%s: %s%s", op, t ? "accepted" : "refused: ", t ? "" : e.text);
    return;
  }
  if (!t) return;
  m->tensor = t;
  compare_geometry(p, m, op);
  if (p->count < MOST_TENSORS) p->all[p->count++] = *m;
}

/* The elements of `to` (sizes set) are those of `from` at coordinates that `back` computes; -1 ends the walk of one. */
static inline void model_fresh(view_program *p, model *m, wf_tensor *t, const model *from, const char *op) {
  *m = *from;
  if (p->memories == MOST_TENSORS) return;
  m->memory = p->memories++;
  m->tensor = t;
  /* A copy's places follow from its strides; what is checked of them is that they are dense, and the elements. */
  int taken[MOST_MEMORY] = {0};
  for (int64_t k = 0; k < m->numel; k++) {
    int64_t at[MOST_DIMS], place = 0;
    coordinates(m, k, at);
    for (int d = 0; d < m->ndim; d++) place += at[d] * wf_stride(t, d);
    if (place < 0 || place >= m->numel || taken[place]++) {
      program_fault(p, "%s: not dense", op);
      return;
    }
    m->place[k] = (int)place;
    p->memory[m->memory][place] = p->memory[from->memory][from->place[k]];
  }
}

static inline void run_view(view_program *p, const model *from) {
  model m = *from;
  int n = m.ndim, d = next_below(p, n), e = next_below(p, n), op = next_below(p, 12);
  int64_t at[MOST_DIMS] = {0};
  wf_tensor *t = from->tensor;
  switch (op) {
    case 0: /* transpose */
      if (!n) return;
      m.size[d] = from->size[e];
      m.size[e] = from->size[d];
      for (int64_t k = 0; k < m.numel; k++) {
        coordinates(&m, k, at);
        int64_t x = at[d];
        at[d] = at[e];
        at[e] = x;
        m.place[k] = from->place[number_of(from, at)];
      }
      settle(p, &m, wf_transpose(t, next_below(p, 2) ? d : d - n, e), 1, "transpose");
      return;
    case 1: { /* permute */
      int64_t order[MOST_DIMS];
      for (int i = 0; i < n; i++) order[i] = i;
      for (int i = n - 1; i > 0; i--) {
        int j = next_below(p, i + 1);
        int64_t x = order[i];
        order[i] = order[j];
        order[j] = x;
      }
      for (int i = 0; i < n; i++) m.size[i] = from->size[order[i]];
      for (int64_t k = 0; k < m.numel; k++) {
        int64_t old[MOST_DIMS];
        coordinates(&m, k, at);
        for (int i = 0; i < n; i++) old[order[i]] = at[i];
        m.place[k] = from->place[number_of(from, old)];
      }
      settle(p, &m, wf_permute(t, wf_dims_of(order, n)), 1, "permute");
      return;
    }
    case 2:   /* slice with Python's clamping */
    case 3: { /* narrow, which refuses instead */
      if (!n) return;
      int size = (int)from->size[d], start = next_below(p, 2 * size + 5) - size - 2, step = 1 + next_below(p, 3),
          end = next_below(p, 2 * size + 5) - size - 2;
      if (op == 3) {
        int length = next_below(p, size + 2), first = start < 0 ? start + size : start;
        int good = start >= -size && start <= size && first + length <= size;
        if (good) {
          m.size[d] = length;
          m.numel = count_of(&m);
          for (int64_t k = 0; k < m.numel; k++) {
            coordinates(&m, k, at);
            at[d] += first;
            m.place[k] = from->place[number_of(from, at)];
          }
        }
        settle(p, &m, wf_narrow(t, d, start, length), good, "narrow");
        return;
      }
      int low = start < 0 ? start + size : start, high = end < 0 ? end + size : end;
      low = low < 0 ? 0 : low > size ? size : low;
      high = high < low ? low : high > size ? size : high;
      m.size[d] = (high - low + step - 1) / step;
      m.numel = count_of(&m);
      for (int64_t k = 0; k < m.numel; k++) {
        coordinates(&m, k, at);
        at[d] = low + at[d] * step;
        m.place[k] = from->place[number_of(from, at)];
      }
      settle(p, &m, wf_slice(t, d, start, end, step), 1, "slice");
      return;
    }
    case 4: { /* select */
      int size = n ? (int)from->size[d] : 0, index = next_below(p, 2 * size + 3) - size - 1;
      int good = n && index >= -size && index < size;
      if (good) {
        for (int i = d; i + 1 < n; i++) m.size[i] = from->size[i + 1];
        m.ndim = n - 1;
        m.numel = count_of(&m);
        for (int64_t k = 0; k < m.numel; k++) {
          coordinates(&m, k, at);
          for (int i = n - 1; i > d; i--) at[i] = at[i - 1];
          at[d] = index < 0 ? index + size : index;
          m.place[k] = from->place[number_of(from, at)];
        }
      }
      settle(p, &m, wf_select(t, d, index), good, "select");
      return;
    }
    case 5: /* unsqueeze */
      if (n == MOST_DIMS) return;
      d = next_below(p, n + 1);
      for (int i = n; i > d; i--) m.size[i] = from->size[i - 1];
      m.size[d] = 1;
      m.ndim = n + 1;
      settle(p, &m, wf_unsqueeze(t, d), 1, "unsqueeze");
      return;
    case 6: /* squeeze of one dim */
      if (!n) return;
      if (from->size[d] == 1) {
        for (int i = d; i + 1 < n; i++) m.size[i] = from->size[i + 1];
        m.ndim = n - 1;
      }
      int64_t which = d;
      settle(p, &m, wf_squeeze(t, wf_dims_of(&which, 1)), 1, "squeeze");
      return;
    case 7: { /* expand */
      int lead = next_below(p, 2);
      int64_t size[MOST_DIMS], fits = 1;
      if (n + lead > MOST_DIMS) return;
      for (int i = 0; i < n + lead; i++) {
        int64_t own = i < lead ? 1 : from->size[i - lead];
        size[i] = own == 1 ? next_below(p, 4) : next_below(p, 12) ? own : own + 1;
        fits &= size[i] == own || own == 1;
      }
      m.ndim = n + lead;
      memcpy(m.size, size, sizeof size);
      m.numel = count_of(&m);
      if (m.numel > MOST_ELEMENTS) return;
      for (int64_t k = 0; fits && k < m.numel; k++) {
        int64_t old[MOST_DIMS];
        coordinates(&m, k, at);
        for (int i = 0; i < n; i++) old[i] = from->size[i] == 1 ? 0 : at[i + lead];
        m.place[k] = from->place[number_of(from, old)];
      }
      settle(p, &m, wf_expand(t, wf_dims_of(size, n + lead)), (int)fits, "expand");
      return;
    }
    case 8: { /* diagonal */
      if (n < 2 || d == e) return;
      int offset = next_below(p, 5) - 2;
      int64_t rows = from->size[d], columns = from->size[e],
              length = offset < 0 ? (rows + offset < columns ? rows + offset : columns)
                                  : (columns - offset < rows ? columns - offset : rows);
      if (length < 0) length = 0;
      int at_dim = 0;
      for (int i = 0; i < n; i++)
        if (i != d && i != e) m.size[at_dim++] = from->size[i];
      m.size[at_dim] = length;
      m.ndim = n - 1;
      m.numel = count_of(&m);
      for (int64_t k = 0; k < m.numel; k++) {
        int64_t old[MOST_DIMS];
        coordinates(&m, k, at);
        for (int i = 0, j = 0; i < n; i++)
          if (i != d && i != e) old[i] = at[j++];
        old[d] = at[n - 2] - (offset < 0 ? offset : 0);
        old[e] = at[n - 2] + (offset > 0 ? offset : 0);
        m.place[k] = from->place[number_of(from, old)];
      }
      settle(p, &m, wf_diagonal(t, offset, d, e), 1, "diagonal");
      return;
    }
    case 9: { /* unfold */
      if (!n || n == MOST_DIMS) return;
      int64_t size = next_below(p, (int)from->size[d] + 2), step = 1 + next_below(p, 3);
      int good = size <= from->size[d];
      if (good) {
        m.size[d] = (from->size[d] - size) / step + 1;
        m.size[n] = size;
        m.ndim = n + 1;
        m.numel = count_of(&m);
        if (m.numel > MOST_ELEMENTS) return;
        for (int64_t k = 0; k < m.numel; k++) {
          coordinates(&m, k, at);
          at[d] = at[d] * step + at[n];
          m.place[k] = from->place[number_of(from, at)];
        }
      }
      settle(p, &m, wf_unfold(t, d, size, step), good, "unfold");
      return;
    }
    default: { /* view, reshape: the same elements in the same order under other sizes */
      int64_t rest = m.numel, size[MOST_DIMS], stride[MOST_DIMS];
      int rank = 0;
      while (rest > 1 && rank + 1 < MOST_DIMS) { /* factors of the count, with ones between them */
        int64_t f = 2 + next_below(p, 6);
        if (next_below(p, 4) == 0) f = 1;
        if (rest % f) f = rest;
        size[rank++] = f;
        rest /= f;
      }
      if (rest > 1 || m.numel == 0) size[rank++] = rest;
      m.ndim = rank;
      memcpy(m.size, size, sizeof size);
      int possible = walkable(&m, stride);
      if (op == 10) {
        settle(p, &m, wf_view(t, wf_dims_of(size, rank)), possible, "view");
        return;
      }
      wf_tensor *shaped = wf_reshape(t, wf_dims_of(size, rank));
      if (shaped && m.numel && wf_shares_storage(shaped, t) != (possible != 0))
        program_fault(p, "reshape: %s", possible ? "copied" : "shared");
      if (shaped && !possible) {
        model fresh;
        model_fresh(p, &fresh, shaped, &m, "reshape");
        m = fresh;
      }
      settle(p, &m, shaped, 1, "reshape");
    }
  }
}

/* Copies, and writes through a view whose elements are places of their own. */
static inline void run_copy(view_program *p, const model *from) {
  model m;
  int op = next_below(p, 4);
  if (op < 2) {
    if (p->memories == MOST_TENSORS || p->count == MOST_TENSORS) return;
    wf_tensor *t = wf_clone(from->tensor, op ? WF_FORMAT_CONTIGUOUS : WF_FORMAT_PRESERVE);
    if (!t) {
      program_fault(p, "clone: %s", wf_error_take().text);
      return;
    }
    model_fresh(p, &m, t, from, "clone");
    settle(p, &m, t, 1, "clone");
    if (op && m.numel && !wf_is_contiguous(t, WF_FORMAT_CONTIGUOUS)) program_fault(p, "clone: not contiguous");
    return;
  }
  int seen[MOST_MEMORY] = {0};
  for (int64_t k = 0; k < from->numel; k++)
    if (seen[from->place[k]]++) return; /* some place twice: refused or the last one wins */
  if (op == 2) {
    int value = next_below(p, 100);
    if (wf_fill_(from->tensor, wf_int(value))) program_fault(p, "fill_: %s", wf_error_take().text);
    for (int64_t k = 0; k < from->numel; k++) p->memory[from->memory][from->place[k]] = value;
    return;
  }
  const model *source = &p->all[next_below(p, p->count)];
  int fits = source->ndim <= from->ndim;
  for (int i = 1; fits && i <= source->ndim; i++)
    fits = source->size[source->ndim - i] == from->size[from->ndim - i] || source->size[source->ndim - i] == 1;
  if (!fits || source->memory == from->memory) return;
  if (wf_copy_(from->tensor, source->tensor, false)) {
    program_fault(p, "copy_: %s", wf_error_take().text);
    return;
  }
  for (int64_t k = 0; k < from->numel; k++) {
    int64_t at[MOST_DIMS], old[MOST_DIMS];
    coordinates(from, k, at);
    for (int i = 0; i < source->ndim; i++) old[i] = source->size[i] == 1 ? 0 : at[i + from->ndim - source->ndim];
    p->memory[from->memory][from->place[k]] = p->memory[source->memory][source->place[number_of(source, old)]];
  }
}

/* Runs the program in a scope of its own; p->fault says what went wrong, or is empty. */
static inline void run_program(view_program *p, const uint8_t *bytes, size_t n) {
  static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 0, 1};
  wf_scope scope = wf_scope_begin();
  p->at = bytes;
  p->end = bytes + n;
  p->count = p->memories = 0;
  p->fault[0] = 0;
  model base = {.ndim = next_below(p, 6)};
  do {
    for (int d = 0; d < base.ndim; d++) base.size[d] = extents[next_below(p, 8)];
    base.numel = count_of(&base);
    if (base.numel > MOST_ELEMENTS) base.ndim--;
  } while (base.numel > MOST_ELEMENTS);
  for (int k = 0; k < base.numel; k++) p->memory[0][base.place[k] = k] = 1000 + k;
  base.memory = p->memories++;
  settle(p, &base, wf_from_data(p->memory[0], wf_dims_of(base.size, base.ndim), WF_I32), 1, "from_data");
  while (p->at < p->end && p->count < MOST_TENSORS && !p->fault[0]) {
    model from = p->all[next_below(p, 3) ? p->count - 1 : next_below(p, p->count)];
    if (next_below(p, 5) == 0) run_copy(p, &from);
    else run_view(p, &from);
  }
  for (int i = 0; i < p->count && !p->fault[0]; i++) compare_elements_of(p, &p->all[i], "at the end");
  wf_error_take();
  wf_scope_end(scope, NULL);
}

#endif
