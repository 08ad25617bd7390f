/* Operators in the form in which op.def calls them, where the public function takes options or PyTorch has one name for several forms. */
#ifndef WF_OP_CALL_FORMS_H
#define WF_OP_CALL_FORMS_H

#include <weft/create.h>
#include <weft/index.h>
#include <weft/join.h>
#include <weft/random.h>
#include <weft/view.h>
#include "op/args.h"

/* A memory format that wasn't given, where that means something else than any format. */
#define WF__FORMAT_NOT_GIVEN ((wf_memory_format)-1)
/* Default of an E parameter that may be left off: `dims.at` is NULL and `single` false. An empty list has a pointer. */
static inline wf__ints wf__no_ints(void) {
  wf__ints none = {WF_SHAPE0, false, NULL};
  return none;
}

wf_tensor *wf__call_empty(wf_dims size, wf_dtype dtype, wf_memory_format format);
wf_tensor *wf__call_empty_strided(wf_dims size, wf_dims stride, wf_dtype dtype);
wf_tensor *wf__call_zeros(wf_dims size, wf_dtype dtype);
wf_tensor *wf__call_ones(wf_dims size, wf_dtype dtype);
wf_tensor *wf__call_full(wf_dims size, wf_scalar value, wf_dtype dtype);
wf_tensor *wf__call_arange(wf_scalar start, wf_scalar end, wf_scalar step, wf_dtype dtype);
wf_tensor *wf__call_linspace(wf_scalar start, wf_scalar end, int64_t steps, wf_dtype dtype);
wf_tensor *wf__call_eye(int64_t n, int64_t m, wf_dtype dtype);

wf_tensor *wf__call_rand(wf_dims size, wf_dtype dtype);
wf_tensor *wf__call_randn(wf_dims size, wf_dtype dtype);
wf_tensor *wf__call_randint(int64_t low, int64_t high, wf_dims size, wf_dtype dtype);
wf_tensor *wf__call_randperm(int64_t n, wf_dtype dtype);

wf_tensor *wf__call_squeeze(const wf_tensor *self, wf__ints dim);
wf_status wf__call_squeeze_(wf_tensor *self, wf__ints dim);
wf_tensors wf__call_split(const wf_tensor *self, wf__ints sizes, int64_t dim);
wf_tensors wf__call_tensor_split(const wf_tensor *self, wf__ints indices, int64_t dim);
wf_status wf__call_resize_(wf_tensor *self, wf_dims size, wf_memory_format format);
wf_tensor *wf__call_to(const wf_tensor *self, wf_dtype dtype, bool copy, wf_memory_format format);
wf_status wf__call_fill_(wf_tensor *self, wf__operand_arg value);

/* Operators whose tensors come before their numbers here, whatever the order of the public function. */
wf_tensor *wf__call_index_put(wf_tensor *self, wf_tensor *values, wf_tensors indices, bool accumulate);
wf_status wf__call_index_put_(wf_tensor *self, wf_tensor *values, wf_tensors indices, bool accumulate);
wf_tensor *wf__call_index_select(wf_tensor *self, wf_tensor *index, int64_t dim);
wf_tensor *wf__call_index_add(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim, wf_scalar alpha);
wf_status wf__call_index_add_(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim, wf_scalar alpha);
wf_tensor *wf__call_index_copy(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim);
wf_status wf__call_index_copy_(wf_tensor *self, wf_tensor *index, wf_tensor *source, int64_t dim);
wf_tensor *wf__call_index_fill(wf_tensor *self, wf_tensor *index, wf__operand_arg value, int64_t dim);
wf_status wf__call_index_fill_(wf_tensor *self, wf_tensor *index, wf__operand_arg value, int64_t dim);
wf_tensor *wf__call_gather(wf_tensor *self, wf_tensor *index, int64_t dim);
wf_tensor *wf__call_scatter(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim, wf_scalar value);
wf_status wf__call_scatter_(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim, wf_scalar value);
wf_tensor *wf__call_scatter_add(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim);
wf_status wf__call_scatter_add_(wf_tensor *self, wf_tensor *index, wf_tensor *src, int64_t dim);
wf_tensor *wf__call_repeat_interleave(wf_tensor *self, wf__operand_arg repeats, int64_t dim);
wf_tensor *wf__call_pad(const wf_tensor *self, wf_dims pad, const char *mode, wf_scalar value);

#endif
