/* Reader of safetensors files. The header is checked completely when the file is opened, in the order of the reference reader and, where
 * that one is looser than the specification, by the specification. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "io/safetensors.h"
#include "tensor/tensor.h"

#define DEPTH_MAX 3
#define OFFSET_MAX (((int64_t)1 << 48) - 1)

typedef struct item {
  const char *name; /* in the header's JSON */
  const wf__safetensors_dtype *dtype;
  int rank;
  int64_t size[WF_MAX_DIMS];
  int64_t begin, end;
} item;

struct wf_safetensors {
  int fd;
  char *path;
  json_t *header;
  int64_t data; /* where the data begins in the file */
  int count;
  item *items;
};

#define REFUSE(f, ...) return refuse((f)->path, __VA_ARGS__)
static wf_status refuse(const char *path, const char *format, ...) WF_PRINTF(2, 3);
static wf_status refuse(const char *path, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return wf__fail(WF_IO, "%s: not a valid safetensors file: %s", path, text);
}

/* Reads exactly n bytes at `offset`. */
static wf_status read_at(const wf_safetensors *f, void *to, size_t n, int64_t offset) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(f->fd, (char *)to + done, n - done, offset + (int64_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wf__fail(WF_IO, "%s: can't be read: %s", f->path, strerror(errno));
    if (!got) return wf__fail(WF_IO, "%s: ended early: it was changed while it was open", f->path);
    done += (size_t)got;
  }
  return WF_OK;
}

/* ---- one entry ---------------------------------------------------------------------------------------------------------------- */

static bool small_integer(const json_t *value, int64_t *n) {
  if (!json_is_integer(value)) return false;
  *n = json_integer_value(value);
  return *n >= 0 && *n <= OFFSET_MAX;
}

static wf_status read_shape(const wf_safetensors *f, const json_t *shape, item *it) {
  if (!json_is_array(shape)) REFUSE(f, "'%s' has no shape", it->name);
  size_t n = json_array_size(shape);
  it->rank = (int)n;
  for (size_t i = 0; i < n; i++) {
    int64_t size;
    if (!small_integer(json_array_get(shape, i), &size))
      REFUSE(f, "'%s' has a size that isn't a whole number of 0 or more", it->name);
    if (i < WF_MAX_DIMS) it->size[i] = size;
  }
  return WF_OK;
}

static wf_status check_bytes(const wf_safetensors *f, const item *it) {
  if (it->rank > WF_MAX_DIMS)
    return wf__fail(WF_NOT_IMPLEMENTED, "%s: '%s' has %d dimensions; at most %d are supported", f->path, it->name,
                    it->rank, WF_MAX_DIMS);
  int64_t bits = it->dtype->bits;
  for (int i = 0; i < it->rank; i++)
    if (__builtin_mul_overflow(bits, it->size[i], &bits)) REFUSE(f, "the size of '%s' overflows", it->name);
  if (bits % 8) REFUSE(f, "'%s' doesn't end on a whole byte", it->name);
  if (bits / 8 != it->end - it->begin)
    REFUSE(f, "'%s' needs %lld bytes by its shape and dtype, but its offsets give %lld", it->name,
           (long long)(bits / 8), (long long)(it->end - it->begin));
  return WF_OK;
}

static wf_status read_entry(const wf_safetensors *f, const char *name, const json_t *value, item *it) {
  it->name = name;
  if (!json_is_object(value)) REFUSE(f, "the entry '%s' is no object", name);
  const char *dtype = json_string_value(json_object_get(value, "dtype"));
  it->dtype = dtype ? wf__safetensors_dtype_named(dtype) : NULL;
  if (!it->dtype) REFUSE(f, "'%s' has the unknown dtype '%s'", name, dtype ? dtype : "");
  WF__TRY(read_shape(f, json_object_get(value, "shape"), it));
  const json_t *offsets = json_object_get(value, "data_offsets");
  if (json_array_size(offsets) != 2 || !small_integer(json_array_get(offsets, 0), &it->begin) ||
      !small_integer(json_array_get(offsets, 1), &it->end))
    REFUSE(f, "'%s' has no pair of data_offsets", name);
  return WF_OK;
}

static wf_status check_metadata(const wf_safetensors *f, const json_t *metadata) {
  const char *key;
  json_t *value;
  if (!json_is_object(metadata)) REFUSE(f, "__metadata__ is no object");
  json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value))
      REFUSE(f, "__metadata__ holds something else than strings at '%s'", key);
  return WF_OK;
}

/* ---- the header ----------------------------------------------------------------------------------------------------------------- */

static int by_offsets(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static wf_status read_entries(wf_safetensors *f) {
  const char *name;
  json_t *value;
  f->items = wf__calloc(json_object_size(f->header) + 1, sizeof *f->items);
  if (!f->items) return wf__self.pending;
  json_object_foreach(f->header, name, value) {
    if (!strcmp(name, "__metadata__")) WF__TRY(check_metadata(f, value));
    else WF__TRY(read_entry(f, name, value, &f->items[f->count++]));
  }
  qsort(f->items, (size_t)f->count, sizeof *f->items, by_offsets);
  return WF_OK;
}

static wf_status check_seams(const wf_safetensors *f, int64_t file_bytes) {
  int64_t at = 0;
  for (int i = 0; i < f->count; i++) {
    const item *it = &f->items[i];
    if (it->begin != at || it->end < it->begin)
      REFUSE(f, "the data of '%s' doesn't begin where the tensor before it ends", it->name);
    WF__TRY(check_bytes(f, it));
    at = it->end;
  }
  if (f->data + at != file_bytes)
    REFUSE(f, "the tensors end at byte %lld, the file at %lld", (long long)(f->data + at), (long long)file_bytes);
  return WF_OK;
}

/* jansson accepts nesting that this format never has. */
static int nesting(const char *text, size_t n) {
  int depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < n; i++) {
    if (quoted) {
      if (text[i] == '\\') i++;
      else if (text[i] == '"') quoted = false;
    } else if (text[i] == '"') quoted = true;
    else if (text[i] == '{' || text[i] == '[') most = ++depth > most ? depth : most;
    else if (text[i] == '}' || text[i] == ']') depth--;
  }
  return most;
}

static wf_status parse_header(wf_safetensors *f, const char *text, size_t n) {
  json_error_t error;
  if (!n || text[0] != '{') REFUSE(f, "the header doesn't begin with '{'");
  if (nesting(text, n) > DEPTH_MAX) REFUSE(f, "the header is nested too deeply");
  f->header = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
  if (!f->header) REFUSE(f, "the header is no JSON: %s (at byte %d)", error.text, error.position);
  return WF_OK;
}

static wf_status read_header(wf_safetensors *f) {
  struct stat info;
  if (fstat(f->fd, &info)) return wf__fail(WF_IO, "%s: can't be read: %s", f->path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return wf__fail(WF_IO, "%s: not a regular file", f->path);
  if (info.st_size < 8)
    REFUSE(f, "it has %lld bytes, fewer than the 8 of the header's length", (long long)info.st_size);
  unsigned char word[8];
  WF__TRY(read_at(f, word, 8, 0));
  uint64_t n = 0;
  for (int i = 7; i >= 0; i--) n = n << 8 | word[i];
  if (n > WF__SAFETENSORS_HEADER_MAX)
    REFUSE(f, "its header would have %llu bytes; at most %d are allowed", (unsigned long long)n,
           WF__SAFETENSORS_HEADER_MAX);
  if ((int64_t)n + 8 > info.st_size)
    REFUSE(f, "its header would have %llu bytes, more than the file", (unsigned long long)n);
  f->data = (int64_t)n + 8;
  char *text = wf__malloc((size_t)n);
  if (!text) return wf__self.pending;
  wf_status status = read_at(f, text, (size_t)n, 8);
  if (!status) status = parse_header(f, text, (size_t)n);
  wf__release(text);
  if (!status) status = read_entries(f);
  return status ? status : check_seams(f, info.st_size);
}

/* ---- public ------------------------------------------------------------------------------------------------------------------------ */

static wf_status open_file(wf_safetensors *f, const char *path) {
  f->fd = -1;
  f->path = wf__strdup(path);
  if (!f->path) return wf__self.pending;
  f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (f->fd < 0) return wf__fail(WF_IO, "%s: can't be opened: %s", path, strerror(errno));
  return read_header(f);
}

wf_safetensors *wf_safetensors_open(const char *path) {
  WF__OP("safetensors_open", NULL);
  if (!path) return wf__fail(WF_VALUE, "opening needs a path"), NULL;
  wf_safetensors *f = wf__calloc(1, sizeof *f);
  if (f && !open_file(f, path)) return f;
  wf_safetensors_close(f);
  return NULL;
}

void wf_safetensors_close(wf_safetensors *f) {
  if (!f) return;
  if (f->fd >= 0) close(f->fd);
  json_decref(f->header);
  wf__release(f->items);
  wf__release(f->path);
  wf__release(f);
}

int wf_safetensors_count(const wf_safetensors *f) { return f ? f->count : 0; }
const char *wf_safetensors_name(const wf_safetensors *f, int i) {
  return f && i >= 0 && i < f->count ? f->items[i].name : NULL;
}

static const item *find(const wf_safetensors *f, const char *name) {
  for (int i = 0; i < f->count; i++)
    if (!strcmp(f->items[i].name, name)) return &f->items[i];
  return NULL;
}

wf_tensor *wf_safetensors_get(wf_safetensors *f, const char *name) {
  WF__OP("safetensors_get", NULL);
  const item *it = f && name ? find(f, name) : NULL;
  if (!it) return wf__fail(WF_VALUE, "%s: holds no tensor named '%s'", f ? f->path : "", name ? name : ""), NULL;
  if (!it->dtype->dtype) {
    wf__fail(WF_TYPE, "%s: '%s' has dtype %s, which isn't supported", f->path, name, it->dtype->name);
    return NULL;
  }
  wf_tensor *t = wf__tensor_empty_sized(wf__device_get(wf_cpu()), it->dtype->dtype, wf_dims_of(it->size, it->rank));
  if (t && it->end > it->begin && read_at(f, wf__data(t), (size_t)(it->end - it->begin), f->data + it->begin)) {
    wf__tensor_release(t);
    return NULL;
  }
  return wf__give(t);
}
