/* Weft: a tensor runtime with PyTorch's memory semantics.
 * This header: what everything else needs. Status and error record, export macros, number and shape arguments, version. */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WF_EXTERN_C_BEGIN extern "C" {
#define WF_EXTERN_C_END }
#else
#define WF_EXTERN_C_BEGIN
#define WF_EXTERN_C_END
#endif

#define WF_API __attribute__((visibility("default")))
#define WF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define WF_VERSION_MAJOR 0
#define WF_VERSION_MINOR 1
#define WF_VERSION_PATCH 0

/** Most dimensions that a tensor can have; more is an error. */
#define WF_MAX_DIMS 16
/** "Not given", where an integer argument may be left off (a slice's start or end, say). */
#define WF_NONE INT64_MIN

#ifdef __cplusplus
#include <initializer_list>
#endif

WF_EXTERN_C_BEGIN

/** What an action returns. The first five kinds are PyTorch's exception classes. Numbers are ABI: append only. */
typedef enum wf_status {
  WF_OK = 0,
  WF_RUNTIME = 1,         /* RuntimeError: operands that do not fit together, or a state that forbids the operation */
  WF_INDEX = 2,           /* IndexError: a dimension or an index out of range */
  WF_VALUE = 3,           /* ValueError: an argument out of its domain */
  WF_TYPE = 4,            /* TypeError: an argument of the wrong kind */
  WF_NOT_IMPLEMENTED = 5, /* NotImplementedError: no kernel for these dtypes or this backend */
  WF_NO_MEMORY = 6,       /* host or device memory is exhausted */
  WF_DEVICE = 7,          /* a device failed, or isn't there */
  WF_IO = 8,              /* a file couldn't be read or written */
  WF_CANCELLED = 9        /* stopped on request */
} wf_status;

/** The record of the first failure on this thread. All strings belong to the thread and hold until its next failure. */
typedef struct wf_error {
  wf_status status;
  const char *text;          /* PyTorch's text where it has one */
  const char *hint;          /* operands and what to do; "" when there is nothing to add */
  const char *operator_name; /* innermost operator, "" outside of one */
  const void *site;          /* return address of the outermost public call: the user's line; NULL when unknown */
} wf_error;

/** The pending error of this thread; status WF_OK when there is none. Leaves it pending. */
WF_API wf_error wf_error_peek(void);
/** Takes the pending error: operators work again afterwards. Strings hold until the next failure on this thread. */
WF_API wf_error wf_error_take(void);
/** "RuntimeError", "IndexError", …, as PyTorch calls the kind. Never NULL. */
WF_API const char *wf_status_name(wf_status status);

/** Severity of a log message. */
typedef enum wf_log_level { WF_LOG_INFO = 0, WF_LOG_WARNING = 1, WF_LOG_ERROR = 2 } wf_log_level;
/** Where warnings and sanitizer reports go. `text` holds for the call only; called from any thread. */
typedef void (*wf_log_fn)(wf_log_level level, const char *text, void *context);
/** Sets the log callback, NULL for silence. Without one, messages go to stderr only when WEFT_LOG=stderr is set. */
WF_API void wf_log_set(wf_log_fn fn, void *context);

/** Library version: "0.1.0". */
WF_API const char *wf_version(void);

/** What this build runs on here: strings are static. */
typedef struct wf_build_info {
  const char *cpu;            /* instruction set of the kernels: "ref", "base", "avx2", "avx512" */
  const char *blas_core;      /* CPU whose kernels OpenBLAS runs: "SkylakeX"; "none" without OpenBLAS */
  const char *blas_threading; /* "OpenMP" as it should be, "pthreads", "sequential", "none" */
  const char *dnnl;           /* oneDNN's version, "2.6.0"; "none" without it */
} wf_build_info;
/** Looks up what kernels and libraries are in use. */
WF_API wf_build_info wf_get_build_info(void);

/** Threads that kernels on host memory are split over at most: at least 1. While they keep each other waiting for cores that other programs
 * have, fewer are used. Set from OMP_NUM_THREADS or the cores given. A thread that calls
 * operators needs 512 KiB of stack, and so does each of OpenMP's. The systems' usual 8 MiB are plenty; a
 * thread that is made with less, or a smaller OMP_STACKSIZE, would overflow. */
WF_API int wf_num_threads(void);
/** Sets that number, for all threads; below 1 is an error (WF_VALUE). */
WF_API wf_status wf_set_num_threads(int n);

/* ---- devices by value: what is done with them is in weft/device.h --------------------------------------------------- */

/** Kind of a device. Numbers are ABI: append only. */
typedef enum wf_device_type { WF_DEVICE_CPU = 0, WF_DEVICE_SIM = 1, WF_DEVICE_CUDA = 2 } wf_device_type;
/** A device by value, as "cpu" or "sim:0". */
typedef struct wf_device {
  wf_device_type type;
  int index;
} wf_device;

static inline wf_device wf_cpu(void) {
  wf_device d;
  d.type = WF_DEVICE_CPU;
  d.index = 0;
  return d;
}
static inline wf_device wf_sim(int index) {
  wf_device d;
  d.type = WF_DEVICE_SIM;
  d.index = index;
  return d;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/** Kind of a number argument: it decides how the number takes part in type promotion. */
typedef enum wf_scalar_kind {
  WF_SCALAR_NONE = 0,
  WF_SCALAR_BOOL = 1,
  WF_SCALAR_INT = 2,
  WF_SCALAR_FLOAT = 3
} wf_scalar_kind;
/** A number argument with its kind. WF_SCALAR_NONE: not given. */
typedef struct wf_scalar {
  wf_scalar_kind kind;
  union {
    int64_t i; /* INT; BOOL holds 0 or 1 here */
    double f;  /* FLOAT */
  } as;
} wf_scalar;

static inline wf_scalar wf_int(int64_t v) {
  wf_scalar s;
  s.kind = WF_SCALAR_INT;
  s.as.i = v;
  return s;
}
static inline wf_scalar wf_float(double v) {
  wf_scalar s;
  s.kind = WF_SCALAR_FLOAT;
  s.as.f = v;
  return s;
}
static inline wf_scalar wf_bool(bool v) {
  wf_scalar s;
  s.kind = WF_SCALAR_BOOL;
  s.as.i = v ? 1 : 0;
  return s;
}
static inline wf_scalar wf_no_scalar(void) {
  wf_scalar s;
  s.kind = WF_SCALAR_NONE;
  s.as.i = 0;
  return s;
}

/* ---- sizes and strides ------------------------------------------------------------------------------------------ */

/** A list of integers by value: sizes, strides, dimensions. Borrowed for the call only. */
typedef struct wf_dims {
  const int64_t *at;
  int n;
} wf_dims;

static inline wf_dims wf_dims_of(const int64_t *at, int n) {
  wf_dims d;
  d.at = at;
  d.n = n;
  return d;
}
/** No dimensions: the shape of a number; as an argument, "all" or "not given". */
#define WF_SHAPE0 (wf_dims_of(NULL, 0))

WF_EXTERN_C_END

/** WF_SHAPE(2, 3, 4): sizes, strides or dimensions written in place. */
#ifdef __cplusplus
static inline wf_dims wf_dims_of_list(std::initializer_list<int64_t> list) {
  return wf_dims_of(list.begin(), (int)list.size());
}
#define WF_SHAPE(...) (wf_dims_of_list({__VA_ARGS__}))
#else
#define WF_SHAPE(...) \
  (wf_dims_of((const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))))
#endif

#endif
