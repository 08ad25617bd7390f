/* Data: datasets of samples, and the loader that turns them into batches on a device while the one before is still computed on.
 *
 * Three stages: workers load samples straight into their place in a batch on the host; a copy moves the batch to the device; the
 * caller computes. The batches of an epoch are the same for a seed, whatever the number of workers and the pipeline. */
#ifndef WEFT_DATA_H
#define WEFT_DATA_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** Most fields that a sample can have: an image and a label are two. */
#define WF_SAMPLE_FIELDS 8

/** One field of every sample of a dataset. */
typedef struct wf_field {
  const char *name; /* "image"; the dataset's */
  wf_dtype dtype;
  int ndim;
  int64_t size[WF_MAX_DIMS]; /* of one sample; a batch has one dimension more in front */
} wf_field;

/** What a dataset is: a number of samples that can be read in any order. */
typedef struct wf_dataset_ops {
  /** Writes sample `index` to field[i], row-major, `nbytes` of its wf_field each. Called by several threads at once. On failure it
   *  returns a status; a text may be left by wf_dataset_fail. */
  wf_status (*fetch)(void *context, int64_t index, void *const *field);
  void (*release)(void *context); /* may be NULL; runs when the dataset is freed */
} wf_dataset_ops;

/** A number of samples, each with the same fields. */
typedef struct wf_dataset wf_dataset;

/** A dataset of your own. Copies `fields`. `context` is released with the dataset, not when the call fails. Yours; NULL on error. */
WF_API wf_dataset *wf_dataset_new(const wf_dataset_ops *ops, void *context, int64_t count, const wf_field *fields,
                                  int n);
/** For fetch: sets this thread's error record and returns `status`. */
WF_API wf_status wf_dataset_fail(wf_status status, const char *text);
/** Images and labels from IDX files, plain or gzipped: field 0 "image" u8 [1, h, w], field 1 "label" i64 []. Both files are read whole.
 *  Labels must lie in [0, classes). Errors: WF_IO for files that can't be read; WF_VALUE for wrong magic, truncated or surplus data,
 *  counts that differ, labels out of range. */
WF_API wf_dataset *wf_dataset_idx(const char *images, const char *labels, int64_t classes);
/** Fashion-MNIST's training or test part from the folder `dir` (NULL: where the Debian package dataset-fashion-mnist puts it). */
WF_API wf_dataset *wf_dataset_fashion_mnist(const char *dir, bool train);
/** The first n samples of a dataset, which must outlive it. All of them when n is larger. */
WF_API wf_dataset *wf_dataset_take(wf_dataset *dataset, int64_t n);
/** Gives the dataset back; loaders over it must be gone. NULL is accepted. */
WF_API void wf_dataset_free(wf_dataset *dataset);
/** Number of samples; 0 for NULL. */
WF_API int64_t wf_dataset_count(const wf_dataset *dataset);
/** Its fields; borrowed. */
WF_API const wf_field *wf_dataset_fields(const wf_dataset *dataset, int *n);
/** Reads one sample into host memory as fetch does. */
WF_API wf_status wf_dataset_fetch(wf_dataset *dataset, int64_t index, void *const *field);

/** How a batch gets to the device. On cpu all but PREFETCH are the same. */
typedef enum wf_pipeline {
  WF_PIPELINE_PLAIN = 0, /* loaded when asked for, into pageable memory; the copy blocks */
  WF_PIPELINE_PINNED,    /* into pinned memory; the copy blocks */
  WF_PIPELINE_ASYNC,     /* into pinned memory; the copy is queued on the current stream */
  WF_PIPELINE_PREFETCH /* loaded ahead into pinned memory and copied on a stream of its own while batches before are computed on */
} wf_pipeline;
/** Reads "plain", "pinned", "async", "prefetch". Errors: WF_VALUE. */
WF_API wf_status wf_pipeline_parse(const char *text, wf_pipeline *pipeline);

/** Options of a loader; defaults in brackets. */
typedef struct wf_loader_options {
  int64_t batch_size;   /* 1 */
  bool shuffle;         /* false */
  bool drop_last;       /* false: the last batch may be smaller */
  int workers;          /* 0: samples are loaded by the thread that asks */
  wf_pipeline pipeline; /* PREFETCH */
  int ahead;            /* batches to load ahead; 0: chosen from the measured times of the stages */
  uint64_t seed;        /* 0 */
  double timeout_s;     /* 0: none; else how long wf_loader_next may wait. Needs workers */
  wf_device device;     /* cpu */
} wf_loader_options;
/** The defaults. */
WF_API wf_loader_options wf_loader_defaults(void);

/** Turns a dataset into batches on a device. Used by one thread at a time. */
typedef struct wf_loader wf_loader;

/** One batch. Tensors [size, …] belong to the loader and hold until the next call on it; what is retained, viewed or saved for backward
 *  stays as it is. */
typedef struct wf_batch {
  wf_tensor *field[WF_SAMPLE_FIELDS];
  int fields;
  int64_t size;   /* samples */
  int64_t number; /* counted from 0 in the epoch */
} wf_batch;

/** A loader over the dataset, which must outlive it; starts its workers. Yours. Errors: WF_VALUE for options out of range. */
WF_API wf_loader *wf_loader_new(wf_dataset *dataset, const wf_loader_options *options);
/** Stops the workers, waits for transfers and frees. NULL is accepted. */
WF_API void wf_loader_free(wf_loader *loader);
/** Starts an epoch from its first batch. The order depends on seed and epoch alone. A new loader is at epoch 0. */
WF_API wf_status wf_loader_start(wf_loader *loader, int64_t epoch);
/** Batches of an epoch. */
WF_API int64_t wf_loader_batches(const wf_loader *loader);
/** The next batch. Returns 1 with a batch, 0 at the end of the epoch, -1 on error: the failure of a worker surfaces in the place of its
 *  batch, and a further call goes on with the batch behind it. Work queued on the current stream afterwards sees the whole batch. */
WF_API int wf_loader_next(wf_loader *loader, wf_batch *batch);

/** Measured means of an epoch so far, in ns. */
typedef struct wf_loader_stats {
  int64_t batches;
  int64_t load_ns;    /* to load one batch, by one worker */
  int64_t copy_ns;    /* to move one to the device; 0 on cpu */
  int64_t compute_ns; /* between two calls of wf_loader_next, without its own wait */
  int64_t wait_ns;    /* that one call waited for a batch */
  int ahead;          /* batches loaded ahead at present */
} wf_loader_stats;
/** The measured means so far; zeros for NULL. */
WF_API wf_loader_stats wf_loader_get_stats(const wf_loader *loader);

WF_EXTERN_C_END
#endif
