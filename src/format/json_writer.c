/* The streaming JSON writer. */
#define _GNU_SOURCE
#include "format/json_writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void flush(wf__json *j) {
  if (j->text) {
    wf__text_append(j->text, j->buffer, j->used);
    if (!j->status) j->status = j->text->status;
  } else if (fwrite(j->buffer, 1, j->used, j->stream) != j->used && !j->status) {
    char reason[128];
    const char *name = j->name ? j->name : "JSON output";
    j->status = wf__fail(WF_IO, "%s: can't be written: %s", name, strerror_r(errno, reason, sizeof reason));
  }
  j->used = 0;
}

static void put(wf__json *j, const char *bytes, size_t n) {
  while (n && !j->status) {
    size_t room = sizeof j->buffer - j->used, now = n < room ? n : room;
    memcpy(j->buffer + j->used, bytes, now);
    j->used += now;
    bytes += now;
    n -= now;
    if (j->used == sizeof j->buffer) flush(j);
  }
}

static void put_text(wf__json *j, const char *text) { put(j, text, strlen(text)); }

static void misuse(wf__json *j, const char *what) {
  if (!j->status) j->status = wf__fail(WF_RUNTIME, "JSON writer: %s", what);
}

static void new_line(wf__json *j) {
  static const char spaces[] = "                                ";
  if (!j->indent) return;
  put(j, "\n", 1);
  for (int left = j->depth * j->indent; left > 0; left -= (int)sizeof spaces - 1)
    put(j, spaces, left < (int)sizeof spaces - 1 ? (size_t)left : sizeof spaces - 1);
}

/* What comes before a value. */
static void before_value(wf__json *j) {
  if (j->status) return;
  if (j->depth && j->in_object[j->depth - 1]) {
    if (!j->after_key) misuse(j, "a value in an object needs a key");
  } else {
    if (!j->depth && j->comma) misuse(j, "a second value at the top");
    if (j->comma) put(j, ",", 1);
    if (j->depth) new_line(j);
  }
  j->after_key = false;
}

static void open_bracket(wf__json *j, const char *bracket, bool object) {
  before_value(j);
  if (j->depth == WF__JSON_DEPTH) misuse(j, "nested too deeply");
  if (j->status) return;
  put_text(j, bracket);
  j->in_object[j->depth++] = object;
  j->comma = false;
}

static void close_bracket(wf__json *j, const char *bracket, bool object) {
  if (!j->depth || j->in_object[j->depth - 1] != object || j->after_key) misuse(j, "an end that doesn't fit its begin");
  if (j->status) return;
  j->depth--;
  if (j->comma) new_line(j);
  put_text(j, bracket);
  j->comma = true;
}

void wf__json_begin(wf__json *j, wf__text *text, FILE *stream, int indent) {
  j->text = text;
  j->stream = stream;
  j->name = NULL;
  j->status = text ? text->status : WF_OK;
  j->for_html = j->after_key = j->comma = false;
  j->depth = 0;
  j->indent = indent;
  j->used = 0;
}

wf_status wf__json_end(wf__json *j) {
  if (j->depth || !j->comma) misuse(j, "the value isn't complete");
  flush(j);
  return j->status;
}

void wf__json_object(wf__json *j) { open_bracket(j, "{", true); }
void wf__json_object_end(wf__json *j) { close_bracket(j, "}", true); }
void wf__json_array(wf__json *j) { open_bracket(j, "[", false); }
void wf__json_array_end(wf__json *j) { close_bracket(j, "]", false); }

/* ---- strings ---------------------------------------------------------------------------------------------------- */

static void put_character(wf__json *j, unsigned char c) {
  static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
  char escaped[8];
  const char *at = strchr(special, c);
  if (at) {
    snprintf(escaped, sizeof escaped, "\\%c", letter[at - special]);
    put_text(j, escaped);
  } else if (c < 0x20 || (c == '<' && j->for_html)) {
    snprintf(escaped, sizeof escaped, "\\u%04x", c);
    put_text(j, escaped);
  } else {
    put(j, (const char *)&c, 1);
  }
}

static void put_string(wf__json *j, const char *text) {
  put(j, "\"", 1);
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    int n = wf__utf8_length(s);
    if (n > 1) put(j, (const char *)s, (size_t)n);
    else if (n) put_character(j, *s);
    else put_text(j, "\xef\xbf\xbd");
    s += n ? n : 1;
  }
  put(j, "\"", 1);
}

void wf__json_key(wf__json *j, const char *key) {
  if (!j->depth || !j->in_object[j->depth - 1] || j->after_key)
    misuse(j, "a key belongs into an object, before its value");
  if (j->status) return;
  if (j->comma) put(j, ",", 1);
  new_line(j);
  put_string(j, key);
  put(j, ": ", j->indent ? 2 : 1);
  j->after_key = true;
}

static void put_scalar(wf__json *j, const char *text) {
  before_value(j);
  put_text(j, text);
  j->comma = true;
}

void wf__json_string(wf__json *j, const char *value) {
  if (!value) {
    put_scalar(j, "null");
    return;
  }
  before_value(j);
  put_string(j, value);
  j->comma = true;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

void wf__json_int(wf__json *j, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  put_scalar(j, text);
}

/* The program's locale may write the point otherwise, with several bytes even: whatever is no part of a number stands for it. */
static void plain_point(char *text) {
  size_t before = strspn(text, "0123456789+-");
  size_t point = strcspn(text + before, "0123456789e");
  if (!point || !text[before + point]) return;
  text[before] = '.';
  memmove(text + before + 1, text + before + point, strlen(text + before + point) + 1);
}

void wf__json_double(wf__json *j, double value) {
  char text[48];
  if (!isfinite(value)) {
    put_scalar(j, "null");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  plain_point(text);
  put_scalar(j, text);
}

void wf__json_decimal(wf__json *j, int64_t value, int digits) {
  char text[64];
  uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, unit = 1;
  for (int i = 0; i < digits; i++) unit *= 10;
  snprintf(text, sizeof text, "%s%llu.%0*llu", value < 0 ? "-" : "", (unsigned long long)(size / unit), digits,
           (unsigned long long)(size % unit));
  put_scalar(j, text);
}

void wf__json_bool(wf__json *j, bool value) { put_scalar(j, value ? "true" : "false"); }
void wf__json_null(wf__json *j) { put_scalar(j, "null"); }

void wf__json_member_string(wf__json *j, const char *key, const char *value) {
  wf__json_key(j, key);
  wf__json_string(j, value);
}
void wf__json_member_int(wf__json *j, const char *key, int64_t value) {
  wf__json_key(j, key);
  wf__json_int(j, value);
}
void wf__json_member_double(wf__json *j, const char *key, double value) {
  wf__json_key(j, key);
  wf__json_double(j, value);
}
void wf__json_member_bool(wf__json *j, const char *key, bool value) {
  wf__json_key(j, key);
  wf__json_bool(j, value);
}
