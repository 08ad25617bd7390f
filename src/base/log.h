/* Warnings and sanitizer reports on their way to the callback of wf_log_set. */
#ifndef WF_BASE_LOG_H
#define WF_BASE_LOG_H
#include <weft/base.h>
/* Sends one message (printf form, without a newline) to the callback of wf_log_set. */
void wf__log(wf_log_level level, const char *format, ...) WF_PRINTF(2, 3);
#endif
