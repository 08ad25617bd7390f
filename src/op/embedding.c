/* Tables by index: embedding and its inverse kind, one_hot. */
#include <string.h>

#include <weft/create.h>
#include <weft/index.h>
#include <weft/reduce.h>
#include <weft/view.h>

#include "base/convert.h"
#include "op/indexed.h"
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"

/* ---- embedding ------------------------------------------------------------------------------------------------------------------------ */

typedef struct table {
  wf__sizes sizes;
  int64_t padding; /* WF_NONE: none */
} table;

/* The rows that were read get their gradients added up; those of the padding are 0 before. */
static wf_status embedding_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const table *t = node->payload;
  wf_tensor *input = wf__saved_get(node, 0), *g = grad[0], *zeros = wf__fresh_zeros(g, wf__sizes_dims(&t->sizes));
  if (t->padding != WF_NONE) {
    wf_tensor *padded = wf_eq_scalar(input, wf_int(t->padding));
    g = padded ? wf_masked_fill(g, wf_unsqueeze(padded, -1), wf_int(0)) : NULL;
  }
  wf_tensors at = {&input, 1};
  out[0] = g && zeros ? wf_index_put(zeros, at, g, true) : NULL;
  return wf__self.pending;
}
static const wf__node_class embedding_class = {"EmbeddingBackward0", embedding_apply, NULL};

static wf_status check_embedding(const wf_tensor *input, const wf_tensor *weight, int64_t *padding) {
  WF__TRY(wf__given(input, "input"));
  WF__TRY(wf__given(weight, "weight"));
  WF__CHECK(weight->layout.ndim == 2, WF_RUNTIME, "'weight' must be 2-D");
  WF__CHECK(
      input->dtype == WF_I64 || input->dtype == WF_I32, WF_RUNTIME,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got %s instead (while checking "
      "arguments for embedding)",
      wf__type_text(input));
  WF__CHECK(input->layout.ndim < WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS,
            input->layout.ndim + 1);
  int64_t rows = weight->layout.size[0];
  if (*padding == WF_NONE) return WF_OK;
  WF__CHECK(*padding < rows && *padding >= -rows, WF_RUNTIME, "Padding_idx must be within num_embeddings");
  if (*padding < 0) *padding += rows;
  return WF_OK;
}

wf_tensor *wf_embedding(const wf_tensor *input, const wf_tensor *weight, int64_t padding_idx) {
  WF__OP("embedding", NULL);
  WF__TRY_OR(check_embedding(input, weight, &padding_idx), NULL);
  int64_t size[WF_MAX_DIMS];
  int ndim = input->layout.ndim;
  memcpy(size, input->layout.size, sizeof size);
  size[ndim] = weight->layout.size[1];
  wf_tensor *out = wf__new(weight, (wf_dtype)weight->dtype, wf_dims_of(size, ndim + 1), WF_FORMAT_CONTIGUOUS);
  table t = {wf__sizes_of(weight), padding_idx};
  wf__node *node = out ? wf__node_for(&embedding_class, &weight, 1, 1, &t, sizeof t) : NULL;
  if (node) wf__save(node, 0, input);
  wf__indices list = {.at = {input}, .refusal = WF__REFUSE_SELF};
  if (out && !wf__self.pending && out->layout.numel) wf__index_get_into(out, weight, &list);
  return wf__finish(out, node);
}

/* ---- one_hot -------------------------------------------------------------------------------------------------------------------------- */

/* Least and greatest element; waits. */
static wf_status range_of(const wf_tensor *t, int64_t *least, int64_t *most) {
  *least = wf__scalar_int(wf_item(wf_amin(t, WF_SHAPE0, false)));
  *most = wf__scalar_int(wf_item(wf_amax(t, WF_SHAPE0, false)));
  return wf__self.pending;
}

static wf_status choose_classes(const wf_tensor *self, int64_t *classes) {
  int64_t least = 0, most = -1;
  WF__CHECK(self->dtype == WF_I64, WF_RUNTIME, "one_hot is only applicable to index tensor of type LongTensor.");
  if (!self->layout.numel) {
    WF__CHECK(*classes > 0, WF_RUNTIME, "Can not infer total number of classes from empty tensor.");
    return WF_OK;
  }
  WF__TRY(range_of(self, &least, &most));
  WF__CHECK(least >= 0, WF_RUNTIME, "Class values must be non-negative.");
  if (*classes == -1) *classes = most + 1;
  WF__CHECK(*classes > most, WF_RUNTIME, "Class values must be smaller than num_classes.");
  return WF_OK;
}

wf_tensor *wf_one_hot(const wf_tensor *self, int64_t num_classes) {
  WF__OP("one_hot", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  wf_scope scope = wf_scope_begin();
  wf_tensor *out = NULL;
  if (!choose_classes(self, &num_classes)) {
    int64_t size[WF_MAX_DIMS + 1];
    memcpy(size, self->layout.size, sizeof self->layout.size);
    size[self->layout.ndim] = num_classes;
    out = wf_new_zeros(self, wf_dims_of(size, self->layout.ndim + 1), WF_I64);
    if (out && out->layout.numel) wf_scatter_value_(out, -1, wf_unsqueeze(self, -1), wf_int(1));
  }
  return wf_scope_end(scope, out);
}
