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
  /* Told now and then how many bytes, unpacked, have been read; false stops the reading (WF_CANCELLED). NULL: nobody. */
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

WF_EXTERN_C_END
#endif
