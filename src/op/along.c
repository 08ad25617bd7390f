/* See along.h. */
#include "op/along.h"

static wf__node *node_of(const wf__change *c) {
  const wf_tensor *inputs[] = {c->self, c->source};
  wf__along along = {c->dim, c->number, c->source ? c->source->layout.ndim : 0};
  wf__node *node = wf__node_for(c->derivative, inputs, 2, 1, &along, sizeof along);
  if (node) wf__save(node, 0, c->index);
  return node;
}

wf_tensor *wf__changed(wf__change *c) {
  WF__TRY_OR(c->check(c), NULL);
  wf_tensor *out = wf__copied(c->self, c->format);
  wf__node *node = out ? node_of(c) : NULL;
  if (out && !wf__self.pending) c->write(c, out);
  return wf__finish(out, node);
}

wf_status wf__change_check_overlap(const wf__change *c) {
  if (c->warns) wf__warn_of_overlap(c->self, "index_fill_", "tensor[mask] = scalar");
  else WF__TRY(wf__check_internal_overlap(c->self));
  WF__TRY(wf__check_no_overlap(c->self, c->index));
  return c->source && !c->warns ? wf__check_no_overlap(c->self, c->source) : WF_OK; /* a number is read before */
}

wf_status wf__change_in_place(wf__change *c) {
  const wf_tensor *inputs[] = {c->self, c->source};
  wf_tensor *self = (wf_tensor *)c->self;
  c->in_place = true;
  WF__TRY(wf__given(self, "self"));
  WF__TRY(wf__inplace_check(self, inputs, 2));
  WF__TRY(c->check(c));
  WF__TRY(wf__change_check_overlap(c));
  wf__node *node = node_of(c);
  if (!wf__self.pending && !c->write(c, self)) wf__inplace_done(self, node);
  wf__node_release(node);
  return wf__self.pending;
}
