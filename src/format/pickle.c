/* The machine: a buffer of input, a stack, marks in it, and the memo. One function a group of opcodes; the frequent ones are short. */
#include "format/pickle.h"

#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "format/text.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define STRING_MAX ((uint64_t)64 << 20)
#define MARKS_MAX 1000
#define FREE_STACK \
  ((size_t)1 << 16) /* entries that any file may have; more only as its length grows: what has a place takes bytes */
#define FREE_MEMO ((size_t)1 << 16)

typedef struct machine {
  wf__input *input;
  const char *name;
  wf__string_set *strings;
  const wf__pickle_client *client;
  int64_t taken; /* bytes of the input before the buffer */
  size_t at, end;
  wf__pickle_value *stack, *memo;
  size_t depth, stack_room, memo_count, memo_room;
  size_t marks[MARKS_MAX], mark_count;
  char *text; /* of strings that aren't whole in the buffer */
  size_t text_room;
  char buffer[BUFFER_BYTES];
} machine;

static int64_t offset(const machine *m) { return m->taken + (int64_t)m->at; }

static wf_status damaged(const machine *m, const char *what) {
  return wf__fail(WF_VALUE, "%s: %s (offset %lld)", m->name, what, (long long)offset(m));
}

/* ---- input ---------------------------------------------------------------------------------------------------------- */

static wf_status ends_early(const machine *m) {
  return wf__fail(WF_VALUE, "%s: the pickle is cut off after %lld bytes", m->name, (long long)offset(m));
}

/* At least n bytes in the buffer; n is far below its size. */
static wf_status refill(machine *m, size_t n) {
  memmove(m->buffer, m->buffer + m->at, m->end - m->at);
  m->taken += (int64_t)m->at;
  m->end -= m->at;
  m->at = 0;
  int64_t got = wf__input_read(m->input, m->buffer + m->end, BUFFER_BYTES - m->end);
  if (got < 0) return wf_error_peek().status;
  m->end += (size_t)got;
  if (m->client->progress && !m->client->progress(m->client->context, m->taken))
    return wf__fail(WF_CANCELLED, "%s: reading was stopped", m->name);
  return m->end < n ? ends_early(m) : WF_OK;
}

static inline wf_status need(machine *m, size_t n) { return WF__LIKELY(m->end - m->at >= n) ? WF_OK : refill(m, n); }

/* Little-endian number of `bytes` bytes, 8 at most. */
static inline wf_status number(machine *m, size_t bytes, uint64_t *value) {
  WF__TRY(need(m, bytes));
  *value = 0;
  memcpy(value, m->buffer + m->at, bytes);
  m->at += bytes;
  return WF_OK;
}

/* ---- stack and memo ------------------------------------------------------------------------------------------------- */

static wf_status grow_stack(machine *m) {
  if (m->depth > FREE_STACK + (size_t)(offset(m) / 8))
    return damaged(m, "more is stacked than a pickle of data ever has");
  size_t room = m->stack_room ? 2 * m->stack_room : 1024;
  wf__pickle_value *stack = wf__realloc(m->stack, room * sizeof *stack);
  if (!stack) return WF_NO_MEMORY;
  m->stack = stack;
  m->stack_room = room;
  return WF_OK;
}

static inline wf_status push(machine *m, wf__pickle_value value) {
  if (WF__UNLIKELY(m->depth == m->stack_room)) WF__TRY(grow_stack(m));
  m->stack[m->depth++] = value;
  return WF_OK;
}

static inline wf_status push_int(machine *m, int64_t value) {
  return push(m, (wf__pickle_value){.type = WF__PICKLE_INT, .integer = value});
}
static inline wf_status push_bool(machine *m, bool value) {
  return push(m, (wf__pickle_value){.type = WF__PICKLE_BOOL, .integer = value});
}
static inline wf_status push_empty(machine *m, wf__pickle_type type) {
  return push(m, (wf__pickle_value){.type = (uint8_t)type});
}

/* n entries above the last mark. */
static inline wf_status operands(const machine *m, size_t n) {
  size_t floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;
  return WF__LIKELY(m->depth - floor >= n) ? WF_OK : damaged(m, "an opcode finds too little on the stack");
}

static wf_status put_mark(machine *m) {
  if (m->mark_count == MARKS_MAX) return damaged(m, "nested more than 1000 deep");
  m->marks[m->mark_count++] = m->depth;
  return WF_OK;
}

/* Takes the last mark away: what was above it begins at *first. */
static wf_status take_mark(machine *m, size_t *first) {
  *first = 0;
  if (!m->mark_count) return damaged(m, "an opcode finds no mark");
  *first = m->marks[--m->mark_count];
  return WF_OK;
}

static wf_status grow_memo(machine *m, size_t index) {
  size_t room = m->memo_room ? m->memo_room : 1024;
  while (room <= index) room *= 2;
  wf__pickle_value *memo = wf__realloc(m->memo, room * sizeof *memo);
  if (!memo) return WF_NO_MEMORY;
  m->memo = memo;
  m->memo_room = room;
  return WF_OK;
}

static inline wf_status put(machine *m, size_t index) {
  WF__TRY(operands(m, 1));
  if (WF__UNLIKELY(index >= m->memo_count)) {
    if (index > FREE_MEMO + 2 * m->memo_count) {
      char text[80];
      snprintf(text, sizeof text, "memo entry %zu, where %zu have been used so far", index, m->memo_count);
      return damaged(m, text);
    }
    if (index >= m->memo_room) WF__TRY(grow_memo(m, index));
    memset(m->memo + m->memo_count, 0, (index - m->memo_count) * sizeof *m->memo);
    m->memo_count = index + 1;
  }
  wf__pickle_value *top = &m->stack[m->depth - 1];
  if (top->type >= WF__PICKLE_LIST) top->memo = (uint32_t)index + 1;
  m->memo[index] = *top;
  return WF_OK;
}

static inline wf_status get(machine *m, size_t index) {
  if (WF__UNLIKELY(index >= m->memo_count)) return damaged(m, "a memo entry is used that was never filled");
  return push(m, m->memo[index]);
}

/* ---- containers ----------------------------------------------------------------------------------------------------- */

static wf_status fold(machine *m, wf__pickle_value *container, const wf__pickle_value *items, size_t count) {
  WF__TRY(m->client->fold(m->client->context, container, items, count));
  if (container->memo) m->memo[container->memo - 1] = *container;
  return WF_OK;
}

/* `first` and what is above it go into the container below it. */
static wf_status put_into(machine *m, size_t first, bool pairs) {
  if (!first || m->depth < first) return damaged(m, "an opcode finds too little on the stack");
  if (m->mark_count && m->marks[m->mark_count - 1] >= first) return damaged(m, "items without a container");
  size_t count = m->depth - first;
  wf__pickle_value *container = &m->stack[first - 1];
  if (pairs && count % 2) return damaged(m, "a key without its value");
  bool fits = pairs ? container->type == WF__PICKLE_DICT
                    : container->type == WF__PICKLE_LIST || container->type == WF__PICKLE_SET;
  if (!fits && container->type != WF__PICKLE_RECORD) return damaged(m, "items are put into what holds none");
  m->depth = first;
  return count ? fold(m, container, container + 1, count) : WF_OK;
}

static wf_status put_marked_into(machine *m, bool pairs) {
  size_t first;
  WF__TRY(take_mark(m, &first));
  return put_into(m, first, pairs);
}

static wf_status put_last_into(machine *m, size_t count, bool pairs) {
  WF__TRY(operands(m, count + 1));
  return put_into(m, m->depth - count, pairs);
}

/* A container of what is above `first`, in its place. */
static wf_status gather(machine *m, size_t first, wf__pickle_type type) {
  wf__pickle_value made = {.type = (uint8_t)type};
  if (type == WF__PICKLE_DICT && (m->depth - first) % 2) return damaged(m, "a key without its value");
  if (m->depth > first) WF__TRY(fold(m, &made, m->stack + first, m->depth - first));
  m->depth = first;
  return push(m, made);
}

static wf_status gather_marked(machine *m, wf__pickle_type type) {
  size_t first;
  WF__TRY(take_mark(m, &first));
  return gather(m, first, type);
}

static wf_status gather_last(machine *m, size_t count) {
  WF__TRY(operands(m, count));
  return gather(m, m->depth - count, WF__PICKLE_TUPLE);
}

/* ---- scalars -------------------------------------------------------------------------------------------------------- */

static wf_status push_text(machine *m, const char *text, size_t n) {
  uint32_t string = wf__string_set_add(m->strings, text, n);
  if (string == UINT32_MAX) return WF_NO_MEMORY;
  return push(m, (wf__pickle_value){.type = WF__PICKLE_STRING, .string = string});
}

/* A string that crosses the end of the buffer. Room grows with what really comes, not with what is announced. */
static wf_status push_long_text(machine *m, size_t n) {
  size_t got = 0;
  while (got < n) {
    if (m->at == m->end) WF__TRY(refill(m, 1));
    size_t piece = m->end - m->at < n - got ? m->end - m->at : n - got;
    if (got + piece > m->text_room) {
      size_t room = 2 * (got + piece);
      char *text = wf__realloc(m->text, room);
      if (!text) return WF_NO_MEMORY;
      m->text = text;
      m->text_room = room;
    }
    memcpy(m->text + got, m->buffer + m->at, piece);
    got += piece;
    m->at += piece;
  }
  return push_text(m, m->text, n);
}

static inline wf_status read_string(machine *m, size_t length_bytes) {
  uint64_t n;
  WF__TRY(number(m, length_bytes, &n));
  if (n > STRING_MAX) return damaged(m, "a string of more than 64 MiB");
  if (WF__UNLIKELY(m->end - m->at < n)) return push_long_text(m, (size_t)n);
  m->at += (size_t)n;
  return push_text(m, m->buffer + m->at - n, (size_t)n);
}

/* An integer of any length, of which only 64 bits may matter. */
static wf_status read_long(machine *m, size_t length_bytes) {
  uint64_t n, value = 0;
  WF__TRY(number(m, length_bytes, &n));
  if (n > 9) {
    char text[64];
    snprintf(text, sizeof text, "an integer of %llu bytes", (unsigned long long)n);
    return damaged(m, text);
  }
  WF__TRY(need(m, (size_t)n));
  const unsigned char *bytes = (const unsigned char *)m->buffer + m->at;
  if (n == 9 && bytes[8]) return damaged(m, "an integer of more than 64 bits");
  memcpy(&value, bytes, n < 8 ? (size_t)n : 8);
  if (n && n < 8 && bytes[n - 1] & 0x80) value |= ~(uint64_t)0 << 8 * n;
  m->at += (size_t)n;
  return push_int(m, (int64_t)value);
}

static wf_status read_int(machine *m, size_t bytes) {
  uint64_t value;
  WF__TRY(number(m, bytes, &value));
  return push_int(m, bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value);
}

static wf_status read_float(machine *m) {
  wf__pickle_value value = {.type = WF__PICKLE_FLOAT};
  uint64_t bits;
  WF__TRY(number(m, 8, &bits));
  bits = __builtin_bswap64(bits);
  memcpy(&value.real, &bits, 8);
  return push(m, value);
}

/* ---- opcodes -------------------------------------------------------------------------------------------------------- */

static wf_status refuse_name(const machine *m, const char *module, const char *name, int64_t at) {
  char text[128];
  snprintf(text, sizeof text, "%.60s.%.60s", module, name);
  return wf__fail(WF_VALUE, "%s: refused: global '%s' (offset %lld)", m->name, wf__text_plain(text), (long long)at);
}

/* Says what would be made or called, for the two opcodes that name it in text. */
static wf_status refuse_global(machine *m) {
  char line[2][64];
  int64_t at = offset(m) - 1;
  for (int i = 0; i < 2; i++) {
    size_t n = 0;
    for (;;) {
      if (need(m, 1)) return wf_error_peek().status;
      char c = m->buffer[m->at++];
      if (c == '\n') break;
      if (n < sizeof line[i] - 1) line[i][n++] = c;
    }
    line[i][n] = 0;
  }
  return refuse_name(m, line[0], line[1], at);
}

static wf_status refuse(machine *m, uint8_t op) {
  static const struct {
    uint8_t op;
    const char *name;
  } known[] = {{'R', "REDUCE"},       {'b', "BUILD"},
               {0x81, "NEWOBJ"},      {0x92, "NEWOBJ_EX"},
               {'i', "INST"},         {'o', "OBJ"},
               {'P', "PERSID"},       {'Q', "BINPERSID"},
               {0x82, "EXT1"},        {0x83, "EXT2"},
               {0x84, "EXT4"},        {0x93, "STACK_GLOBAL"},
               {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
               {'I', "INT"},          {'L', "LONG"},
               {'F', "FLOAT"},        {'S', "STRING"},
               {'V', "UNICODE"},      {'g', "GET"},
               {'p', "PUT"},          {'T', "BINSTRING"}};
  int64_t at = offset(m) - 1;
  if (op == 'c') return refuse_global(m);
  const wf__pickle_value *top = m->depth ? m->stack + m->depth : NULL;
  if (op == 0x93 && m->depth >= 2 && top[-1].type == WF__PICKLE_STRING && top[-2].type == WF__PICKLE_STRING)
    return refuse_name(m, wf__string_set_text(m->strings, top[-2].string),
                       wf__string_set_text(m->strings, top[-1].string), at);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].op == op)
      return wf__fail(WF_VALUE, "%s: refused: opcode %s (offset %lld); only plain data of protocols 2 to 5 is read",
                      m->name, known[i].name, (long long)at);
  return wf__fail(WF_VALUE, "%s: refused: opcode 0x%02x (offset %lld), which no pickle has", m->name, op,
                  (long long)at);
}

/* What is rare: sets, other sizes of what has a frequent one, the stack itself. */
static wf_status run_rare(machine *m, uint8_t op) {
  uint64_t n;
  switch (op) {
    case 0x80: /* PROTO */
      WF__TRY(number(m, 1, &n));
      return n >= 2 && n <= 5 ? WF_OK : damaged(m, "a protocol that isn't one of 2 to 5");
    case 0x95: /* FRAME */ return number(m, 8, &n);
    case 'G': return read_float(m);
    case 0x8b: /* LONG4 */ return read_long(m, 4);
    case 0x8d: /* BINUNICODE8 */
    case 0x8e: /* BINBYTES8 */
    case 0x96: /* BYTEARRAY8 */ return read_string(m, 8);
    case 'B': return read_string(m, 4);
    case 'C':
    case 'U': return read_string(m, 1);
    case 'l': return gather_marked(m, WF__PICKLE_LIST);
    case 'd': return gather_marked(m, WF__PICKLE_DICT);
    case 0x8f: /* EMPTY_SET */ return push_empty(m, WF__PICKLE_SET);
    case 0x90: /* ADDITEMS */ return put_marked_into(m, false);
    case 0x91: /* FROZENSET */ return gather_marked(m, WF__PICKLE_SET);
    case '0': /* POP */
      WF__TRY(operands(m, 1));
      m->depth--;
      return WF_OK;
    case '1': { /* POP_MARK */
      size_t first;
      WF__TRY(take_mark(m, &first));
      m->depth = first;
      return WF_OK;
    }
    case '2': /* DUP */ WF__TRY(operands(m, 1)); return push(m, m->stack[m->depth - 1]);
    default: return refuse(m, op);
  }
}

static wf_status run(machine *m) {
  uint64_t n;
  for (;;) {
    WF__TRY(need(m, 1));
    uint8_t op = (uint8_t)m->buffer[m->at++];
    wf_status status;
    switch (op) {
      case '.': return WF_OK;
      case '(': status = put_mark(m); break;
      case '}': status = push_empty(m, WF__PICKLE_DICT); break;
      case ']': status = push_empty(m, WF__PICKLE_LIST); break;
      case ')': status = push_empty(m, WF__PICKLE_TUPLE); break;
      case 0x94: status = put(m, m->memo_count); break; /* MEMOIZE */
      case 'q': status = number(m, 1, &n) ? WF_IO : put(m, (size_t)n); break;
      case 'r': status = number(m, 4, &n) ? WF_IO : put(m, (size_t)n); break;
      case 'h': status = number(m, 1, &n) ? WF_IO : get(m, (size_t)n); break;
      case 'j': status = number(m, 4, &n) ? WF_IO : get(m, (size_t)n); break;
      case 'X': status = read_string(m, 4); break;
      case 0x8c: status = read_string(m, 1); break;
      case 'K': status = read_int(m, 1); break;
      case 'M': status = read_int(m, 2); break;
      case 'J': status = read_int(m, 4); break;
      case 0x8a: status = read_long(m, 1); break;
      case 'N': status = push_empty(m, WF__PICKLE_NONE); break;
      case 0x88: status = push_bool(m, true); break;
      case 0x89: status = push_bool(m, false); break;
      case 's': status = put_last_into(m, 2, true); break;
      case 'u': status = put_marked_into(m, true); break;
      case 'a': status = put_last_into(m, 1, false); break;
      case 'e': status = put_marked_into(m, false); break;
      case 't': status = gather_marked(m, WF__PICKLE_TUPLE); break;
      case 0x85:
      case 0x86:
      case 0x87: status = gather_last(m, op - 0x84u); break;
      default: status = run_rare(m, op);
    }
    if (WF__UNLIKELY(status)) return wf_error_peek().status;
  }
}

wf_status wf__pickle_read(wf__input *input, const char *name, wf__string_set *strings, const wf__pickle_client *client,
                          wf__pickle_value *result) {
  machine *m = wf__malloc(sizeof *m);
  if (!m) return WF_NO_MEMORY;
  memset(m, 0, offsetof(machine, buffer));
  m->input = input;
  m->name = name;
  m->strings = strings;
  m->client = client;
  wf_status status = need(m, 1);
  if (!status && (uint8_t)m->buffer[0] != 0x80) status = damaged(m, "not a pickle of protocol 2 to 5");
  if (!status) status = run(m);
  if (!status && (m->depth != 1 || m->mark_count))
    status = damaged(m, "the pickle ends with more or less than one value");
  if (!status) *result = m->stack[0];
  wf__release(m->stack);
  wf__release(m->memo);
  wf__release(m->text);
  wf__release(m);
  return status;
}
