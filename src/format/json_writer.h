/* Writes JSON as it comes, without building a document. Commas, escapes and numbers are the writer's; what doesn't fit (a value without
 * a key in an object, an end without a begin, nesting beyond 64) fails at once and nothing more is written. The first failure stays in
 * the writer and is what wf__json_end returns. */
#ifndef WF_FORMAT_JSON_WRITER_H
#define WF_FORMAT_JSON_WRITER_H

#include <stdio.h>

#include "format/text.h"

#define WF__JSON_DEPTH 64

typedef struct wf__json {
  wf__text *text; /* the value goes to one of the two */
  FILE *stream;
  const char *name; /* of what the stream writes, for the error; set it, or NULL */
  wf_status status;
  bool for_html; /* set it to escape '<' as well, so that no text can end a <script> element */
  bool after_key, comma;
  int depth, indent;
  bool in_object[WF__JSON_DEPTH];
  size_t used;
  char buffer[4096];
} wf__json;

/* Starts a value that is appended to `text`, or written to `stream`; the other is NULL. indent: spaces a level, 0: no white space. */
void wf__json_begin(wf__json *json, wf__text *text, FILE *stream, int indent);
/* Writes what is still buffered. Errors: WF_NO_MEMORY, WF_IO of the stream, WF_RUNTIME for a value that isn't complete. */
wf_status wf__json_end(wf__json *json);

void wf__json_object(wf__json *json);
void wf__json_object_end(wf__json *json);
void wf__json_array(wf__json *json);
void wf__json_array_end(wf__json *json);
void wf__json_key(wf__json *json, const char *key);
/* Bytes that aren't UTF-8 become U+FFFD. NULL is null. */
void wf__json_string(wf__json *json, const char *value);
void wf__json_int(wf__json *json, int64_t value);
/* The shortest of 15, 16 or 17 digits that reads back as the same number; null for what JSON has no number for. */
void wf__json_double(wf__json *json, double value);
/* value / 10^digits, exactly: nanoseconds as microseconds with 3 digits. */
void wf__json_decimal(wf__json *json, int64_t value, int digits);
void wf__json_bool(wf__json *json, bool value);
void wf__json_null(wf__json *json);

/* Key and value in one. */
void wf__json_member_string(wf__json *json, const char *key, const char *value);
void wf__json_member_int(wf__json *json, const char *key, int64_t value);
void wf__json_member_double(wf__json *json, const char *key, double value);
void wf__json_member_bool(wf__json *json, const char *key, bool value);

#endif
