/* What each kind of finding says: the rule it belongs to, its sentence, and what to change. */
#ifndef WF_AUDIT_FINDING_KINDS_H
#define WF_AUDIT_FINDING_KINDS_H

#include "audit/examine.h"

typedef struct wf__finding_kind {
  const char *rule;
  const char *title; /* {op} and {cause} stand for names */
  const char *alone; /* the title when there is no operator; NULL: the same */
  const char *remedy;
  bool always;  /* a finding however little time it takes */
  double least; /* share of the steady state that it must take at least, when more than the option says */
} wf__finding_kind;

extern const wf__finding_kind wf__finding_kinds[WF__KINDS];

#endif
