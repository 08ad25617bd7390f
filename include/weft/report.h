/* Reports of a run, made from what weft/trace.h recorded and what the program adds: a text for the terminal, a single HTML file, a
 * Chrome trace, JSON. Part of libweft-tools (link weft-tools and weft). */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H

#include <weft/memory.h>
#include <weft/trace.h>

WF_EXTERN_C_BEGIN

/** What a report says and of what: filled by the calls below, in any order. One thread at a time. */
typedef struct wf_report wf_report;

/** How a number is shown. In JSON it is a plain number all the same. */
typedef enum wf_report_unit {
  WF_REPORT_NUMBER = 0,
  WF_REPORT_SHARE = 1, /* 0 to 1, shown in per cent */
  WF_REPORT_BYTES = 2,
  WF_REPORT_SECONDS = 3,
  WF_REPORT_COUNT = 4
} wf_report_unit;

/** An empty report; yours, free it with wf_report_free. title: what ran, "weft train"; copied. NULL on error. */
WF_API wf_report *wf_report_new(const char *title);
/** Frees it. NULL is accepted. */
WF_API void wf_report_free(wf_report *report);

/** A line of the run's configuration ("model", "cnn"); both are copied. The same name again replaces the text. */
WF_API wf_status wf_report_fact(wf_report *report, const char *name, const char *text);
/** A result. `name` is its key in JSON ("images_per_s"), and with blanks its label ("images/s"). The same name again replaces it.
 *  test_accuracy, images_per_s, implicit_copies and peak_rss_bytes are shown first; the last two are taken from the ledger and the
 *  operating system by wf_report_collect unless given. */
WF_API wf_status wf_report_number(wf_report *report, const char *name, double value, wf_report_unit unit);
/** One point of a curve over steps: "loss" at step 17. Steps ascend. */
WF_API wf_status wf_report_metric(wf_report *report, const char *name, double step, double value);
/** The allocator's statistics at the end of the run. The first one that isn't of pinned memory is the run's device: its peaks are
 *  `peak_allocated_bytes` and `peak_reserved_bytes`. */
WF_API wf_status wf_report_memory(wf_report *report, wf_device device, bool pinned, const wf_allocator_stats *stats);
/** The stretch that counts as the run, in wf_clock_ns: shares are of its length. Without it, the recording from start to stop. */
WF_API wf_status wf_report_span(wf_report *report, int64_t start_ns, int64_t end_ns);

/** Takes ledger, events, span and peak resident memory of the present recording; call it once, after wf_trace_stop. Works while an
 *  error is pending: a run that failed gets its report. Errors: WF_NO_MEMORY. */
WF_API wf_status wf_report_collect(wf_report *report);
/** The same piece by piece, for recordings that come from elsewhere. Arrays are copied, the strings in them must stay. */
WF_API wf_status wf_report_add_ledger(wf_report *report, const wf_ledger_row *rows, size_t n);
/** Adds single events, in order of their start. As above. */
WF_API wf_status wf_report_add_events(wf_report *report, const wf_trace_event *events, size_t n);

/** The report for a terminal of 80 columns; give it back with wf_report_release. NULL on error. */
WF_API char *wf_report_text(wf_report *report);
/** One JSON object with every number by its name, and `stages`, `copies`, `waits`, `memory`, `metrics`, `config`; indent: blanks a
 *  level, 0 for a single line. Give it back with wf_report_release. NULL on error. */
WF_API char *wf_report_json(wf_report *report, int indent);
/** Gives a text back. NULL is accepted. */
WF_API void wf_report_release(char *text);

/** Writes the report as one HTML file that needs nothing else. The file appears whole or not at all. Errors: WF_IO with the path. */
WF_API wf_status wf_report_write_html(wf_report *report, const char *path);
/** Writes the single events (level FULL) as a Chrome trace, which ui.perfetto.dev and chrome://tracing open. As above. */
WF_API wf_status wf_report_write_trace(wf_report *report, const char *path);

WF_EXTERN_C_END
#endif
