/* Memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot) and RMM's allocation logs: who holds the memory, what fragments it,
 * and which settings of the allocator would have fitted. Nothing here needs a device or a tensor. Part of libweft-tools (link
 * weft-tools and weft). */
#ifndef WEFT_SNAPSHOT_H
#define WEFT_SNAPSHOT_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

/** A snapshot as it was read; nothing changes it afterwards, so any number of threads may look at it. */
typedef struct wf_snapshot wf_snapshot;

/** How it is read. */
typedef struct wf_snapshot_options {
  /* Told now and then how many bytes, unpacked, have been read, also while a pipe is waited for; false stops the reading (WF_CANCELLED).
   * NULL: nobody. */
  bool (*progress)(void *context, int64_t bytes);
  void *context;
} wf_snapshot_options;

/** Reads a snapshot (pickle protocol 2 to 5, plain or gzip) or an RMM log (CSV, plain or gzip); yours, free it with wf_snapshot_free.
 *  Nothing in the file is executed. options: NULL for none. NULL on error: WF_VALUE for a file that is something else, WF_IO,
 *  WF_NO_MEMORY, WF_CANCELLED. Needs at most 64 bytes an event and 64 MiB, besides the pickle's memo and its distinct strings. */
WF_API wf_snapshot *wf_snapshot_read(const char *path, const wf_snapshot_options *options);
/** Frees it. NULL is accepted. */
WF_API void wf_snapshot_free(wf_snapshot *snapshot);

/** What blocks are grouped by. */
typedef enum wf_memory_group {
  WF_MEMORY_BY_SITE = 0,   /* the innermost line of Python outside of torch */
  WF_MEMORY_BY_MODULE = 1, /* the innermost forward() of a module */
  WF_MEMORY_BY_SIZE = 2    /* the bytes asked for */
} wf_memory_group;

#define WF_MEMORY_AT_END (-1)  /* after the last event */
#define WF_MEMORY_AT_PEAK (-2) /* when most was allocated */

/** What is said of a snapshot. */
typedef struct wf_memory_options {
  int device; /* -1: the one that has most reserved */
  int64_t at; /* after that many events of the device, or one of WF_MEMORY_AT_… */
  wf_memory_group group;
  int rows;    /* of each table, at most */
  int columns; /* of the text, 60 at least */
  bool stacks; /* each group with a whole stack */
} wf_memory_options;
/** The peak, by call site, 12 rows, 80 columns. */
WF_API wf_memory_options wf_memory_defaults(void);

/** Sums, holders, what fragments the memory, and what preceded each out of memory, for a terminal. Give it back with
 *  wf_report_release. options: NULL for the defaults. NULL on error: WF_VALUE for a device or an event that isn't there. */
WF_API char *wf_memory_text(const wf_snapshot *snapshot, const wf_memory_options *options);
/** The same as one JSON object, bytes exact; indent: blanks a level. As above. */
WF_API char *wf_memory_json(const wf_snapshot *snapshot, const wf_memory_options *options, int indent);
/** Each segment with its blocks as one line of text. As above. */
WF_API char *wf_memory_map(const wf_snapshot *snapshot, const wf_memory_options *options);
/** The same as a drawing. The file appears whole or not at all. Errors: WF_IO with the path, WF_VALUE. */
WF_API wf_status wf_memory_write_svg(const wf_snapshot *snapshot, const wf_memory_options *options, const char *path);

/** One page that needs nothing else: memory over the events, and what lay where after each of them. As above. */
WF_API wf_status wf_memory_write_html(const wf_snapshot *snapshot, const wf_memory_options *options, const char *path);

/** Sums of a device, for comparisons. */
typedef struct wf_memory_totals {
  int device;
  int64_t peak_allocated, peak_reserved, end_allocated, end_reserved; /* bytes; reserved 0 for logs */
  int64_t out_of_memory;                                              /* how many times */
} wf_memory_totals;
/** Fills *totals for a device (-1: the one that has most reserved). Errors: WF_VALUE when it isn't there, WF_NO_MEMORY. */
WF_API wf_status wf_memory_get_totals(const wf_snapshot *snapshot, int device, wf_memory_totals *totals);

/** What changed between two snapshots. */
typedef struct wf_memory_change wf_memory_change;
/** Groups what is held in both, at the end unless options say otherwise, and sorts by growth: lines that keep ever more are leaks. Yours,
 *  free it with wf_memory_change_free. NULL on error, as of wf_memory_text. */
WF_API wf_memory_change *wf_memory_compare(const wf_snapshot *before, const wf_snapshot *after,
                                           const wf_memory_options *options);
/** Frees it. NULL is accepted. */
WF_API void wf_memory_change_free(wf_memory_change *change);
/** How many more bytes are allocated afterwards; negative: fewer. */
WF_API int64_t wf_memory_change_bytes(const wf_memory_change *change);
/** Bytes allocated before. */
WF_API int64_t wf_memory_change_before(const wf_memory_change *change);
/** The table for a terminal; give it back with wf_report_release. NULL on error. */
WF_API char *wf_memory_change_text(const wf_memory_change *change);
/** The same as one JSON object. As above. */
WF_API char *wf_memory_change_json(const wf_memory_change *change, int indent);

/** A history played again under other settings, and what came out. */
typedef struct wf_replay wf_replay;

/** What is played. */
typedef struct wf_replay_options {
  int device;               /* -1: the one that has most reserved */
  const char *const *confs; /* settings as of PYTORCH_CUDA_ALLOC_CONF, beside the recorded ones */
  int conf_count;
  int64_t
      memory; /* bytes that the device has for it; 0: what an out of memory in the recording shows, else without end */
  int64_t
      recorded_memory; /* bytes that it could have when it was recorded, at least, and whatever share of the device that was; 0: as above, or not known */
  bool search;         /* try the settings worth trying, too, and recommend one */
  /* Told how many replays of how many have been played; false stops (WF_CANCELLED). NULL: nobody. */
  bool (*progress)(void *context, int64_t done, int64_t all);
  void *context;
} wf_replay_options;

/** Plays the history as it was recorded, to see how exactly the policy does the same, and then under each of the settings. Yours, free it
 *  with wf_replay_free. NULL on error: WF_VALUE for a snapshot without history, a device that isn't there, or settings that PyTorch
 *  wouldn't take; WF_NO_MEMORY, WF_CANCELLED. */
WF_API wf_replay *wf_replay_history(const wf_snapshot *snapshot, const wf_replay_options *options);
/** Frees it. NULL is accepted. */
WF_API void wf_replay_free(wf_replay *replay);
/** The outcome as a table with a recommendation, for a terminal of so many columns. Give it back with wf_report_release. NULL on error. */
WF_API char *wf_replay_text(const wf_replay *replay, int columns);
/** The same as one JSON object, bytes exact. As above. */
WF_API char *wf_replay_json(const wf_replay *replay, int indent);

WF_EXTERN_C_END
#endif
