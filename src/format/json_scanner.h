/* Reads JSON as it comes, without building a document: the caller asks for the next key or value. It holds one buffer of 1 MiB however
 * long the input is, keeps no stack, so nesting costs nothing, and has no opinion on what a program wrote wrongly as long as its parts
 * can be told apart: control characters in strings, unknown escapes, NaN, numbers of any length and missing commas are read. What can't
 * be told apart is WF__JSON_BAD; wf__scan_resync then goes on at the next object of a list. */
#ifndef WF_FORMAT_JSON_SCANNER_H
#define WF_FORMAT_JSON_SCANNER_H

#include "format/gzip.h"

typedef enum wf__json_type {
  WF__JSON_END, /* of the input, or a failed read: see `status` */
  WF__JSON_OBJECT,
  WF__JSON_ARRAY,
  WF__JSON_CLOSE, /* the bracket that ends the present object or array */
  WF__JSON_STRING,
  WF__JSON_NUMBER,
  WF__JSON_TRUE,
  WF__JSON_FALSE,
  WF__JSON_NULL, /* also NaN and infinities, which JSON has no number for */
  WF__JSON_BAD
} wf__json_type;

typedef struct wf__scanner {
  wf__input *input;
  char *buffer; /* `end` points at a zero byte */
  char *at, *end;
  bool ended;
  wf_status status; /* of reading the input */
  /* The string or number just read; holds until the next call. Strings are decoded. */
  const char *text;
  size_t size;
} wf__scanner;

/* Errors: WF_NO_MEMORY. The input stays the caller's. */
wf_status wf__scanner_open(wf__scanner *s, wf__input *input);
void wf__scanner_close(wf__scanner *s);

/* The next value. Of an object or array only the bracket is read. */
wf__json_type wf__scan_value(wf__scanner *s);
/* The next key of the object that is open, with its colon: WF__JSON_STRING. WF__JSON_CLOSE at its end. */
wf__json_type wf__scan_key(wf__scanner *s);
/* Passes the rest of a value that wf__scan_value gave; true at once for those that are read whole. False: damaged, or the input ended. */
bool wf__scan_skip(wf__scanner *s, wf__json_type type);
/* Goes on after damage: to the next '{' that may begin an element of a list, which wf__scan_value then reads. False: there is none. */
bool wf__scan_resync(wf__scanner *s);
/* The first bytes of the input, `*n` of them, at most 4096, before anything was read. */
const char *wf__scan_peek(wf__scanner *s, size_t *n);
/* True when only white space is left. */
bool wf__scan_at_end(wf__scanner *s);

/* Numbers as text. False: no number, or out of range. Decimals of an integer are dropped. */
bool wf__json_to_int(const char *text, size_t size, int64_t *value);
/* A number of microseconds as whole nanoseconds, exactly: "12.3456" is 12345. */
bool wf__json_to_ns(const char *text, size_t size, int64_t *ns);

static inline bool wf__scan_is(const wf__scanner *s, const char *text, size_t size) {
  return s->size == size && !__builtin_memcmp(s->text, text, size);
}
/* Compares the text just read with a literal. */
#define WF__SCAN_IS(s, literal) wf__scan_is(s, literal, sizeof(literal) - 1)

#endif
