/* cuDNN's description of a device is a JSON object of CUDA's attributes, which cudnnBackendGetAttribute gives on a machine that has the device
 * (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, since 9.8). Here it is written from the attributes that the stand-in gives the program, so it needs no
 * device. A later release that asks for more refuses it: then the work spaces aren't counted, and the report says so. */
#include <pthread.h>
#include <string.h>
#include "dryrun/cudnn_library.h"
#include "dryrun/stand_in.h"
#include "format/json_writer.h"

/* Its names, and cudaDeviceAttr. */
static const struct {
  const char *name;
  int attribute;
} attributes[] = {
    {"regsPerBlock", 12},
    {"multiProcessorCount", 16},
    {"warpSize", 10},
    {"maxSharedMemoryPerBlock", 8},
    {"maxSharedMemoryPerBlockOptin", 97},
    {"reservedSharedMemoryPerBlock", 111},
    {"maxRegistersPerSM", 82},
    {"maxCtasPerSM", 106},
    {"maxThreadsPerBlock", 1},
    {"maxThreadsPerSM", 39},
    {"pciDeviceId", 34},
    {"isTccDriver", 35},
    {"supportCoopLaunch", 95},
    {"smClockRateKHz", 13},
    {"memClockRateKHz", 36},
    {"l2CacheSize", 38},
};

static char *text; /* NULL: no memory */

static int attribute(int number) {
  int value = 0;
  wf__dry_attribute(number, 0, &value);
  return value;
}

static void put_three(wf__json *json, const char *key, int first) {
  wf__json_key(json, key);
  wf__json_array(json);
  for (int i = 0; i < 3; i++) wf__json_int(json, attribute(first + i));
  wf__json_array_end(json);
}

static void write_text(void) {
  const wf__dry_settings *s = wf__dry_settings_get();
  wf__text out = {0};
  wf__json json;
  wf__json_begin(&json, &out, NULL, 0);
  wf__json_object(&json);
  put_three(&json, "maxGridSize", 5);
  put_three(&json, "maxBlockSize", 2);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    wf__json_member_int(&json, attributes[i].name, attribute(attributes[i].attribute));
  wf__json_member_int(&json, "smCountOrigin", 0);
  wf__json_member_int(&json, "oversizedSharedMemoryPerBlock", 0);
  wf__json_member_int(&json, "cudaDeviceId", 0);
  wf__json_member_int(&json, "totalGlobalMem", s->memory);
  wf__json_member_int(&json, "deviceVer", s->gpu.major * 100 + s->gpu.minor * 10);
  wf__json_member_int(&json, "driverVer", wf__dry_runtime());
  wf__json_member_string(&json, "deviceName", s->gpu.title);
  wf__json_object_end(&json);
  if (!wf__json_end(&json)) text = wf__text_take(&out);
  wf__text_release(&out);
  if (!text) wf_error_take();
}

static pthread_once_t text_once = PTHREAD_ONCE_INIT, library_once = PTHREAD_ONCE_INIT;

const char *wf__cudnn_device_text(void) {
  pthread_once(&text_once, write_text);
  return text;
}

static wf__cudnn_library library;

static void *entry(const char *name) { return wf__dry_real("libcudnn.so.", name); }

static bool has_device_descriptions(void) {
  enum { SINCE = 90800 };
  size_t (*version)(void) = (size_t(*)(void))entry("cudnnGetVersion");
  return version && version() >= SINCE;
}

static void find_library(void) {
  enum { DEVICE_DESCRIPTOR = 38, DEVICE_TEXT = 2702 };
  if (!has_device_descriptions()) return;
  wf__cudnn_library found = {
      .create = (int (*)(int, void **))entry("cudnnBackendCreateDescriptor"),
      .destroy = (int (*)(void *))entry("cudnnBackendDestroyDescriptor"),
      .set = (int (*)(void *, int, int, int64_t, const void *))entry("cudnnBackendSetAttribute"),
      .get = (int (*)(void *, int, int, int64_t, int64_t *, void *))entry("cudnnBackendGetAttribute"),
      .finalize = (int (*)(void *))entry("cudnnBackendFinalize"),
  };
  if (!found.create || !found.destroy || !found.set || !found.get || !found.finalize) return;
  const char *device = wf__cudnn_device_text();
  if (!device) return;
  wf__dry_inside++;
  if (found.create(DEVICE_DESCRIPTOR, &found.device) != DRY_OK) found.device = NULL;
  else if (found.set(found.device, DEVICE_TEXT, CUDNN_CHAR, (int64_t)strlen(device) + 1, device) == DRY_OK &&
           found.finalize(found.device) == DRY_OK)
    library = found;
  else found.destroy(found.device);
  wf__dry_inside--;
}

const wf__cudnn_library *wf__cudnn_library_get(void) {
  pthread_once(&library_once, find_library);
  return library.device ? &library : NULL;
}
