/* What a thread has recorded, as the writer (recorder.c) and the readers (ledger.c) share it.
 *
 * Each thread owns one buffer and is its only writer. Rows and events never move: they lie in chunks that are linked once, and a
 * chunk's `used` is stored with release after the entry is complete, so that a reader may copy while the owner writes. The buffer
 * counts for a reader only while its generation is the present one; wf_trace_start makes a new generation, and the owner empties
 * its buffer when it notices. Readers hold the registry's lock, which wf_trace_start takes too: what they read isn't emptied. */
#ifndef WF_TRACE_RECORDER_H
#define WF_TRACE_RECORDER_H

#include "trace/trace.h"

#define WF__ROWS_PER_CHUNK 400    /* 32 KiB */
#define WF__EVENTS_PER_CHUNK 1250 /* 128 KiB */
#define WF__ZONES_MAX 64

typedef struct wf__row_chunk {
  struct wf__row_chunk *next;
  uint32_t used;
  wf_ledger_row row[WF__ROWS_PER_CHUNK];
} wf__row_chunk;

typedef struct wf__event_chunk {
  struct wf__event_chunk *next;
  uint32_t used;
  wf_trace_event event[WF__EVENTS_PER_CHUNK];
} wf__event_chunk;

typedef struct wf__zone {
  const char *name; /* interned */
  uint8_t id;
  int64_t start_ns;
  uint64_t generation; /* of the recording in which it began; 0 none */
} wf__zone;

typedef struct wf__recorder {
  struct wf__recorder *next; /* in the registry; buffers are never freed, only adopted by later threads */
  bool owned;                /* under the registry's lock */
  uint64_t generation;
  wf__row_chunk *rows, *last_rows;
  wf_ledger_row **slots; /* open addressing over the rows; the owner's alone */
  uint32_t slot_count, row_count;
  wf__event_chunk *events, *last_events;
  int64_t dropped, implicit_copies;
  wf__zone zone[WF__ZONES_MAX];
} wf__recorder;

/* This thread's buffer, of the present generation; NULL when there is no memory for one. */
wf__recorder *wf__recorder_now(void);
uint64_t wf__recorder_generation(void);

/* All buffers of the present generation, for readers: next(NULL) is the first. Only between lock and unlock. */
void wf__recorders_lock(void);
void wf__recorders_unlock(void);
wf__recorder *wf__recorders_next(wf__recorder *after);
/* Sums of what found no room in any buffer, [kind][implicit]; to be read atomically. */
wf_ledger_row *wf__recorders_other(wf_event_kind kind, bool implicit);
/* Events that threads without a buffer couldn't keep, and their implicit copies. */
int64_t wf__recorders_lost(void);
int64_t wf__recorders_lost_copies(void);

#endif
