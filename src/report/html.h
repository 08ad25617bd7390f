/* The parts of the HTML report. All text goes through wf__html_text: names of files, operators and threads come from outside. */
#ifndef WF_REPORT_HTML_H
#define WF_REPORT_HTML_H

#include "report/findings.h"
#include "report/timeline.h"

/* page.css and page.js, as they lie in this folder. */
extern const char wf__page_css[], wf__page_js[];

void wf__html_text(wf__text *out, const char *text);
/* The suffix of the colour of a stage: "load", … for those of a training step, "x0" to "x3" for others, "other" for none. */
const char *wf__html_color(const wf__summary *summary, const char *stage);

void wf__html_stages(wf__text *out, const wf_report *report, const wf__summary *summary);
void wf__html_tables(wf__text *out, const wf_report *report, const wf__summary *summary);
void wf__html_timeline(wf__text *out, const wf_report *report, const wf__summary *summary,
                       const wf__timeline *timeline);
void wf__html_memory(wf__text *out, const wf__timeline *timeline);
void wf__html_curves(wf__text *out, const wf_report *report);
/* The timeline as JSON in a script element. */
void wf__html_data(wf__text *out, const wf_report *report, const wf__summary *summary, const wf__timeline *timeline);

#endif
