/* What the parts of the stand-in driver share: settings, handles, error codes, and how something that happened is counted.
 *
 * The stand-in is a library that is loaded before all others and defines the entry points of the CUDA driver, the CUDA runtime and NVIDIA's
 * libraries. Nothing of NVIDIA's is needed to build it: what is used of their declarations (numbers, order of arguments) is written down
 * here or beside its use. */
#ifndef WF_DRYRUN_STAND_IN_H
#define WF_DRYRUN_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/dry.h>

#define DRY_API __attribute__((visibility("default")))

/* Of numbers that aren't negative; INT64_MAX where the result has no place. */
static inline int64_t wf__dry_times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
static inline int64_t wf__dry_plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* cudaError_t; CUresult has the same numbers where both have the error. */
enum {
  DRY_OK = 0,
  DRY_INVALID_VALUE = 1,
  DRY_NO_MEMORY = 2,
  DRY_INITIALIZATION = 3,
  DRY_INVALID_FUNCTION = 98,
  DRY_NO_DEVICE = 100,
  DRY_INVALID_DEVICE = 101,
  DRY_INVALID_CONTEXT = 201,
  DRY_PEER_ALREADY_ENABLED = 704,
  DRY_PEER_NOT_ENABLED = 705,
  DRY_INVALID_HANDLE = 400,
  DRY_NOT_FOUND = 500,
  DRY_NOT_READY = 600,
  DRY_ALREADY_REGISTERED = 712,
  DRY_NOT_REGISTERED = 713,
  DRY_NOT_SUPPORTED = 801,
  DRY_CAPTURE_UNSUPPORTED = 900,
  DRY_CAPTURE_INVALID = 901,
  DRY_CAPTURE_UNMATCHED = 903,
};

#define DRY_DEVICES 16 /* at most */

/* ---- settings.c ---- */

enum { DRY_ATTRIBUTES = 160 }; /* as CUdevice_attribute numbers them, from 1 on */

typedef struct wf__dry_settings {
  wf_gpu gpu;
  int attributes[DRY_ATTRIBUTES]; /* of a GPU that was described by a file */
  bool described[DRY_ATTRIBUTES];
  int devices;              /* that the program sees */
  int numbers[DRY_DEVICES]; /* of these among those of the machine */
  int64_t memory;           /* of each device, bytes, the context's included */
  const char *folder;       /* where the events go; NULL: nowhere */
  bool lazy_events;         /* events finish at a synchronisation only */
} wf__dry_settings;

const wf__dry_settings *wf__dry_settings_get(void);
/* In a child that hasn't begun with CUDA yet: it may still choose its devices. */
void wf__dry_settings_forget(void);
/* GPUs of the machine, those that the program doesn't see included: the management library's count. */
DRY_API int weft_dry_devices(void);
/* Those that the program sees. */
DRY_API int weft_dry_visible(void);
/* A device's number on the machine, and the other way round; -1: the program doesn't see that one. */
int wf__dry_number(int device);
int wf__dry_device_of(int number);
/* The UUID of the one with that number, as text and as bytes. */
#define WF__DRY_UUID "GPU-77656674-2064-7279-2072-756e202e2e%02x"
#define WF__DRY_UUID_BYTES "weft dry run ..."
/* 13020: CUDA 13.2, the version of the runtime that the program was linked with. */
int wf__dry_runtime(void);
/* An entry point of one of NVIDIA's own libraries, for calls that need no GPU: of the loaded library whose file's name begins so. NULL: none. */
void *wf__dry_real(const char *library, const char *name);
/* How many calls of NVIDIA's own libraries this thread is in that the stand-in makes: what they ask the driver for is none of the program's, and no limit
 * of the estimate. */
extern __thread int wf__dry_inside __attribute__((tls_model("initial-exec")));

/* ---- imports.c ---- */

/* Notes, once, what the loaded PyTorch imports and the stand-in hasn't. */
void wf__dry_check_imports(void);

/* ---- forks.c ---- */

/* Before anything that needs the device's context; other than DRY_OK it is the call's answer: a forked child's parent has one. */
int wf__dry_use_device(int device);

/* ---- cuda_errors.c ---- */

/* Keeps an error as this thread's last one, and returns it. */
int wf__dry_error(int code);

/* ---- handles.c: what a program holds of streams, events, graphs ---- */

typedef enum wf__dry_kind {
  DRY_STREAM = 1,
  DRY_EVENT,
  DRY_GRAPH,
  DRY_KERNEL,
  DRY_LIBRARY,
  DRY_PHYSICAL,
  DRY_COMM,
  DRY_PLAIN, /* of which nothing is known but that it was made */
} wf__dry_kind;

/* Zeroed memory that is known as a handle of that kind; NULL: the host is out of memory. */
void *wf__dry_handle_new(wf__dry_kind kind, size_t bytes);
/* The handle, or NULL when it is none of that kind. */
void *wf__dry_handle(const void *handle, wf__dry_kind kind);
void wf__dry_handle_free(void *handle);
/* A number that looks like a pointer, each time another, where nothing can be read. */
void *wf__dry_token(void);

/* ---- counts.c: what happened, added up by line and step ---- */

typedef struct wf__dry_happening {
  const char *
      kind; /* one of a few static strings: "copy", "fill", "sync", "malloc", "free", "launch", "library", "limit", "read", "uncoded" */
  const char *what;
  const char *why; /* of a limit; static */
  int64_t bytes;   /* added up; of limits the most counts */
  int device;
  bool blocking;
} wf__dry_happening;

void wf__dry_count(const wf__dry_happening *happening);
/* How many there were so far. */
uint64_t wf__dry_happenings(void);
/* Work space that a library asks for, so that the report can tell whose memory it is. */
void wf__dry_work_space(int64_t bytes);
/* Something that the estimate doesn't know: said in the report. `why` is static. */
void wf__dry_limit(const char *what, const char *why);
/* One whose size can be told: the report has the largest. */
void wf__dry_limit_up_to(const char *what, const char *why, int64_t bytes);
/* Writes the file of events now, with one more (NULL: none). `ended`: "running", "exit", "signal 11". May be called in a handler of signals: it
 * waits for no lock longer than half a second. */
void wf__dry_write(const char *ended, const wf__dry_happening *last);
/* False in a child that runs in its parent's memory. */
bool wf__dry_counts_are_ours(void);
DRY_API void weft_dry_step(void);
DRY_API int weft_dry_steps(void);

/* ---- callers.c ---- */

/* Whether one of the next callers, so many of them, is a function with one of these in its (mangled) name; the last is NULL. Takes microseconds: not
 * for what is called all the time. */
bool wf__dry_called_by(const char *const *names, int near);

/* ---- python_line.c ---- */

typedef struct wf__dry_line {
  char file[4096], function[512]; /* "" where no Python runs */
  int line;
} wf__dry_line;

/* The line of the program that is running on this thread: a number, 0 where there is none. Keeps no reference to any of Python's objects. */
uint32_t wf__dry_python_line(void);
/* Of a number; the caller holds the lock of lines. */
void wf__dry_line_of(uint32_t number, wf__dry_line *line);

/* ---- space.c: address space of devices, pinned memory ---- */

typedef enum wf__dry_place { DRY_UNKNOWN, DRY_PINNED, DRY_DEVICE, DRY_MANAGED } wf__dry_place;

typedef struct wf__dry_range {
  uintptr_t start;
  size_t bytes;
  int device;
  wf__dry_place place;
  bool registered; /* the program's own memory, pinned afterwards */
} wf__dry_range;

/* The range that an address lies in; false: it is memory that the driver doesn't know. */
bool wf__dry_range_of(const void *address, wf__dry_range *range);
/* True for any address in the space of devices, allocated or not: nobody may touch it. */
bool wf__dry_is_device(const void *address);

/* Device memory. DRY_NO_MEMORY when the device has not that much left. */
int wf__dry_device_get(int device, size_t bytes, void **address);
int wf__dry_device_give(void *address);
/* Bytes of a device in use by this process, without the context. */
int64_t wf__dry_device_used(int device);
/* Physical memory without an address: of cuMemCreate. */
int wf__dry_physical_get(int device, size_t bytes);
void wf__dry_physical_give(int device, size_t bytes);
/* Addresses without memory. NULL: none left. */
void *wf__dry_reserve(size_t bytes);
void wf__dry_unreserve(void *address);
/* Host memory of the driver's. */
int wf__dry_host_get(size_t bytes, wf__dry_place place, int device, void **address);
int wf__dry_host_give(void *address);
int wf__dry_host_register(void *address, size_t bytes);
int wf__dry_host_unregister(void *address);

/* ---- device_memory.c ---- */

/* What the device with that number has and what is left of it, in bytes; also for the management library, which is one of its own. */
DRY_API void weft_dry_memory(int number, size_t *left, size_t *total);

/* ---- contents.c: the few bytes of device memory that are known ---- */

enum { DRY_CONTENTS_MOST = 4 << 20 }; /* bytes that are kept of one upload */

/* Device memory holds these bytes now; NULL, or too many: it isn't known what it holds. */
void wf__dry_contents_put(const void *address, const void *data, size_t bytes);
/* False: it isn't known, `to` is as it was. */
bool wf__dry_contents_get(const void *address, void *to, size_t bytes);
/* From device to device. */
void wf__dry_contents_copy(const void *to, const void *from, size_t bytes);
/* Something ran that may have written anywhere. */
void wf__dry_contents_forget(void);
/* For the Python that watches: what is known from an address on, and how many bytes that are; what is there now, as above; whether this thread vouches
 * for all that it runs, so that nothing is forgotten. The last returns how often something ran since it was called before. */
DRY_API size_t weft_dry_known(const void *address, void *to, size_t bytes);
DRY_API void weft_dry_put(const void *address, const void *data, size_t bytes);
DRY_API long weft_dry_hold(int on);

/* ---- cuda_streams.c ---- */

typedef struct wf__dry_stream wf__dry_stream;
typedef struct wf__dry_graph wf__dry_graph;

/* The current device of this thread. */
int wf__dry_current_device(void);
int wf__dry_set_device(int device);
/* The stream behind a handle; NULL (and 1, 2) are the current device's own. NULL: it is no stream. */
wf__dry_stream *wf__dry_stream_of(void *handle);
int wf__dry_stream_device(const wf__dry_stream *stream);
/* The graph that is being captured on the stream; NULL: none. */
wf__dry_graph *wf__dry_capturing(const wf__dry_stream *stream);
/* Everything that was given to the stream is done. */
void wf__dry_stream_done(wf__dry_stream *stream);

/* ---- cuda_graphs.c ---- */

/* Counts it now, or notes it in the graph that is being captured on the stream, to be counted at each launch. */
void wf__dry_work(void *stream, wf__dry_happening happening);

/* ---- kernels.c ---- */

/* A kernel that belongs to no function of the host. */
void *wf__dry_kernel_named(const char *name);
void wf__dry_launch(const void *function, void *stream);
/* What a kernel computes, as far as it matters to who reads it. */
typedef enum wf__dry_result {
  DRY_RESULT_VALUE = 1,
  DRY_RESULT_SIZE, /* it counts what there is: nonzero, a mask, unique */
  DRY_RESULT_ALL   /* whether all are true */
} wf__dry_result;
/* Of this thread's last kernel; 0: there was none. */
wf__dry_result wf__dry_last_result(void);

/* ---- fat_binary.c ---- */

/* The architectures, as 86 for 8.6, of the machine code and of the PTX that the driver would take; 0: there is none. */
typedef struct wf__dry_code {
  int binary, ptx;
  int oldest; /* of all that the module has; 0: it isn't known what it has */
} wf__dry_code;

/* Of a module as it was registered, for a device as 86. NULL: nothing is known of it. */
wf__dry_code wf__dry_code_for(const void *image, int device);
/* All that it has, as PyTorch writes that: "sm_80 sm_90 compute_90", the last of PTX. */
void wf__dry_code_list(const void *image, char *text, size_t size);

/* ---- device_calls.c ---- */

/* The driver takes its own part of a device's memory with the first call that works there. */
void wf__dry_make_context(int device);
bool wf__dry_has_context(int device);

/* ---- attributes.c ---- */

/* What an attribute of the device is; false: it isn't known. Numbers as in cudaDeviceAttr and CUdevice_attribute. */
bool wf__dry_attribute(int attribute, int device, int *value);
/* Blocks of a kernel that fit on a multiprocessor at once. */
int wf__dry_occupancy(int threads, size_t shared_bytes);

/* ---- entries.c ---- */

typedef struct wf__dry_entry {
  const char *library, *name, *results;
} wf__dry_entry;

#define DRY_SLOTS 24
/* Answers a call of an entry point that is only known by name: writes its results as zeros or new handles, and counts it. */
long wf__dry_answer(const wf__dry_entry *entry, const long slots[DRY_SLOTS]);
/* Counts a call of a library's entry point. */
void wf__dry_called(const char *name);

#endif
