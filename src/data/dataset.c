/* Datasets: a table of functions over somebody's samples. */
#include "data/dataset.h"

#include <string.h>
#include "base/host.h"

static wf_status field_bytes(const wf_field *f, size_t *bytes) {
  size_t n = wf_dtype_size(f->dtype);
  WF__CHECK(n, WF_VALUE, "field '%s' has no dtype", f->name ? f->name : "");
  WF__CHECK(f->ndim >= 0 && f->ndim < WF_MAX_DIMS, WF_VALUE,
            "field '%s' has %d dimensions; a sample can have at most %d", f->name ? f->name : "", f->ndim,
            WF_MAX_DIMS - 1);
  for (int i = 0; i < f->ndim; i++)
    WF__CHECK(f->size[i] >= 0 && !__builtin_mul_overflow(n, (size_t)f->size[i], &n), WF_VALUE,
              "field '%s' has a negative size or is too large", f->name ? f->name : "");
  *bytes = n;
  return WF_OK;
}

static wf_status fill(wf_dataset *d, const wf_field *fields, int n) {
  for (int i = 0; i < n; i++) {
    d->field[i] = fields[i];
    WF__TRY(field_bytes(&fields[i], &d->field_bytes[i]));
  }
  return WF_OK;
}

wf_dataset *wf_dataset_new(const wf_dataset_ops *ops, void *context, int64_t count, const wf_field *fields, int n) {
  WF__OP("dataset_new", NULL);
  if (!ops || !ops->fetch || count < 0 || n < 1 || n > WF_SAMPLE_FIELDS || !fields) {
    wf__fail(WF_VALUE, "a dataset needs fetch, a count of 0 or more and 1 to %d fields; got count=%lld, fields=%d",
             WF_SAMPLE_FIELDS, (long long)count, n);
    return NULL;
  }
  wf_dataset *d = wf__calloc(1, sizeof *d);
  if (!d) return NULL;
  d->ops = *ops;
  d->context = context;
  d->count = count;
  d->fields = n;
  if (fill(d, fields, n)) {
    wf__release(d);
    return NULL;
  }
  return d;
}

void wf_dataset_free(wf_dataset *d) {
  if (!d) return;
  if (d->ops.release) d->ops.release(d->context);
  wf__release(d);
}

wf_status wf_dataset_fail(wf_status status, const char *text) { return wf__fail(status, "%s", text ? text : ""); }
int64_t wf_dataset_count(const wf_dataset *d) { return d ? d->count : 0; }

const wf_field *wf_dataset_fields(const wf_dataset *d, int *n) {
  *n = d ? d->fields : 0;
  return d ? d->field : NULL;
}

wf_status wf_dataset_fetch(wf_dataset *d, int64_t index, void *const *field) {
  WF__OP("dataset_fetch", wf__self.pending);
  WF__CHECK(d && index >= 0 && index < d->count, WF_INDEX, "sample %lld is out of range for a dataset of %lld samples",
            (long long)index, (long long)wf_dataset_count(d));
  wf_status status = d->ops.fetch(d->context, index, field);
  if (status && !wf__self.pending) wf__fail(status, "sample %lld could not be read", (long long)index);
  return status;
}

/* ---- the first n samples -------------------------------------------------------------------------------------------------- */

static wf_status fetch_from_whole(void *context, int64_t index, void *const *field) {
  return wf_dataset_fetch(context, index, field);
}

wf_dataset *wf_dataset_take(wf_dataset *d, int64_t n) {
  WF__OP("dataset_take", NULL);
  if (!d || n < 0) {
    wf__fail(WF_VALUE, "take needs a dataset and a count of 0 or more; got %lld", (long long)n);
    return NULL;
  }
  static const wf_dataset_ops ops = {fetch_from_whole, NULL};
  return wf_dataset_new(&ops, d, n < d->count ? n : d->count, d->field, d->fields);
}
