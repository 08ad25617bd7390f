/* Facts about dtypes, and which dtype two of them promote to. */
#include <string.h>
#include <weft/dtype.h>

typedef struct facts {
  const char *brief, *name;
  uint8_t bytes, kind;
} facts;

static const facts table[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = {"none", "none", 0, WF_KIND_NONE},
#define WF_X(NAME, value, bytes, kind, brief, name, ...) [value] = {brief, name, bytes, WF_KIND_##kind},
                                            WF_DTYPE_TABLE(WF_X)
#undef WF_X
};

static const facts *facts_of(wf_dtype d) { return &table[(unsigned)d < WF_DTYPE_COUNT ? d : WF_DTYPE_NONE]; }

size_t wf_dtype_size(wf_dtype d) { return facts_of(d)->bytes; }
wf_dtype_kind wf_dtype_kind_of(wf_dtype d) { return (wf_dtype_kind)facts_of(d)->kind; }
const char *wf_dtype_name(wf_dtype d) { return facts_of(d)->name; }

wf_dtype wf_dtype_parse(const char *name) {
  if (!name) return WF_DTYPE_NONE;
  for (int d = 1; d < WF_DTYPE_COUNT; d++)
    if (!strcmp(name, table[d].name) || !strcmp(name, table[d].brief)) return (wf_dtype)d;
  return WF_DTYPE_NONE;
}

/* bool < integers < floats; the widest of a kind wins, but u8 with a signed integer gives at least i16, and the two half formats have no
 * common format below f32. */
wf_dtype wf_promote_types(wf_dtype a, wf_dtype b) {
  if (a == b || !b) return a;
  if (!a) return b;
  wf_dtype_kind ka = wf_dtype_kind_of(a), kb = wf_dtype_kind_of(b);
  if (ka == WF_KIND_FLOAT && kb == WF_KIND_FLOAT) {
    if (wf_dtype_size(a) == 2 && wf_dtype_size(b) == 2) return WF_F32;
    return wf_dtype_size(a) > wf_dtype_size(b) ? a : b;
  }
  if (ka == WF_KIND_FLOAT || kb == WF_KIND_FLOAT) return ka == WF_KIND_FLOAT ? a : b;
  if (ka == WF_KIND_BOOL || kb == WF_KIND_BOOL) return ka == WF_KIND_BOOL ? b : a;
  if (ka != kb && wf_dtype_size(a) == 1 && wf_dtype_size(b) == 1) return WF_I16;
  if (ka != kb) return ka == WF_KIND_INT ? a : b;
  return wf_dtype_size(a) > wf_dtype_size(b) ? a : b;
}

bool wf_can_cast(wf_dtype from, wf_dtype to) {
  wf_dtype_kind f = wf_dtype_kind_of(from), t = wf_dtype_kind_of(to);
  if (f == WF_KIND_FLOAT && (t == WF_KIND_INT || t == WF_KIND_UINT)) return false;
  if (f != WF_KIND_BOOL && t == WF_KIND_BOOL) return false;
  return true;
}
