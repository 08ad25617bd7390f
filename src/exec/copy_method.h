/* How a copy, cast or fill is done: what exec_copy.c chooses from the form of the plan. The choice that runs is the one that is told: there is no
 * second guess for people. Reasons are static texts, set where the choice is made. */
#ifndef WF_EXEC_COPY_METHOD_H
#define WF_EXEC_COPY_METHOD_H

#include <weft/sys/plan.h>

typedef enum wf__copy_kind {
  WF__COPY_FILL, /* no source */
  WF__COPY_RUN,  /* one run of consecutive elements in both */
  WF__COPY_ROWS, /* rows whose elements are consecutive in the destination, or strided in neither way that tiles could help */
  WF__COPY_TILES, /* the source's fastest dim isn't the destination's: blocks turned in registers, straight into place */
  WF__COPY_BLOCKS, /* the same by way of a block in the first cache, where elements are cast or the destination has gaps */
  WF__COPY_GATHER /* element by element: no dim is consecutive in the source */
} wf__copy_kind;

typedef struct wf__copy_method {
  wf__copy_kind kind;
  bool cast, stream; /* stream: stores go past the cache */
  int64_t element;   /* bytes that move as one: more than the dtype's where short rows agree in both */
  int64_t tile_rows,
      tile_cols;          /* of one block: along the source's fastest dim, along the destination's; 0 without tiles */
  const char *why;        /* the kind */
  const char *why_stream; /* stream, or why not */
} wf__copy_method;

/* What wf__exec would do with a COPY plan. Reads no data. */
void wf__copy_method_of(const wf_plan *plan, wf__copy_method *method);

#endif
