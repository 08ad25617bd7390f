/* A text that grows. The first failure of memory stays in `status`; later appends do nothing, so that a writer checks once at the
 * end. `data` always ends in a zero byte, except that it is NULL as long as nothing was appended. */
#ifndef WF_FORMAT_TEXT_H
#define WF_FORMAT_TEXT_H

#include <stdarg.h>

#include "base/error.h"

typedef struct wf__text {
  char *data;
  size_t size, room;
  wf_status status;
} wf__text;

void wf__text_append(wf__text *text, const char *bytes, size_t n);
void wf__text_put(wf__text *text, const char *string);
void wf__text_printf(wf__text *text, const char *format, ...) WF_PRINTF(2, 3);
void wf__text_vprintf(wf__text *text, const char *format, va_list args) WF_PRINTF(2, 0);
/* `count` times the character. */
void wf__text_repeat(wf__text *text, char c, int64_t count);
/* The string, to be released with wf__release; the text is empty again. NULL when memory was out, with the error set. */
char *wf__text_take(wf__text *text);
void wf__text_release(wf__text *text);

/* Length of the UTF-8 sequence at s (shortest form, no surrogates, at most U+10FFFF), 0 when it is none. A zero byte ends what is looked
 * at. */
static inline int wf__utf8_length(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  int n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : s[0] >= 0xe0 && s[0] <= 0xef ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
  for (int i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
  if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
  return n;
}

/* Makes of a text what terminals, drawings and pages show as it is: control characters, and bytes that aren't UTF-8, become '?'. Returns
 * the text; NULL is accepted. */
char *wf__text_plain(char *text);

#endif
