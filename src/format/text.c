/* A text that grows by doubling. */
#include "format/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"

/* Room for n more bytes and the end. */
static bool reserve(wf__text *text, size_t n) {
  if (text->status) return false;
  if (n >= SIZE_MAX / 4 - text->size) {
    text->status = wf__fail_memory(n);
    return false;
  }
  size_t need = text->size + n + 1, room = text->room ? text->room : 256;
  if (need <= text->room) return true;
  while (room < need) room *= 2;
  char *data = wf__realloc(text->data, room);
  if (!data) {
    text->status = WF_NO_MEMORY;
    return false;
  }
  text->data = data;
  text->room = room;
  return true;
}

void wf__text_append(wf__text *text, const char *bytes, size_t n) {
  if (!reserve(text, n)) return;
  if (n) memcpy(text->data + text->size, bytes, n);
  text->size += n;
  text->data[text->size] = 0;
}

void wf__text_put(wf__text *text, const char *string) { wf__text_append(text, string, strlen(string)); }

void wf__text_vprintf(wf__text *text, const char *format, va_list args) {
  char small[512];
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(small, sizeof small, format, args);
  if (n > 0 && (size_t)n < sizeof small) wf__text_append(text, small, (size_t)n);
  else if (n >= 0 && reserve(text, (size_t)n)) {
    vsnprintf(text->data + text->size, (size_t)n + 1, format, again);
    text->size += (size_t)n;
  }
  va_end(again);
}

void wf__text_printf(wf__text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  wf__text_vprintf(text, format, args);
  va_end(args);
}

void wf__text_repeat(wf__text *text, char c, int64_t count) {
  if (count <= 0 || !reserve(text, (size_t)count)) return;
  memset(text->data + text->size, c, (size_t)count);
  text->size += (size_t)count;
  text->data[text->size] = 0;
}

char *wf__text_take(wf__text *text) {
  wf__text_append(text, "", 0);
  char *data = text->status ? NULL : text->data;
  if (!data) wf__release(text->data);
  *text = (wf__text){0};
  return data;
}

void wf__text_release(wf__text *text) {
  wf__release(text->data);
  *text = (wf__text){0};
}

char *wf__text_plain(char *text) {
  for (unsigned char *at = (unsigned char *)text; at && *at;) {
    int n = wf__utf8_length(at);
    bool control = *at < 0x20 || *at == 0x7f || (n == 2 && *at == 0xc2 && at[1] < 0xa0);
    if (!n) n = 1, control = true;
    if (control) memset(at, '?', (size_t)n);
    at += n;
  }
  return text;
}
