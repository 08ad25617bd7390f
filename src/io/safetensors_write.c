/* Writer of safetensors files: header with sorted entries, then the data in the same order. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "format/atomic_file.h"
#include "io/safetensors.h"
#include "tensor/tensor.h"

/* A tensor to write with its key of sorting. */
typedef struct entry {
  const wf_named_tensor *named;
  const wf__safetensors_dtype *dtype;
  int rank;
  size_t bytes;
} entry;

static int by_dtype_then_name(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->named->name, y->named->name);
}

static int by_storage(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const entry *)a)->named->tensor->storage,
            y = (uintptr_t)((const entry *)b)->named->tensor->storage;
  return (x > y) - (x < y);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const entry *)a)->named->name, ((const entry *)b)->named->name);
}

static wf_status fill_entries(const wf_named_tensor *tensors, int n, entry *e) {
  for (int i = 0; i < n; i++) {
    WF__CHECK(!tensors[i].name || strcmp(tensors[i].name, "__metadata__"), WF_VALUE,
              "a tensor can't be named '__metadata__' in a safetensors file");
    WF__CHECK(tensors[i].name && tensors[i].tensor, WF_VALUE, "entry %d has no %s", i,
              tensors[i].name ? "tensor" : "name");
    e[i].named = &tensors[i];
    e[i].dtype = wf__safetensors_dtype_of(wf_dtype_of(tensors[i].tensor), &e[i].rank);
    e[i].bytes = (size_t)wf_numel(tensors[i].tensor) * wf__itemsize(tensors[i].tensor);
  }
  return WF_OK;
}

/* Leaves the entries in the order of the file. */
static wf_status check_entries(entry *e, int n) {
  qsort(e, (size_t)n, sizeof *e, by_storage);
  for (int i = 1; i < n; i++)
    WF__CHECK(!e[i].bytes || by_storage(&e[i - 1], &e[i]), WF_VALUE,
              "'%s' and '%s' share memory, which a safetensors file can't express: save one of them, or a clone",
              e[i - 1].named->name, e[i].named->name);
  qsort(e, (size_t)n, sizeof *e, by_name);
  for (int i = 1; i < n; i++)
    WF__CHECK(by_name(&e[i - 1], &e[i]), WF_VALUE, "two tensors are named '%s'", e[i].named->name);
  qsort(e, (size_t)n, sizeof *e, by_dtype_then_name);
  return WF_OK;
}

/* The header as compact JSON of *length bytes, to be released. NULL when memory is out or a name isn't UTF-8. */
static char *header_of(const entry *e, int n, size_t *length) {
  json_t *header = json_object();
  size_t offset = 0;
  bool good = header != NULL;
  for (int i = 0; good && i < n; i++) {
    wf_dims size = wf_sizes(e[i].named->tensor);
    json_t *shape = json_array(), *offsets = json_pack("[I, I]", (json_int_t)offset, (json_int_t)(offset + e[i].bytes));
    for (int d = 0; d < size.n; d++) json_array_append_new(shape, json_integer(size.at[d]));
    json_t *value = json_pack("{s:s, s:o, s:o}", "dtype", e[i].dtype->name, "shape", shape, "data_offsets", offsets);
    good = value && !json_object_set_new(header, e[i].named->name, value);
    offset += e[i].bytes;
  }
  *length = good ? json_dumpb(header, NULL, 0, JSON_COMPACT) : 0;
  char *text = *length ? wf__malloc(*length) : NULL;
  if (text) json_dumpb(header, text, *length, JSON_COMPACT);
  json_decref(header);
  return text;
}

static wf_status write_header(FILE *out, const entry *e, int n) {
  size_t length;
  char *text = header_of(e, n, &length);
  if (!text) return wf__fail(WF_VALUE, "the header can't be made: a name isn't UTF-8, or memory is out");
  size_t padded = (length + 7) / 8 * 8;
  for (int i = 0; i < 8; i++) putc((int)(padded >> 8 * i & 255), out);
  fwrite(text, 1, length, out);
  for (; length < padded; length++) putc(' ', out);
  wf__release(text);
  return WF_OK;
}

static wf_status write_data(wf__atomic_file *out, const entry *e, int n) {
  for (int i = 0; i < n; i++) {
    void *data = wf__malloc(e[i].bytes);
    if (!data) return wf__self.pending;
    wf_status status = wf_to_host(e[i].named->tensor, data, e[i].bytes);
    if (!status) status = wf__atomic_put(out, data, e[i].bytes);
    wf__release(data);
    WF__TRY(status);
  }
  return WF_OK;
}

static wf_status save(const char *path, const entry *e, int n) {
  wf__atomic_file file;
  WF__TRY(wf__atomic_open(&file, path));
  wf_status status = write_header(file.stream, e, n);
  if (!status) status = write_data(&file, e, n);
  if (!status) return wf__atomic_commit(&file);
  wf__atomic_abandon(&file);
  return status;
}

wf_status wf_safetensors_save(const char *path, const wf_named_tensor *tensors, int n) {
  WF__OP("safetensors_save", wf__self.pending);
  WF__CHECK(path && n >= 0 && (tensors || !n), WF_VALUE, "saving needs a path and a list of tensors");
  entry *e = wf__calloc((size_t)n + 1, sizeof *e);
  if (!e) return wf__self.pending;
  wf_status status = fill_entries(tensors, n, e);
  if (!status) status = check_entries(e, n);
  if (!status) status = save(path, e, n);
  wf__release(e);
  return status;
}
