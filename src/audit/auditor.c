/* The public face of an audit: reads, runs the rules, makes findings of what they noted and ranks them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_parts.h"
#include "audit/finding_kinds.h"
#include "base/host.h"
#include "format/text.h"

#define PATH_ROOM 512

wf_audit_options wf_audit_defaults(void) { return (wf_audit_options){.least_share = 0.001}; }

/* ---- from groups to findings -------------------------------------------------------------------------------------- */

static const char *name_of(const wf_audit *a, uint32_t name) { return a->k.names.at[name].text; }

/* The title with its names put in. */
static char *compose(const char *form, const char *op, const char *cause) {
  wf__text out = {0};
  while (*form) {
    size_t plain = strcspn(form, "{");
    wf__text_append(&out, form, plain);
    form += plain;
    bool is_op = !strncmp(form, "{op}", 4), is_cause = !strncmp(form, "{cause}", 7);
    if (is_op || is_cause) wf__text_put(&out, is_op ? op : cause);
    form += is_op ? 4 : is_cause ? 7 : *form != 0;
  }
  return wf__text_plain(wf__text_take(&out));
}

static double share_of(const wf_audit *a, const wf__group *g) {
  /* What happened in the steady state counts; where all of it is warm-up, it costs nothing any more. */
  return (double)g->steady_ns / (double)wf__steady_ns(&a->steps);
}

static bool is_finding(const wf_audit *a, const wf__group *g, const wf_audit_options *o) {
  const wf__finding_kind *kind = &wf__finding_kinds[g->kind];
  if (!g->count) return false;
  if (kind->always) return g->steady_count > 0 || !a->steps.n;
  return share_of(a, g) >= (kind->least > o->least_share ? kind->least : o->least_share);
}

/* "train.py(10): forward" as "train.py:10" where that is all that is known of the line. */
static char *line_text(const char *name) {
  const char *paren = strrchr(name, '(');
  wf__text out = {0};
  if (paren && strstr(paren, "): ")) {
    wf__text_append(&out, name, (size_t)(paren - name));
    wf__text_put(&out, ":");
    wf__text_append(&out, paren + 1, strcspn(paren + 1, ")"));
  } else {
    wf__text_put(&out, name);
  }
  return wf__text_plain(wf__text_take(&out));
}

static wf_status make_finding(wf_audit *a, const wf__group *g, wf_finding *f) {
  const wf__finding_kind *kind = &wf__finding_kinds[g->kind];
  char path[PATH_ROOM];
  const char *op = name_of(a, g->operator), *cause = name_of(a, g->cause);
  wf__module_path(&a->k, g->example, path, sizeof path);
  *f = (wf_finding){.rule = kind->rule,
                    .remedy = kind->remedy,
                    .by_forward = g->place.by_forward,
                    .count = g->count,
                    .steady_count = g->steady_count,
                    .ns = g->ns,
                    .steady_ns = g->steady_ns,
                    .bytes = g->bytes_known ? g->bytes : -1,
                    .share = share_of(a, g)};
  if (wf__steady_steps(&a->steps)) f->per_step = (double)g->steady_count / wf__steady_steps(&a->steps);
  f->title = compose(!*op && kind->alone ? kind->alone : kind->title, op, cause);
  f->op = wf__text_plain(wf__strdup(op));
  f->cause = wf__text_plain(wf__strdup(cause));
  f->module = wf__text_plain(wf__strdup(path));
  f->line = line_text(name_of(a, g->place.line));
  f->function = wf__text_plain(wf__strdup(name_of(a, g->place.function)));
  return f->title && f->op && f->cause && f->module && f->line && f->function ? WF_OK : WF_NO_MEMORY;
}

static int by_cost(const void *a, const void *b) {
  const wf_finding *x = a, *y = b;
  if (x->share != y->share) return x->share < y->share ? 1 : -1;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  int order = strcmp(x->rule, y->rule);
  if (!order) order = strcmp(x->title, y->title);
  return order ? order : strcmp(x->line, y->line);
}

static wf_status make_findings(wf_audit *a, const wf__examination *x, const wf_audit_options *o) {
  size_t n = 0;
  for (uint32_t i = 0; i < x->n; i++) n += is_finding(a, &x->groups[i], o);
  a->findings = wf__calloc(n, sizeof *a->findings);
  if (!a->findings) return WF_NO_MEMORY;
  for (uint32_t i = 0; i < x->n; i++) {
    const wf__group *g = &x->groups[i];
    if (!strcmp(wf__finding_kinds[g->kind].rule, "sync")) {
      a->syncs += g->count;
      a->steady_syncs += g->steady_count;
    }
    if (is_finding(a, g, o)) WF__TRY(make_finding(a, g, &a->findings[a->n++]));
  }
  if (a->n) qsort(a->findings, a->n, sizeof *a->findings, by_cost);
  return WF_OK;
}

/* ---- the audit ---------------------------------------------------------------------------------------------------- */

static void count_copies(wf_audit *a) {
  for (uint32_t i = 0; i < a->k.n; i++) {
    const wf__event *e = &a->k.events[i];
    if (e->cat != WF__CAT_OPERATOR || wf__event_meaning(&a->k, e) != WF__MEANS_COPY) continue;
    wf__shape shape = wf__shape_unpack(e->value);
    a->copies++;
    if (shape.elements < 0 || !wf__type_bytes(shape.to)) continue;
    a->copies_known++;
    a->copy_bytes += shape.elements * wf__type_bytes(shape.to);
  }
}

static wf_status judge(wf_audit *a, const wf_audit_options *o) {
  static void (*const rules[])(wf__examination *) = {wf__rule_copies,     wf__rule_transfers, wf__rule_overlap,
                                                     wf__rule_syncs,      wf__rule_idle,      wf__rule_loader,
                                                     wf__rule_allocations};
  wf__examination x = {.k = &a->k, .steps = &a->steps};
  WF__TRY(wf__steps_find(&a->k, &a->steps));
  for (size_t i = 0; i < sizeof rules / sizeof *rules && !x.status; i++) rules[i](&x);
  wf_status status = x.status;
  if (!status) status = make_findings(a, &x, o);
  wf__examination_release(&x);
  if (status) return status;
  count_copies(a);
  a->use_count = wf__device_uses(&a->k, &a->steps, a->uses);
  return a->use_count < 0 ? WF_NO_MEMORY : WF_OK;
}

wf_audit *wf_audit_trace(const char *path, const wf_audit_options *options) {
  wf_audit_options o = options ? *options : wf_audit_defaults();
  WF__TRY_OR(wf_error_peek().status, NULL);
  wf_audit *a = wf__calloc(1, sizeof *a);
  if (!a) return NULL;
  wf_status status = wf__kineto_read(&a->k, path, o.progress, o.context);
  if (!status) status = judge(a, &o);
  if (!status) return a;
  wf_audit_free(a);
  return NULL;
}

void wf_audit_free(wf_audit *a) {
  if (!a) return;
  for (size_t i = 0; i < a->n; i++) {
    const wf_finding *f = &a->findings[i];
    const char *const texts[] = {f->title, f->op, f->cause, f->module, f->line, f->function};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) wf__release((void *)texts[t]);
  }
  wf__release(a->findings);
  wf__steps_release(&a->steps);
  wf__kineto_close(&a->k);
  wf__release(a);
}

int64_t wf_audit_findings(const wf_audit *a, const wf_finding **findings) {
  *findings = a ? a->findings : NULL;
  return a ? (int64_t)a->n : 0;
}

int64_t wf_audit_count(const wf_audit *a, const char *event_name) {
  if (!a) return 0;
  uint32_t name = wf__names_find(&a->k.names, event_name, strlen(event_name));
  return name == WF__NO_NAME ? 0 : a->k.names.at[name].count;
}

bool wf_audit_interrupted(const wf_audit *a) { return a && a->k.interrupted; }
