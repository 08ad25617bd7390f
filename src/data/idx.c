/* Datasets in IDX files: images and labels, as MNIST and its kin come. Both files are read whole, since they are small and workers then
 * share them without a lock. */
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "data/dataset.h"
#include "format/gzip.h"

#define PACKAGE_FOLDER "/usr/share/datasets/fashion-mnist"
#define TYPE_U8 0x08

/* A file's header and the stream behind it. */
typedef struct idx_file {
  const char *path;
  wf__input *stream;
  int dims;
  int64_t size[4];
} idx_file;

typedef struct images {
  uint8_t *pixels;
  uint8_t *labels;
  size_t image_bytes;
} images;

#define FIRST_PIECE ((size_t)16 << 20)

static uint32_t big_endian(const uint8_t *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static wf_status read_header(idx_file *f, int dims) {
  uint8_t word[4];
  WF__TRY(wf__input_exactly(f->stream, word, 4, "the header"));
  uint32_t magic = big_endian(word), wanted = TYPE_U8 << 8 | (uint32_t)dims;
  WF__CHECK(magic == wanted, WF_VALUE,
            "%s: not an IDX file of unsigned bytes with %d dimension%s: its magic is 0x%08x, not 0x%08x", f->path, dims,
            dims == 1 ? "" : "s", magic, wanted);
  f->dims = dims;
  for (int i = 0; i < dims; i++) {
    WF__TRY(wf__input_exactly(f->stream, word, 4, "the header"));
    f->size[i] = big_endian(word);
  }
  return WF_OK;
}

/* Fills `data` up to n bytes in pieces that double: a header may claim any size, and only what is there takes memory. */
static wf_status read_pieces(idx_file *f, uint8_t **data, size_t n) {
  size_t room = n < FIRST_PIECE ? n : FIRST_PIECE, have = 0;
  *data = wf__malloc(room);
  while (*data) {
    int64_t got = wf__input_read(f->stream, *data + have, room - have);
    if (got < 0) return wf__self.pending;
    have += (size_t)got;
    WF__CHECK(have == room, WF_IO, "%s: ends after %zu of %zu bytes of the data", f->path, have, n);
    if (have == n) return WF_OK;
    room = room < n / 2 ? 2 * room : n;
    uint8_t *larger = wf__realloc(*data, room);
    if (!larger) return wf__self.pending;
    *data = larger;
  }
  return wf__self.pending;
}

/* The data behind the header, and nothing behind the data. A fresh array; NULL on error. */
static uint8_t *read_data(idx_file *f, size_t n) {
  uint8_t *data, surplus;
  wf_status status = read_pieces(f, &data, n);
  if (!status && wf__input_read(f->stream, &surplus, 1))
    status = wf__fail(WF_VALUE, "%s: there is more data than its header says (%zu bytes)", f->path, n);
  if (!status) return data;
  wf__release(data);
  return NULL;
}

static wf_status check_labels(const idx_file *f, const uint8_t *labels, int64_t n, int64_t classes) {
  for (int64_t i = 0; i < n; i++)
    WF__CHECK(labels[i] < classes, WF_VALUE, "%s: label %d of sample %lld is out of range for %lld classes", f->path,
              labels[i], (long long)i, (long long)classes);
  return WF_OK;
}

static wf_status read_images(idx_file *f, images *set) {
  f->stream = wf__input_open(f->path, NULL, NULL);
  if (!f->stream) return wf__self.pending;
  WF__TRY(read_header(f, 3));
  size_t bytes;
  set->image_bytes = (size_t)f->size[1] * (size_t)f->size[2]; /* each below 2^32 */
  WF__CHECK(!__builtin_mul_overflow(set->image_bytes, (size_t)f->size[0], &bytes) && bytes <= INT64_MAX, WF_VALUE,
            "%s: %lld images of %lld x %lld are too many", f->path, (long long)f->size[0], (long long)f->size[1],
            (long long)f->size[2]);
  set->pixels = read_data(f, bytes);
  return set->pixels ? WF_OK : wf__self.pending;
}

static wf_status read_labels(idx_file *f, images *set, const idx_file *of, int64_t classes) {
  f->stream = wf__input_open(f->path, NULL, NULL);
  if (!f->stream) return wf__self.pending;
  WF__TRY(read_header(f, 1));
  WF__CHECK(f->size[0] == of->size[0], WF_VALUE, "%s holds %lld images, but %s holds %lld labels", of->path,
            (long long)of->size[0], f->path, (long long)f->size[0]);
  set->labels = read_data(f, (size_t)f->size[0]);
  return set->labels ? check_labels(f, set->labels, f->size[0], classes) : wf__self.pending;
}

static wf_status fetch(void *context, int64_t index, void *const *field) {
  const images *set = context;
  memcpy(field[0], set->pixels + (size_t)index * set->image_bytes, set->image_bytes);
  *(int64_t *)field[1] = set->labels[index];
  return WF_OK;
}

static void release(void *context) {
  images *set = context;
  if (!set) return;
  wf__release(set->pixels);
  wf__release(set->labels);
  wf__release(set);
}

static wf_dataset *dataset_of(images *set, const idx_file *f) {
  static const wf_dataset_ops ops = {fetch, release};
  const wf_field fields[2] = {{.name = "image", .dtype = WF_U8, .ndim = 3, .size = {1, f->size[1], f->size[2]}},
                              {.name = "label", .dtype = WF_I64}};
  return wf_dataset_new(&ops, set, f->size[0], fields, 2);
}

wf_dataset *wf_dataset_idx(const char *image_path, const char *label_path, int64_t classes) {
  WF__OP("dataset_idx", NULL);
  if (!image_path || !label_path || classes < 1)
    return wf__fail(WF_VALUE, "an IDX dataset needs two paths and at least 1 class"), NULL;
  images *set = wf__calloc(1, sizeof *set);
  idx_file image_file = {.path = image_path}, label_file = {.path = label_path};
  wf_status status = set ? read_images(&image_file, set) : wf__self.pending;
  if (!status) status = read_labels(&label_file, set, &image_file, classes);
  wf__input_close(image_file.stream);
  wf__input_close(label_file.stream);
  wf_dataset *d = status ? NULL : dataset_of(set, &image_file);
  if (!d) release(set);
  return d;
}

/* ---- Fashion-MNIST ---------------------------------------------------------------------------------------------------------- */

/* "DIR/NAME.gz", or "DIR/NAME" when only that is there. */
static void file_path(char path[4096], const char *dir, const char *name) {
  snprintf(path, 4096, "%s/%s.gz", dir, name);
  FILE *there = fopen(path, "rb");
  if (there) {
    fclose(there);
    return;
  }
  char plain[4096];
  snprintf(plain, sizeof plain, "%s/%s", dir, name);
  if (!(there = fopen(plain, "rb"))) return;
  fclose(there);
  snprintf(path, 4096, "%s", plain);
}

wf_dataset *wf_dataset_fashion_mnist(const char *dir, bool train) {
  WF__OP("dataset_fashion_mnist", NULL);
  if (!dir) dir = PACKAGE_FOLDER;
  if (strlen(dir) > 3900) return wf__fail(WF_VALUE, "the folder's name is too long"), NULL;
  char image_path[4096], label_path[4096];
  file_path(image_path, dir, train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte");
  file_path(label_path, dir, train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte");
  wf_dataset *d = wf_dataset_idx(image_path, label_path, 10);
  if (!d && wf__self.pending == WF_IO)
    wf__hint("install the package dataset-fashion-mnist, or name the folder with the four files of Fashion-MNIST");
  return d;
}
