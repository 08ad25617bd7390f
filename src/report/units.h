/* Numbers as people read them. Each function writes into the caller's buffer and returns it. */
#ifndef WF_REPORT_UNITS_H
#define WF_REPORT_UNITS_H

#include <weft/report.h>

#define WF__UNIT_TEXT 48

/* "1,234,567" */
char *wf__count_text(int64_t n, char text[WF__UNIT_TEXT]);
/* "512 B", "1.00 KiB", "183.75 MiB" */
char *wf__bytes_text(int64_t bytes, char text[WF__UNIT_TEXT]);
/* "11.760 s", "1.50 ms", "2.0 µs", "0 s" */
char *wf__time_text(int64_t ns, char text[WF__UNIT_TEXT]);
/* "26.5 %" of part / whole; "-" when there is no whole */
char *wf__share_text(int64_t part, int64_t whole, char text[WF__UNIT_TEXT]);
/* Bytes read and written per second: "1.25 GB/s", "-" without time. */
char *wf__rate_text(int64_t bytes, int64_t ns, char text[WF__UNIT_TEXT]);
char *wf__number_text(double value, wf_report_unit unit, char text[WF__UNIT_TEXT]);
/* "images/s" of "images_per_s"; the unit at the end of "peak_rss_bytes" goes with the number */
char *wf__label_text(const char *name, char text[WF__UNIT_TEXT]);
/* "sim:0 (emulated)", "cpu", "pinned host memory of sim:0 (emulated)" */
char *wf__device_text(wf_device device, bool pinned, char text[2 * WF__UNIT_TEXT]);

#endif
