/* Paragraphs of a terminal's width. */
#include "report/columns.h"

#include <string.h>

size_t wf__columns_of(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

void wf__put_wrapped(wf__text *out, const char *mark, size_t indent, const char *text, size_t columns) {
  size_t column = indent, lead = wf__columns_of(mark);
  wf__text_put(out, mark);
  wf__text_repeat(out, ' ', (int64_t)indent - (int64_t)lead);
  while (*text) {
    size_t bytes = strcspn(text, " ");
    if (!strncmp(text + bytes, " %", 2)) bytes += 2 + strcspn(text + bytes + 2, " "); /* stays with its number */
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    if (column > indent && column + 1 + width > columns) {
      wf__text_put(out, "\n");
      wf__text_repeat(out, ' ', (int64_t)indent);
      column = indent;
    } else if (column > indent) {
      wf__text_put(out, " ");
      column++;
    }
    wf__text_append(out, text, bytes);
    column += width;
    text += bytes;
    text += strspn(text, " ");
  }
  wf__text_put(out, "\n");
}

void wf__put_sentence(wf__text *out, const char *mark, size_t columns, const char *format, va_list args) {
  wf__text text = {0};
  wf__text_vprintf(&text, format, args);
  if (text.status) out->status = text.status;
  else wf__put_wrapped(out, mark, wf__columns_of(mark), wf__text_plain(text.data), columns);
  wf__text_release(&text);
}
