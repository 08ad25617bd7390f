/* The settings of the run, from the environment, and which CUDA runtime the program was linked with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dryrun/stand_in.h"

static wf__dry_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int64_t number(const char *name, int64_t otherwise) {
  const char *text = getenv(name);
  char *end;
  long long value = text ? strtoll(text, &end, 10) : 0;
  return text && *text && !*end && value >= 0 ? value : otherwise;
}

/* A library that is loaded: looked for by the beginning of its file's name. */
typedef struct search {
  const char *beginning;
  char path[PATH_MAX];
} search;

static int is_wanted(struct dl_phdr_info *info, size_t size, void *data) {
  search *s = data;
  const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (!name || strncmp(name + 1, s->beginning, strlen(s->beginning))) return 0;
  snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
  return 1;
}

__thread int wf__dry_inside __attribute__((tls_model("initial-exec")));

void *wf__dry_real(const char *library, const char *name) {
  search s = {.beginning = library};
  void *handle = dl_iterate_phdr(is_wanted, &s) ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void *found = handle ? dlsym(handle, name) : NULL;
  if (handle) dlclose(handle); /* it stays loaded: the program has it */
  return found;
}

static int runtime_version(void) {
  int version = 0;
  int (*ask)(int *) = (int (*)(int *))wf__dry_real("libcudart.so.", "cudaRuntimeGetVersion");
  if (ask) ask(&version);
  return version ? version : 13000;
}

/* The number that an entry of CUDA_VISIBLE_DEVICES begins with, as strtoul reads it; -1: with none. */
static long number_of(const char *entry) {
  char *end;
  long value = strtol(entry, &end, 10);
  return end > entry ? value : -1;
}

/* The one device whose UUID begins so; -1: none, or several. */
static long device_with(const char *uuid, size_t length, int devices) {
  char whole[64];
  long found = -1;
  for (int i = 0; i < devices; i++) {
    snprintf(whole, sizeof whole, WF__DRY_UUID, i);
    if (strncmp(whole, uuid, length)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* As CUDA reads CUDA_VISIBLE_DEVICES: numbers or UUIDs, which name the devices in the order in which the program sees them. The list ends at the first
 * that is no device's; one that names a device twice has none. Returns how many, and which in `seen`. */
static int visible(int devices, int seen[DRY_DEVICES]) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  int count = 0;
  for (; !at && count < devices; count++) seen[count] = count;
  bool by_uuid = at && !strncmp(at, "GPU-", 4);
  for (; at; at = *at ? at + 1 : NULL) {
    size_t length = strcspn(at, ",");
    long device = !by_uuid                                ? number_of(at)
                  : length > 4 && !strncmp(at, "GPU-", 4) ? device_with(at, length, devices)
                                                          : -1;
    if (device < 0 || device >= devices) break;
    for (int i = 0; i < count; i++)
      if (seen[i] == device) return 0;
    seen[count++] = (int)device;
    at += length;
  }
  return count;
}

int wf__dry_number(int device) { return wf__dry_settings_get()->numbers[device]; }

int wf__dry_device_of(int number) {
  const wf__dry_settings *s = wf__dry_settings_get();
  for (int i = 0; i < s->devices; i++)
    if (s->numbers[i] == number) return i;
  return -1;
}

DRY_API int weft_dry_visible(void) { return wf__dry_settings_get()->devices; }

DRY_API int weft_dry_devices(void) {
  int64_t devices = number("WEFT_DRY_GPUS", 1);
  if (!devices) devices = 1;
  return devices > DRY_DEVICES ? DRY_DEVICES : (int)devices;
}

/* A GPU that was described by a file: what it says of itself, as "16=132,75=9". */
static void read_description(wf__dry_settings *s) {
  const char *name = getenv("WEFT_DRY_GPU"), *title = getenv("WEFT_DRY_TITLE"), *at = getenv("WEFT_DRY_ATTRIBUTES");
  if (!name || !title || !at || !*at) return;
  while (*at) {
    char *end;
    long attribute = strtol(at, &end, 10), value = *end == '=' ? strtol(end + 1, &end, 10) : 0;
    if (attribute > 0 && attribute < DRY_ATTRIBUTES) {
      s->attributes[attribute] = (int)value;
      s->described[attribute] = true;
    }
    at = end + strcspn(end, ",");
    at += *at == ',';
  }
  s->gpu = (wf_gpu){.name = name,
                    .title = title,
                    .major = s->attributes[75],
                    .minor = s->attributes[76],
                    .multiprocessors = s->attributes[16],
                    .l2_bytes = s->attributes[38],
                    .source = ""};
}

static void read_environment(void) {
  const wf_gpu *gpu = wf_gpu_find(getenv("WEFT_DRY_GPU"));
  if (!gpu) gpu = wf_gpu_find("h100");
  const char *folder = getenv("WEFT_DRY_DIR"), *events = getenv("WEFT_DRY_EVENTS");
  settings = (wf__dry_settings){
      .gpu = *gpu,
      .memory = number("WEFT_DRY_MEM", gpu->memory_bytes),
      .folder = folder && *folder ? folder : NULL,
      .lazy_events = events && !strcmp(events, "lazy"),
  };
  read_description(&settings);
  settings.gpu.memory_bytes = settings.memory;
  settings.gpu.context_bytes = number("WEFT_DRY_CONTEXT", gpu->context_bytes);
  settings.devices = visible(weft_dry_devices(), settings.numbers);
}

/* The management library stands beside this one. */
static void load_nvml(void) {
  char path[PATH_MAX], own[PATH_MAX];
  Dl_info self;
  if (!dladdr((void *)(uintptr_t)load_nvml, &self) || !self.dli_fname || !realpath(self.dli_fname, own)) return;
  int folder = (int)(strrchr(own, '/') + 1 - own);
  if (snprintf(path, sizeof path, "%.*slibweft-dry-nvml.so", folder, own) < (int)sizeof path)
    dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

__attribute__((constructor)) static void begin(void) { load_nvml(); }

/* Not before the program asks for something: libraries are loaded after this one. */
int wf__dry_runtime(void) {
  static atomic_int version;
  int known = atomic_load(&version);
  if (!known) atomic_store(&version, known = runtime_version());
  return known;
}

void wf__dry_settings_forget(void) { once = (pthread_once_t)PTHREAD_ONCE_INIT; }

const wf__dry_settings *wf__dry_settings_get(void) {
  pthread_once(&once, read_environment);
  return &settings;
}
