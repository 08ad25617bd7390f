/* Kernels: those that a program registers keep their names; a launch does nothing but count one by its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/stand_in.h"

/* A kernel; cudaKernel_t, CUfunction and CUkernel are pointers to one. */
typedef struct kernel {
  const void *host;            /* the function of the host that stands for it; NULL: none */
  const void *image;           /* the module that has it, as registered; NULL: not known */
  const char *symbol;          /* as compiled: the program's text */
  _Atomic(const char *) shown; /* as people read it; made at the first launch */
  _Atomic(const char *) built; /* what the module has code for; made at the first launch without */
  int shared_most;             /* dynamic shared memory that was asked for */
  atomic_int result;           /* a wf__dry_result; 0 until a launch asks */
  atomic_int code; /* whether the module has code for the device: 0 until a launch asks, 1 it has, -1 it hasn't */
} kernel;

static struct {
  kernel **slots; /* by address of the host's function */
  size_t room, count;
} registry;

static size_t home(const void *host, size_t room) {
  return (size_t)(((uintptr_t)host >> 3) * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
}

static kernel *find(const void *host) {
  if (!registry.room) return NULL;
  for (size_t i = home(host, registry.room); registry.slots[i]; i = (i + 1) & (registry.room - 1))
    if (registry.slots[i]->host == host) return registry.slots[i];
  return NULL;
}

static bool make_room(void) {
  if ((registry.count + 1) * 2 < registry.room) return true;
  size_t room = registry.room ? registry.room * 2 : 4096;
  kernel **slots = wf__calloc(room, sizeof *slots);
  if (!slots) return wf_error_take(), false;
  for (size_t i = 0; i < registry.room; i++) {
    if (!registry.slots[i]) continue;
    size_t at = home(registry.slots[i]->host, room);
    while (slots[at]) at = (at + 1) & (room - 1);
    slots[at] = registry.slots[i];
  }
  wf__release(registry.slots);
  registry.slots = slots;
  registry.room = room;
  return true;
}

static kernel *add(const void *host, const char *symbol, const void *image) {
  kernel *k = make_room() ? wf__dry_handle_new(DRY_KERNEL, sizeof *k) : NULL;
  if (!k) return NULL;
  k->host = host;
  k->image = image;
  k->symbol = symbol;
  size_t at = home(host, registry.room);
  while (registry.slots[at]) at = (at + 1) & (registry.room - 1);
  registry.slots[at] = k;
  registry.count++;
  return k;
}

static kernel *kernel_of(const void *function) {
  kernel *k = wf__dry_handle(function, DRY_KERNEL);
  if (k) return k;
  wf__dry_lock(DRY_LOCK_KERNELS);
  k = find(function);
  wf__dry_unlock(DRY_LOCK_KERNELS);
  return k;
}

void *wf__dry_kernel_named(const char *name) {
  kernel *k = wf__dry_handle_new(DRY_KERNEL, sizeof *k);
  if (!k) return NULL;
  k->symbol = wf__strdup(name);
  if (!k->symbol) wf_error_take();
  return k;
}

/* The C++ library of the program turns symbols into names; without one they stay as they are. No lock may be held: looking it up takes the
 * loader's, which a thread that registers kernels while a library is loaded holds. */
static const char *readable(const char *symbol) {
  char *(*demangle)(const char *, char *, size_t *, int *) =
      (char *(*)(const char *, char *, size_t *, int *))dlsym(RTLD_DEFAULT, "__cxa_demangle");
  int status = 0;
  char *name = demangle && !strncmp(symbol, "_Z", 2) ? demangle(symbol, NULL, NULL, &status) : NULL;
  return name ? name : symbol;
}

/* The text that stays. If another thread was first, the one made here is left unused: that happens once a kernel at most. */
static const char *kept(_Atomic(const char *) *place, const char *made) {
  const char *there = NULL;
  return atomic_compare_exchange_strong(place, &there, made) ? made : there;
}

/* As people read it. */
static const char *name_of(kernel *k) {
  if (!k || !k->symbol) return "a kernel that wasn't registered";
  const char *shown = atomic_load(&k->shown);
  return shown ? shown : kept(&k->shown, readable(k->symbol));
}

static int device_version(void) {
  const wf_gpu *gpu = &wf__dry_settings_get()->gpu;
  return gpu->major * 10 + gpu->minor;
}

static bool has_code(kernel *k) {
  int known = atomic_load(&k->code);
  if (known) return known > 0;
  wf__dry_code code = wf__dry_code_for(k->image, device_version());
  known = !code.oldest || code.binary || code.ptx ? 1 : -1;
  atomic_store(&k->code, known);
  return known > 0;
}

static const char *built_for(kernel *k) {
  char architectures[256];
  const char *built = atomic_load(&k->built);
  if (built) return built;
  wf__dry_code_list(k->image, architectures, sizeof architectures);
  char *made = wf__strdup(architectures);
  if (made) return kept(&k->built, made);
  return wf_error_take(), "";
}

/* A launch without code is counted all the same, and beside it what code there is: what the program would take is worth knowing. */
static void check_code(kernel *k, int device) {
  if (k && !has_code(k)) wf__dry_count(&(wf__dry_happening){.kind = "uncoded", .what = built_for(k), .device = device});
}

/* By the names that PyTorch gives the reduction of all() (with the length, as others end in the same), and CUB those that nonzero, masks, unique, NMS and repeat_interleave are made of. Sums
 * of values are other kernels. */
static wf__dry_result result_of(kernel *k) {
  static const struct {
    const char *name;
    wf__dry_result result;
  } known[] = {
      {"15and_kernel_cuda", DRY_RESULT_ALL},        {"DeviceReduceSingleTileKernel", DRY_RESULT_SIZE},
      {"DeviceSelectSweepKernel", DRY_RESULT_SIZE}, {"DeviceScanKernel", DRY_RESULT_SIZE},
      {"DeviceUniqueByKey", DRY_RESULT_SIZE},       {"DeviceReduceByKey", DRY_RESULT_SIZE},
  };
  if (!k || !k->symbol) return DRY_RESULT_VALUE;
  int result = atomic_load(&k->result);
  if (result) return (wf__dry_result)result;
  result = DRY_RESULT_VALUE;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(k->symbol, known[i].name)) result = (int)known[i].result;
  atomic_store(&k->result, result);
  return (wf__dry_result)result;
}

static __thread wf__dry_result last __attribute__((tls_model("initial-exec"))); /* of this thread's kernels */

wf__dry_result wf__dry_last_result(void) { return last; }

void wf__dry_launch(const void *function, void *stream) {
  kernel *k = kernel_of(function);
  last = result_of(k);
  const wf__dry_stream *on = wf__dry_stream_of(stream);
  int device = on ? wf__dry_stream_device(on) : wf__dry_current_device();
  wf__dry_contents_forget();
  check_code(k, device);
  wf__dry_work(stream, (wf__dry_happening){.kind = "launch", .what = name_of(k), .device = device});
}

/* ---- registration, by code that the compiler generates ---- */

DRY_API void **__cudaRegisterFatBinary(void *image) {
  void **handle = wf__dry_handle_new(DRY_LIBRARY, sizeof *handle);
  if (handle) *handle = image;
  return handle;
}
DRY_API void __cudaRegisterFatBinaryEnd(void **image) {}
DRY_API void __cudaUnregisterFatBinary(void **image) { wf__dry_handle_free(image); }
DRY_API void __cudaRegisterFunction(void **image, const char *host, char *device_function, const char *name) {
  wf__dry_lock(DRY_LOCK_KERNELS);
  if (!find(host)) add(host, name, image ? *image : NULL);
  wf__dry_unlock(DRY_LOCK_KERNELS);
}
DRY_API void __cudaRegisterVar(void **image) {}
DRY_API void __cudaRegisterManagedVar(void **image) {}
DRY_API char __cudaInitModule(void **image) { return 1; }

/* ---- launches ---- */

typedef struct dim3 {
  unsigned x, y, z;
} dim3;

typedef struct configuration {
  dim3 grid, block;
  size_t shared;
  void *stream;
} configuration;

static __thread configuration pushed __attribute__((tls_model("initial-exec")));

DRY_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  pushed = (configuration){grid, block, shared, stream};
  return 0;
}
DRY_API int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *stream = pushed.stream;
  return DRY_OK;
}

static int launch(const void *function, dim3 grid, dim3 block, void *stream) {
  enum { INVALID_CONFIGURATION = 9 };
  int code = wf__dry_use_device(wf__dry_current_device());
  if (code != DRY_OK) return code;
  if (!wf__dry_stream_of(stream)) return wf__dry_error(DRY_INVALID_HANDLE);
  uint64_t threads = (uint64_t)block.x * block.y * block.z;
  if (!threads || threads > 1024 || !grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535)
    return wf__dry_error(INVALID_CONFIGURATION);
  wf__dry_launch(function, stream);
  return DRY_OK;
}

DRY_API int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             void *stream) {
  return launch(function, grid, block, stream);
}
DRY_API int cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        void *stream) {
  return launch(function, grid, block, stream);
}
DRY_API int __cudaLaunchKernel(void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream) {
  return launch(function, grid, block, stream);
}
/* cudaLaunchConfig_t starts with these; CUlaunchConfig as well, with a 4-byte size of shared memory in the same word. */
DRY_API int cudaLaunchKernelExC(const configuration *how, const void *function, void **arguments) {
  return launch(function, how->grid, how->block, how->stream);
}
DRY_API int __cudaGetKernel(void **kernel_out, const void *function) {
  *kernel_out = kernel_of(function);
  if (!*kernel_out) *kernel_out = wf__dry_kernel_named("a kernel that wasn't registered");
  return *kernel_out ? DRY_OK : DRY_NO_MEMORY;
}
DRY_API int cudaGetKernel(void **kernel_out, const void *function) { return __cudaGetKernel(kernel_out, function); }
DRY_API int cudaGetFuncBySymbol(void **function_out, const void *function) {
  return __cudaGetKernel(function_out, function);
}

DRY_API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                           unsigned shared, void *stream, void **arguments, void **extra) {
  return launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, stream);
}
DRY_API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned shared, void *stream, void **arguments) {
  return launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, stream);
}
DRY_API int cuLaunchKernelEx(const configuration *how, void *function, void **arguments, void **extra) {
  return launch(function, how->grid, how->block, how->stream);
}

/* ---- attributes of kernels ---- */

enum { STATIC_LIMIT = 48 * 1024, MOST_SHARED = 8 /* the attribute, in both interfaces */ };

/* cudaFuncAttributes, up to what programs read. Registers aren't known without reading the image. */
typedef struct function_attributes {
  size_t shared, constant, local;
  int threads_most, registers, ptx, binary, cache, shared_most, carveout;
} function_attributes;

DRY_API int cudaFuncGetAttributes(function_attributes *attributes, const void *function) {
  const kernel *k = kernel_of(function);
  int version = device_version();
  wf__dry_code code = wf__dry_code_for(k ? k->image : NULL, version);
  /* Without code for the device they are the oldest's, so that programs go on; a launch says that they wouldn't. */
  int ptx = code.binary ? code.binary : code.ptx ? code.ptx : code.oldest ? code.oldest : version;
  int binary = code.binary ? code.binary : code.ptx || !code.oldest ? version : code.oldest;
  *attributes = (function_attributes){.threads_most = 1024,
                                      .registers = 32,
                                      .ptx = ptx,
                                      .binary = binary,
                                      .shared_most = k && k->shared_most ? k->shared_most : STATIC_LIMIT,
                                      .carveout = -1};
  return DRY_OK;
}

static int set_attribute(const void *function, int attribute, int value) {
  kernel *k = kernel_of(function);
  if (k && attribute == MOST_SHARED) k->shared_most = value;
  return DRY_OK;
}
DRY_API int cudaFuncSetAttribute(const void *function, int attribute, int value) {
  return set_attribute(function, attribute, value);
}
DRY_API int cudaKernelSetAttributeForDevice(void *function, int attribute, int value, int device) {
  return set_attribute(function, attribute, value);
}
DRY_API int cuFuncSetAttribute(void *function, int attribute, int value) {
  return set_attribute(function, attribute, value);
}
DRY_API int cuKernelSetAttribute(int attribute, int value, void *function, int device) {
  return set_attribute(function, attribute, value);
}
DRY_API int cudaFuncSetCacheConfig(const void *function, int configuration) { return DRY_OK; }
DRY_API int cuFuncSetCacheConfig(void *function, int configuration) { return DRY_OK; }

DRY_API int cuFuncGetAttribute(int *value, int attribute, void *function) {
  function_attributes a;
  cudaFuncGetAttributes(&a, function);
  const int values[] = {a.threads_most, 0, 0, 0, a.registers, a.ptx, a.binary, 0, a.shared_most, a.carveout};
  *value = attribute >= 0 && attribute < 10 ? values[attribute] : 0;
  return DRY_OK;
}
DRY_API int cuKernelGetAttribute(int *value, int attribute, void *function, int device) {
  return cuFuncGetAttribute(value, attribute, function);
}
