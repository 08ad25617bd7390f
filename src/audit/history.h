/* The history of one device, made whole: the life of every block and segment that the events and the final state name.
 *
 * A state is a number: state k is after the first k events, so state 0 is where the recording began and state n the snapshot. A life
 * covers the states from `born` until just before `died`. What was there when the recording began has born 0; what is there at the end
 * has died n + 1. Everything is found by playing the events backwards from the final state, which takes one pass. */
#ifndef WF_AUDIT_HISTORY_H
#define WF_AUDIT_HISTORY_H

#include "audit/snapshot.h"
#include "memory/conf.h"

#define WF__NO_LIFE UINT32_MAX

typedef struct wf__block_life {
  uint64_t address, size,
      requested;              /* size: rounded, and with what was too little to be split off where that can be known */
  uint32_t born, freed, died; /* freed: from then on it waits for other streams until it dies */
  uint32_t stack;             /* of the allocation; of the free when the allocation wasn't recorded, see from_free */
  uint32_t stream;
  uint16_t pool;
  bool large, from_free;
  bool asked;    /* its free was requested within the recording */
  bool deferred; /* the free waited for other streams */
} wf__block_life;

typedef struct wf__segment_life {
  uint64_t address, size;
  uint32_t born, died;
  uint32_t stream, stack;
  uint16_t pool;
  bool large, expandable; /* expandable: a range that was mapped in one piece; neighbours belong together */
} wf__segment_life;

typedef struct wf__history {
  const wf_snapshot *snapshot;
  int device;
  const wf__snap_event *events;
  uint32_t n;                /* events */
  wf__conf conf;             /* as recorded; the defaults when it can't be known */
  bool conf_known, conf_bad; /* bad: a text that isn't understood here */
  WF__GROWING(wf__block_life) blocks;
  WF__GROWING(wf__segment_life) segments;
  uint32_t *life_of;  /* of each event of a block: its life, WF__NO_LIFE for none and for other events */
  uint32_t unmatched; /* allocations whose block is neither freed later nor there at the end */
  uint32_t peak_state, reserved_peak_state; /* the first state with the most */
  uint64_t peak, reserved_peak;             /* bytes allocated, bytes reserved */
} wf__history;

/* The history of a device of the snapshot, which must stay. Errors: WF_VALUE for a device that isn't there, WF_NO_MEMORY. */
wf_status wf__history_make(wf__history *history, const wf_snapshot *snapshot, int device);
void wf__history_release(wf__history *history);
/* The next device of which segments or events are there; -1: none. */
int wf__device_after(const wf_snapshot *snapshot, int device);

static inline bool wf__life_at(uint32_t born, uint32_t died, uint32_t state) { return born <= state && state < died; }
static inline bool wf__allocated_at(const wf__block_life *b, uint32_t state) {
  return wf__life_at(b->born, b->freed, state);
}

/* Sums of a state. */
typedef struct wf__sums {
  uint64_t allocated, requested, active, reserved;
  uint32_t blocks, segments;
} wf__sums;
wf__sums wf__sums_at(const wf__history *history, uint32_t state);

#endif
