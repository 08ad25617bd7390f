/* The file of a GPU: one JSON object, checked key by key, since every figure of a report follows from it. */
#include "dry_gpu_file.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "weft gpu 1"

/* What a report's figures, and the stand-in's answers, are made of; and the bounds of what a GPU can be. */
static const struct {
  int attribute, least, most;
  const char *what;
} needed[] = {
    {1, 1, 65536, "threads of a block"},
    {10, 32, 32, "threads of a warp"},
    {GPU_MULTIPROCESSORS, 1, 4096, "multiprocessors"},
    {GPU_L2_BYTES, 0, INT_MAX, "bytes of cache"},
    {39, 32, 65536, "threads of a multiprocessor"},
    {GPU_MAJOR, 1, 99, "compute capability"},
    {GPU_MINOR, 0, 9, "its minor version"},
    {81, 1, INT_MAX, "shared memory of a multiprocessor"},
    {97, 1, INT_MAX, "shared memory of a block"},
    {106, 1, 1024, "blocks of a multiprocessor"},
};

void gpu_description_settle(gpu_description *d) {
  snprintf(d->source, sizeof d->source, "captured on %s with driver %s, CUDA %s", d->date, d->driver, d->cuda);
  d->gpu.name = d->name;
  d->gpu.title = d->title;
  d->gpu.source = d->source;
  d->gpu.major = d->attributes[GPU_MAJOR];
  d->gpu.minor = d->attributes[GPU_MINOR];
  d->gpu.multiprocessors = d->attributes[GPU_MULTIPROCESSORS];
  d->gpu.l2_bytes = d->attributes[GPU_L2_BYTES];
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static json_t *to_json(const gpu_description *d) {
  json_t *attributes = json_object();
  char key[16];
  for (int i = 1; i < GPU_ATTRIBUTES; i++) {
    snprintf(key, sizeof key, "%d", i);
    if (!d->has[i] || !json_object_set_new(attributes, key, json_integer(d->attributes[i]))) continue;
    json_decref(attributes);
    return NULL;
  }
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "format", FORMAT, "name", d->name, "title",
                   d->title, "driver", d->driver, "cuda", d->cuda, "captured", d->date, "memory_bytes",
                   (json_int_t)d->gpu.memory_bytes, "context_bytes", (json_int_t)d->gpu.context_bytes, "attributes",
                   attributes);
}

bool gpu_description_write(const gpu_description *d, const char *path) {
  json_t *document = to_json(d);
  FILE *file = path ? fopen(path, "w") : stdout;
  errno = file ? 0 : errno;
  bool good = file && document && !json_dumpf(document, file, JSON_INDENT(2)) && fputc('\n', file) >= 0;
  int error = errno;
  json_decref(document);
  if (path && file && fclose(file) && good) {
    error = errno;
    good = false;
  }
  if (good) return true;
  misuse("dry-run", "%s can't be written: %s", path ? path : "the description", strerror(error ? error : ENOMEM));
  if (path && file) remove(path);
  return false;
}

char *gpu_description_attributes(const gpu_description *d) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  for (int i = 1, n = 0; out && i < GPU_ATTRIBUTES; i++)
    if (d->has[i]) fprintf(out, "%s%d=%d", n++ ? "," : "", i, d->attributes[i]);
  if (out && !fclose(out)) return text;
  free(text);
  return NULL;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* Says what is wrong in the file, and is false. */
static bool bad(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool bad(const char *path, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  misuse("dry-run", "%s isn't a description of a GPU: %s; weft dry-run --capture writes one", path, text);
  return false;
}

/* Printed as it is in reports. */
static bool is_printable(const char *text) {
  for (const char *c = text; *c; c++)
    if (iscntrl((unsigned char)*c)) return false;
  return true;
}

static bool read_text(const json_t *document, const char *key, char *to, size_t size, const char *path) {
  const char *text = json_string_value(json_object_get(document, key));
  if (!text || !*text) return bad(path, "\"%s\" must be a text", key);
  if (strlen(text) >= size || !is_printable(text))
    return bad(path, "\"%s\" has %zu characters at most, and no control characters", key, size - 1);
  snprintf(to, size, "%s", text);
  return true;
}

static bool read_bytes(const json_t *document, const char *key, int64_t least, int64_t most, int64_t *to,
                       const char *path) {
  const json_t *value = json_object_get(document, key);
  if (!json_is_integer(value)) return bad(path, "\"%s\" must be a whole number", key);
  *to = json_integer_value(value);
  if (*to < least || *to > most) return bad(path, "\"%s\" is %lld, which is no such size", key, (long long)*to);
  return true;
}

static bool read_attributes(gpu_description *d, json_t *attributes, const char *path) {
  const char *key;
  json_t *value;
  if (!json_is_object(attributes)) return bad(path, "\"attributes\" must be an object");
  json_object_foreach(attributes, key, value) {
    int64_t number;
    if (!parse_int(key, 1, GPU_ATTRIBUTES - 1, &number)) return bad(path, "there is no attribute \"%s\"", key);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < INT_MIN || n > INT_MAX)
      return bad(path, "attribute \"%s\" must be a whole number", key);
    d->attributes[number] = (int)n;
    d->has[number] = true;
  }
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    int n = needed[i].attribute, got = d->attributes[n];
    if (!d->has[n]) return bad(path, "attribute \"%d\" (%s) is missing", n, needed[i].what);
    if (got < needed[i].least || got > needed[i].most)
      return bad(path, "attribute \"%d\" (%s) can't be %d", n, needed[i].what, got);
  }
  return true;
}

static bool has_only_known_keys(json_t *document, const char *path) {
  static const char *const keys[] = {"format",   "name",         "title",         "driver",    "cuda",
                                     "captured", "memory_bytes", "context_bytes", "attributes"};
  const char *key;
  json_t *value;
  json_object_foreach(document, key, value) {
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known |= !strcmp(key, keys[i]);
    if (!known) return bad(path, "\"%.60s\" means nothing there", key);
  }
  return true;
}

static bool is_name(const char *name) {
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) return false;
  return *name;
}

static bool from_json(gpu_description *d, json_t *document, const char *path) {
  char format[32];
  if (!json_is_object(document)) return bad(path, "it must be a JSON object");
  if (!read_text(document, "format", format, sizeof format, path)) return false;
  if (strcmp(format, FORMAT)) return bad(path, "its format is \"%s\", this version reads \"" FORMAT "\"", format);
  if (!has_only_known_keys(document, path) || !read_text(document, "name", d->name, sizeof d->name, path) ||
      !read_text(document, "title", d->title, sizeof d->title, path) ||
      !read_text(document, "driver", d->driver, sizeof d->driver, path) ||
      !read_text(document, "cuda", d->cuda, sizeof d->cuda, path) ||
      !read_text(document, "captured", d->date, sizeof d->date, path) ||
      !read_bytes(document, "memory_bytes", LEAST_MEMORY, MOST_MEMORY, &d->gpu.memory_bytes, path) ||
      !read_bytes(document, "context_bytes", 0, d->gpu.memory_bytes, &d->gpu.context_bytes, path))
    return false;
  if (!is_name(d->name)) return bad(path, "\"name\" may have letters, digits, '-', '_' and '.'");
  return read_attributes(d, json_object_get(document, "attributes"), path);
}

bool gpu_description_read(gpu_description *d, const char *path) {
  json_error_t error;
  errno = 0;
  FILE *file = fopen(path, "rb");
  if (!file) {
    misuse("dry-run", "%s can't be read: %s", path, strerror(errno));
    return false;
  }
  json_t *document = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
  fclose(file);
  *d = (gpu_description){0};
  bool good = document ? from_json(d, document, path) : bad(path, "line %d: %s", error.line, error.text);
  json_decref(document);
  if (good) gpu_description_settle(d);
  return good;
}
