/* A text that grows. The first failure of memory stays in `status`; later appends do nothing, so that a writer checks once at the
 * end. `data` always ends in a zero byte, except that it is NULL as long as nothing was appended. */
#ifndef WF_FORMAT_TEXT_H
#define WF_FORMAT_TEXT_H

#include "base/error.h"

typedef struct wf__text {
  char *data;
  size_t size, room;
  wf_status status;
} wf__text;

WF_TOOLS_API void wf__text_append(wf__text *text, const char *bytes, size_t n);
WF_TOOLS_API void wf__text_put(wf__text *text, const char *string);
WF_TOOLS_API void wf__text_printf(wf__text *text, const char *format, ...) WF_PRINTF(2, 3);
/* `count` times the character. */
WF_TOOLS_API void wf__text_repeat(wf__text *text, char c, int64_t count);
/* The string, to be released with wf__release; the text is empty again. NULL when memory was out, with the error set. */
WF_TOOLS_API char *wf__text_take(wf__text *text);
WF_TOOLS_API void wf__text_release(wf__text *text);

#endif
