/* Judges of PyTorch's own traces: what a training copies, waits for and leaves idle, ranked by what it costs, with what to change; and
 * whether a run got worse than another. Part of libweft-tools (link weft-tools and weft). */
#ifndef WEFT_AUDIT_H
#define WEFT_AUDIT_H

#include <weft/snapshot.h>

WF_EXTERN_C_BEGIN

/** A trace that was read and judged. Immutable: any thread may read it. */
typedef struct wf_audit wf_audit;

/** How a trace is judged; where a pointer to it is NULL, the defaults hold. */
typedef struct wf_audit_options {
  /** Called now and then with the bytes read so far (unpacked, of a gzip file), also while a pipe is waited for; false stops reading, and
   *  what was read is judged. */
  bool (*progress)(void *context, int64_t bytes);
  void *context;
  /** Copies, transfers and idle time that cost less than this share of the steady state are no findings. Default 0.001. */
  double least_share;
} wf_audit_options;

/** No progress, a share of 0.001. */
WF_API wf_audit_options wf_audit_defaults(void);

/** One finding: what happens at one place, for one reason. Texts belong to the audit; "" is unknown. */
typedef struct wf_finding {
  const char *rule;   /* "hidden-copy", "sync" …: stable names, see docs/slow-training.md */
  const char *title;  /* one sentence */
  const char *remedy; /* what to change, in PyTorch's words */
  const char *op;     /* the operator, "aten::matmul" */
  const char
      *cause; /* what began it, "aten::contiguous"; for transfers, their kind; for conversions, "float -> double" */
  const char *module;   /* "Net_0.Attention_0.Linear_1" */
  const char *line;     /* of the user's Python, "train.py:12" */
  const char *function; /* "train.py(10): forward" */
  bool by_forward;      /* it happens in the backward pass; the place is where its forward ran */
  int64_t count, steady_count;
  int64_t ns, steady_ns; /* time it took: of the host, or of the device for what runs there */
  int64_t bytes;         /* -1: the trace doesn't say (record_shapes=True) */
  double per_step;       /* steady count a step; 0 without steps */
  double share;          /* of the steady state. Findings overlap: shares don't add up */
} wf_finding;

/** Reads and judges a trace of torch.profiler (Kineto's JSON, plain or gzip; of CPU, CUDA or ROCm). Memory: at most 64 bytes an event
 *  beside its distinct names. Damaged events are passed over and counted. NULL on error: WF_IO for a file that can't be read, WF_VALUE
 *  for one that is something else (the text says what, the hint what to do), WF_NO_MEMORY. Free it with wf_audit_free. */
WF_API wf_audit *wf_audit_trace(const char *path, const wf_audit_options *options);
/** Frees it. NULL is accepted. */
WF_API void wf_audit_free(wf_audit *audit);

/** The findings, what costs most first. Returns how many. */
WF_API int64_t wf_audit_findings(const wf_audit *audit, const wf_finding **findings);
/** How many events have exactly this name, "aten::copy_", over the whole trace. */
WF_API int64_t wf_audit_count(const wf_audit *audit, const char *event_name);
/** True when the progress callback stopped the reading. */
WF_API bool wf_audit_interrupted(const wf_audit *audit);

/** The findings for a terminal of `columns` (80 at least), at most `most` of them. Give it back with wf_report_release. NULL on
 *  error. */
WF_API char *wf_audit_text(const wf_audit *audit, int columns, int64_t most);
/** One JSON object: docs/slow-training.md says what is in it. indent: blanks a level, 0 for one line. As above. */
WF_API char *wf_audit_json(const wf_audit *audit, int indent);

/** What a file was recorded as, by its first bytes. */
typedef enum wf_recording {
  WF_RECORDING_OTHER = 0,
  WF_RECORDING_TRACE = 1,   /* for wf_audit_trace */
  WF_RECORDING_SNAPSHOT = 2 /* for wf_snapshot_read: a pickle, or an RMM log */
} wf_recording;

/** Looks at a file, plain or gzip. What can't be read is OTHER; the reader says why. So is a pipe, of which nothing is taken away. */
WF_API wf_recording wf_recording_of(const char *path);

/** A number of a trace or a memory snapshot that a check compares. */
typedef enum wf_metric {
  WF_METRIC_THROUGHPUT = 0,  /* steady steps a second; more is better */
  WF_METRIC_PEAK_MEMORY = 1, /* bytes allocated; of traces with profile_memory=True, and of snapshots */
  WF_METRIC_CONTIGUOUS = 2,  /* aten::contiguous a step */
  WF_METRIC_COPIES = 3,      /* aten::copy_ a step */
  WF_METRIC_COPY_BYTES = 4,  /* written by them a step; needs record_shapes=True */
  WF_METRIC_SYNCS = 5,       /* findings of the rule "sync" a step */
  WF_METRIC_IDLE = 6,        /* share of the steady state in which the busiest device was idle */
  /* Of snapshots: */
  WF_METRIC_PEAK_RESERVED = 7, /* bytes */
  WF_METRIC_END_MEMORY = 8,    /* bytes allocated after the last event: what is left over */
  WF_METRIC_FRAGMENTATION = 9, /* at the peak: 1 - largest free block / all that is free in segments */
  WF_METRIC_COUNT
} wf_metric;

/** Its name: "throughput", "peak-memory" …; NULL out of range. */
WF_API const char *wf_metric_name(wf_metric metric);
/** The value, or NaN where the trace doesn't say. Without steps, the whole trace counts as one. */
WF_API double wf_audit_metric(const wf_audit *audit, wf_metric metric);

/** What a check lets pass. */
typedef struct wf_check_limits {
  double change[WF_METRIC_COUNT]; /* allowed change for the worse, as a share of the old value: 0.03; NaN: not judged */
  double most[WF_METRIC_COUNT];   /* the new value must be no more (for throughput: no less) than this; NaN: no bound */
} wf_check_limits;

/** throughput 3 %, memory 5 %, copies, contiguous, bytes and syncs 0, idle and fragmentation 5 % of the whole; no bounds. */
WF_API wf_check_limits wf_check_defaults(void);

/** What became of a metric. */
typedef enum wf_verdict {
  WF_VERDICT_FINE = 0,
  WF_VERDICT_WORSE = 1,
  WF_VERDICT_BETTER = 2,
  WF_VERDICT_UNKNOWN = 3, /* one of the traces doesn't say */
  WF_VERDICT_UNJUDGED = 4 /* no limit */
} wf_verdict;

/** A metric of both traces. */
typedef struct wf_check_row {
  wf_metric metric;
  double before, after; /* NaN: not said */
  wf_verdict verdict;
} wf_check_row;

/** Compares two traces: a row a metric, those of snapshots unknown. limits NULL means the defaults. Returns how many rows are worse; a metric with an explicit bound
 *  that can't be told is worse. */
WF_API int wf_check_traces(const wf_audit *before, const wf_audit *after, const wf_check_limits *limits,
                           wf_check_row rows[WF_METRIC_COUNT]);

/** The same of two memory snapshots, of the device that has most reserved in each. -1 on error: WF_VALUE, WF_NO_MEMORY. */
WF_API int wf_check_snapshots(const wf_snapshot *before, const wf_snapshot *after, const wf_check_limits *limits,
                              wf_check_row rows[WF_METRIC_COUNT]);

WF_EXTERN_C_END
#endif
