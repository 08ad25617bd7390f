/* weft audit: what a trace of PyTorch's profiler says of copies, waits and idle time. */
#include <argp.h>
#include <stdio.h>
#include <weft/audit.h>

#include "progress.h"
#include "weft.h"

#define DEFAULT_MOST 12

enum { KEY_LEAST = 256 };

typedef struct options {
  const char *path;
  int64_t most;
  double least_share;
  bool json;
} options;

static const struct argp_option option_table[] = {
    {"most", 'n', "N", 0, "show at most N findings (default 12)", 0},
    {"least", KEY_LEAST, "PERCENT", 0, "leave out what costs less of the steady state (default 0.1)", 0},
    {"json", 'j', NULL, 0, "print one JSON object with all findings, and how often each event came", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case 'n':
      if (!parse_int(arg, 0, 1000000, &o->most)) argp_error(state, "--most takes a whole number, not '%s'", arg);
      return 0;
    case KEY_LEAST:
      if (!parse_double(arg, 0, 100, &o->least_share)) argp_error(state, "--least takes 0 to 100, not '%s'", arg);
      o->least_share /= 100;
      return 0;
    case 'j': o->json = true; return 0;
    case ARGP_KEY_ARG:
      if (o->path) argp_error(state, "one trace at a time; `weft check` compares two");
      o->path = arg;
      return 0;
    case ARGP_KEY_END:
      if (!o->path) argp_error(state, "which trace? The file that export_chrome_trace wrote");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

wf_audit *read_trace(const char *path, double least_share) {
  progress p;
  wf_audit_options o = wf_audit_defaults();
  o.progress = progress_bytes;
  o.context = &p;
  o.least_share = least_share;
  progress_begin(&p, path);
  wf_audit *audit = wf_audit_trace(path, &o);
  progress_end(&p);
  return audit;
}

static int print(const options *o, const wf_audit *audit) {
  char *text = o->json ? wf_audit_json(audit, 2) : wf_audit_text(audit, terminal_columns(), o->most);
  if (!text) return fail_with_error("audit", EXIT_MISUSE);
  fputs(text, stdout);
  if (o->json) putchar('\n');
  wf_report_release(text);
  const wf_finding *findings;
  int64_t n = wf_audit_findings(audit, &findings);
  return n ? EXIT_FAILED : EXIT_FINE;
}

int command_audit(int argc, char **argv) {
  static const struct argp argp = {
      option_table,
      parse,
      "TRACE",
      "Say what a training copies, waits for and leaves idle, what each costs, and what to change. TRACE is a file that "
      "torch.profiler's export_chrome_trace wrote (JSON or gzip; of CPU, CUDA or ROCm).\v"
      "Exit status: 0 nothing found, 1 something found, 2 the file couldn't be judged.\n\n"
      "Example:\n  weft audit trace.json.gz\n  weft audit --json trace.json | jq '.counts[\"aten::copy_\"]'",
      NULL,
      NULL,
      NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.most = DEFAULT_MOST, .least_share = wf_audit_defaults().least_share};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  catch_interrupt();
  wf_audit *audit = read_trace(o.path, o.least_share);
  if (!audit) return fail_with_error("audit", EXIT_MISUSE);
  int code = print(&o, audit);
  wf_audit_free(audit);
  return code;
}
