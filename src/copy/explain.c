/* What a copy would do, in numbers and words for people. The method comes from exec/, by the function that chooses it when the copy runs. */
#include <weft/explain.h>

#include "copy/internal.h"
#include "exec/copy_method.h"

static wf_status say(wf_copy_explanation *e, wf_copy_method method, const char *name, const char *why) {
  e->method = method;
  e->name = name;
  e->why = why;
  return WF_OK;
}

static void say_form(wf_copy_explanation *e, const wf_plan *plan) {
  e->ndim = plan->ndim;
  for (int d = 0; d < plan->ndim; d++) {
    e->size[d] = plan->size[d];
    e->dst_step[d] = plan->operand[0].stride[d];
    e->src_step[d] = plan->operands > 1 ? plan->operand[1].stride[d] : 0;
  }
}

/* Where elements are between one side and the other. */
static const char *way_of(const wf__copy_method *m) {
  if (m->how != WF__COPY_TILES) return "";
  if (m->staged && m->buffered)
    return "rows of the source are brought side by side first, and turned into a buffer from which whole runs are stored";
  if (m->staged) return "rows of the source are brought side by side first, and turned into place";
  if (m->buffered) return "tiles are turned into a buffer in the cache, from which whole runs are stored";
  if (m->split_past) return "lines of the rows are stored as they come out of the registers";
  return "tiles are turned straight into place";
}

static const char *conversion_of(const wf__copy_method *m) {
  if (m->to == m->from) return "";
  if (m->how == WF__COPY_STRAIGHT) return "elements are converted before they are turned, row by row of the source";
  if (m->how != WF__COPY_TILES) return "elements are converted on their way";
  return m->cast == WF__CAST_BEFORE ? "elements are converted before they are turned: the new ones are smaller"
                                    : "elements are converted after they were turned, on their way out";
}

static wf_status say_method(wf_copy_explanation *e, const wf_plan *plan) {
  static const struct {
    wf_copy_method method;
    const char *name;
  } methods[] = {
      [WF__COPY_NOTHING] = {WF_METHOD_NOTHING, "nothing"}, [WF__COPY_FILL] = {WF_METHOD_FILL, "fill"},
      [WF__COPY_ROWS] = {WF_METHOD_ROWS, "rows"},          [WF__COPY_STRAIGHT] = {WF_METHOD_STRAIGHT, "straight"},
      [WF__COPY_TILES] = {WF_METHOD_TILES, "tiles"},
  };
  wf__copy_method m;
  wf__copy_choose(plan, &m);
  e->way = way_of(&m);
  e->convert = conversion_of(&m);
  e->stores = m.why_stream;
  e->streaming = m.stream;
  e->element_bytes = m.to_size;
  /* The dims that became one wider element belong to a tile as a whole. */
  for (int d = 0; d < e->ndim && m.how == WF__COPY_TILES; d++) e->tile[d] = d < m.ndim ? m.dim[d].extent : e->size[d];
  return say(e, methods[m.how].method, methods[m.how].name, m.why);
}

/* The plan of the second half: from the copy that is made first, which is packed, to dst. */
static wf_status plan_from_temporary(wf_plan *plan, const wf_tensor *dst, const wf_tensor *src) {
  wf__layout layout;
  wf__layout_preserve(&src->layout, &layout);
  wf_tensor *packed = wf__tensor_alias(src, (wf_dtype)src->dtype, &layout); /* for its strides; nobody reads it */
  if (!packed) return wf__self.pending;
  wf_status status = wf__copy_plan(plan, dst, packed);
  wf__tensor_release(packed);
  wf__copy_form(plan);
  return status;
}

static wf_status tell(const wf_tensor *dst, const wf_tensor *src, wf_copy_explanation *e) {
  wf_plan plan;
  *e = (wf_copy_explanation){.way = "", .convert = "", .stores = ""};
  if (src) WF__TRY(wf__copy_plan(&plan, dst, src));
  else wf__copy_fill_plan(&plan, dst);
  wf__copy_form(&plan);
  bool nothing = dst->layout.numel == 0, stays = src && !nothing && wf__copy_is_onto_itself(&plan);
  e->temporary = src && !nothing && !stays && dst->storage == src->storage && wf__copy_disturbs_source(&plan);
  if (e->temporary) WF__TRY(plan_from_temporary(&plan, dst, src));
  say_form(e, &plan);
  if (nothing) return say(e, WF_METHOD_NOTHING, "nothing", "there are no elements");
  if (stays) return say(e, WF_METHOD_NOTHING, "nothing", "each element is at its place already");
  int64_t to = (int64_t)wf_dtype_size(plan.operand[0].dtype), from = src ? (int64_t)wf__itemsize(src) : 0;
  e->bytes_written = wf__copy_distinct(&plan, 0) * to;
  e->bytes_read = src ? wf__copy_distinct(&plan, 1) * from : 0;
  if (src && wf__device_of(dst) != wf__device_of(src))
    return say(e, WF_METHOD_TRANSFER, "transfer", "source and destination are on different devices");
  return say_method(e, &plan);
}

/* Checks as copy_ does, and stops where that begins to write. */
wf_status wf_copy_explain(const wf_tensor *dst, const wf_tensor *src, wf_copy_explanation *explanation) {
  WF__OP("copy_explain", wf__self.pending);
  WF__CHECK(dst && explanation, WF_VALUE, "copy_explain: dst and explanation can't be NULL");
  WF__TRY(tell(dst, src, explanation));
  if (explanation->method == WF_METHOD_NOTHING) return WF_OK;
  WF__TRY(wf__check_internal_overlap(dst));
  return src ? wf__check_partial_overlap(dst, src) : WF_OK;
}
