/* weft dry-run --capture: the GPU of this machine as its driver describes it. The driver and its management library are opened by their names at
 * that time, so that the command runs where there are none. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dry_gpu_file.h"

/* What is asked of the two, under the names that they have in NVIDIA's headers; CUdevice is an int, a CUcontext and an nvmlDevice_t pointers. */
typedef struct memory_info {
  unsigned long long total, free, used;
} memory_info;

typedef struct driver {
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int *version);
  int (*cuDeviceGetCount)(int *count);
  int (*cuDeviceGet)(int *device, int ordinal);
  int (*cuDeviceGetName)(char *name, int bytes, int device);
  int (*cuDeviceTotalMem_v2)(size_t *bytes, int device);
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
  int (*cuDeviceGetPCIBusId)(char *text, int bytes, int device);
  int (*cuDevicePrimaryCtxRetain)(void **context, int device);
  int (*cuDevicePrimaryCtxRelease_v2)(int device);
  int (*cuGetErrorString)(int code, const char **text);
} driver;

typedef struct management {
  int (*nvmlInit_v2)(void);
  int (*nvmlShutdown)(void);
  const char *(*nvmlErrorString)(int code);
  int (*nvmlSystemGetDriverVersion)(char *text, unsigned bytes);
  int (*nvmlDeviceGetHandleByPciBusId_v2)(const char *text, void **device);
  int (*nvmlDeviceGetMemoryInfo)(void *device, memory_info *info);
} management;

/* ---- the libraries ---------------------------------------------------------------------------------------------------- */

/* Entry points in the order of the struct that they go to; false after saying which one there isn't. */
static bool load(const char *library, const char *const *names, size_t count, void *to) {
  void *handle = dlopen(library, RTLD_NOW);
  if (!handle) {
    misuse(
        "dry-run",
        "there is no driver of NVIDIA's: %s. --capture describes the GPU of the machine that it runs on; copy the file that it "
        "writes there, or take --mem SIZE",
        dlerror());
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym(handle, names[i]);
    if (!found) {
      misuse("dry-run", "%s has no %s: this driver is too old", library, names[i]);
      return false;
    }
    memcpy((char *)to + i * sizeof found, &found, sizeof found);
  }
  return true;
}

static bool load_driver(driver *d) {
  static const char *const names[] = {"cuInit",
                                      "cuDriverGetVersion",
                                      "cuDeviceGetCount",
                                      "cuDeviceGet",
                                      "cuDeviceGetName",
                                      "cuDeviceTotalMem_v2",
                                      "cuDeviceGetAttribute",
                                      "cuDeviceGetPCIBusId",
                                      "cuDevicePrimaryCtxRetain",
                                      "cuDevicePrimaryCtxRelease_v2",
                                      "cuGetErrorString"};
  _Static_assert(sizeof names / sizeof *names == sizeof(driver) / sizeof(void *), "a name for each");
  return load("libcuda.so.1", names, sizeof names / sizeof *names, d);
}

static bool load_management(management *m) {
  static const char *const names[] = {"nvmlInit_v2",
                                      "nvmlShutdown",
                                      "nvmlErrorString",
                                      "nvmlSystemGetDriverVersion",
                                      "nvmlDeviceGetHandleByPciBusId_v2",
                                      "nvmlDeviceGetMemoryInfo"};
  _Static_assert(sizeof names / sizeof *names == sizeof(management) / sizeof(void *), "a name for each");
  return load("libnvidia-ml.so.1", names, sizeof names / sizeof *names, m);
}

/* Whether a call of the driver's went well; says what it said otherwise. */
static bool went(const driver *d, const char *what, int code) {
  const char *text = NULL;
  if (!code) return true;
  if (d->cuGetErrorString(code, &text) || !text) text = "no such error";
  misuse("dry-run", "%s: the driver says \"%s\" (%d)", what, text, code);
  return false;
}
static bool managed(const management *m, const char *what, int code) {
  if (!code) return true;
  misuse("dry-run", "%s: the management library says \"%s\" (%d)", what, m->nvmlErrorString(code), code);
  return false;
}

/* ---- the GPU ---------------------------------------------------------------------------------------------------------- */

/* "NVIDIA GeForce RTX 4090" is rtx-4090: without what all are called, and as it can be typed. */
static void name_by_title(const char *title, char *name, size_t size) {
  static const char *const left_out[] = {"nvidia", "geforce", "tesla"};
  size_t n = 0;
  for (const char *at = title; *at;) {
    char word[64];
    size_t length = 0;
    for (; *at && !isalnum((unsigned char)*at); at++) continue;
    for (; isalnum((unsigned char)*at); at++)
      if (length + 1 < sizeof word) word[length++] = (char)tolower((unsigned char)*at);
    word[length] = 0;
    bool dull = !length;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) dull |= !strcmp(word, left_out[i]);
    if (!dull && n + length + 2 < size) n += (size_t)snprintf(name + n, size - n, "%s%s", n ? "-" : "", word);
  }
  if (!n) snprintf(name, size, "gpu");
}

/* Where the machine put it is no property of the GPU. */
static void read_attributes(const driver *d, int device, gpu_description *g) {
  for (int i = 1; i < GPU_ATTRIBUTES; i++)
    g->has[i] = i != GPU_PCI_BUS && i != GPU_PCI_DEVICE && i != GPU_PCI_DOMAIN &&
                !d->cuDeviceGetAttribute(&g->attributes[i], i, device);
}

/* What is in use of the GPU grows by a context when one is made. */
static bool measure_context(const driver *d, const management *m, int device, int64_t *bytes) {
  char place[64] = "";
  void *handle, *context;
  memory_info before, after;
  if (!went(d, "where the GPU is", d->cuDeviceGetPCIBusId(place, sizeof place, device)) ||
      !managed(m, place, m->nvmlDeviceGetHandleByPciBusId_v2(place, &handle)) ||
      !managed(m, "memory in use", m->nvmlDeviceGetMemoryInfo(handle, &before)) ||
      !went(d, "a context", d->cuDevicePrimaryCtxRetain(&context, device)))
    return false;
  bool read = managed(m, "memory in use", m->nvmlDeviceGetMemoryInfo(handle, &after));
  d->cuDevicePrimaryCtxRelease_v2(device);
  if (!read) return false;
  *bytes = (int64_t)(after.used - before.used);
  if (*bytes > 0 && *bytes < (int64_t)4 << 30) return true;
  misuse("dry-run",
         "memory in use changed by %lld bytes when a context was made: something else uses this GPU. Try again, or "
         "say what the driver takes: --context 520MiB",
         (long long)*bytes);
  return false;
}

static bool describe(const driver *d, const management *m, int64_t context, gpu_description *g) {
  int device, version = 0, count = 0;
  size_t total;
  time_t now = time(NULL);
  struct tm day;
  if (!went(d, "the driver can't be used", d->cuInit(0)) ||
      !went(d, "how many GPUs there are", d->cuDeviceGetCount(&count)))
    return false;
  if (!count) return misuse("dry-run", "the driver has no GPU: is one hidden by CUDA_VISIBLE_DEVICES?"), false;
  if (!went(d, "the first GPU", d->cuDeviceGet(&device, 0)) ||
      !went(d, "its name", d->cuDeviceGetName(g->title, sizeof g->title, device)) ||
      !went(d, "its memory", d->cuDeviceTotalMem_v2(&total, device)) ||
      !went(d, "the driver's version", d->cuDriverGetVersion(&version)) ||
      !managed(m, "the driver's version", m->nvmlSystemGetDriverVersion(g->driver, sizeof g->driver)))
    return false;
  read_attributes(d, device, g);
  g->gpu.memory_bytes = (int64_t)total;
  g->gpu.context_bytes = context;
  if (context < 0 && !measure_context(d, m, device, &g->gpu.context_bytes)) return false;
  snprintf(g->cuda, sizeof g->cuda, "%d.%d", version / 1000, version % 1000 / 10);
  strftime(g->date, sizeof g->date, "%Y-%m-%d", gmtime_r(&now, &day));
  name_by_title(g->title, g->name, sizeof g->name);
  gpu_description_settle(g);
  return true;
}

int dry_capture(const char *path, int64_t context) {
  driver d;
  management m;
  gpu_description g = {0};
  char memory[32], taken[32];
  if (!load_driver(&d) || !load_management(&m)) return EXIT_MISUSE;
  if (!managed(&m, "the management library can't be used", m.nvmlInit_v2())) return EXIT_MISUSE;
  bool good = describe(&d, &m, context, &g) && gpu_description_write(&g, path);
  m.nvmlShutdown();
  if (!good) return EXIT_MISUSE;
  if (path)
    fprintf(stderr,
            "weft dry-run: %s, %s, of which a context takes %s, is in %s: weft dry-run --gpu %s -- python train.py\n",
            g.title, human_bytes(g.gpu.memory_bytes, memory), human_bytes(g.gpu.context_bytes, taken), path, path);
  return EXIT_FINE;
}
