/* Text in the columns of a terminal. */
#ifndef WF_REPORT_COLUMNS_H
#define WF_REPORT_COLUMNS_H

#include "format/text.h"

/* Characters of a text, as far as a terminal's columns go. */
size_t wf__columns_of(const char *text);
/* A paragraph of so many columns behind a mark, ended by a newline; its lines begin at column `indent`. A number stays with its "%". */
void wf__put_wrapped(wf__text *out, const char *mark, size_t indent, const char *text, size_t columns);
/* The same of a sentence as vprintf makes it, whose lines begin where the mark ends. What it quotes may come from files: it is made plain. */
void wf__put_sentence(wf__text *out, const char *mark, size_t columns, const char *format, va_list args)
    WF_PRINTF(4, 0);

#endif
