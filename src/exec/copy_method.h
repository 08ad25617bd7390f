/* How a copy is done and why: the choice by form, apart from the doing. What runs a copy and what explains one ask the same function.
 *
 * The plan is in the normal form of copy/ (dims by destination stride, fastest last, neighbours merged); other orders are copied right as well,
 * but not always fast. Words used here: the destination's fastest dim is the last, the source's is the one with the smallest stride that isn't
 * 0. A run is what lies consecutive on one side. */
#ifndef WF_EXEC_COPY_METHOD_H
#define WF_EXEC_COPY_METHOD_H

#include <weft/sys/plan.h>

typedef enum wf__copy_how {
  WF__COPY_NOTHING,  /* no elements */
  WF__COPY_FILL,     /* no source: rows of one pattern */
  WF__COPY_ROWS,     /* the same dim is fastest on both sides and long: row by row, a single run in the best case */
  WF__COPY_STRAIGHT, /* transposed in registers and stored by whole lines past the cache, straight into place */
  WF__COPY_TILES     /* tiles of some dims of each side, turned within the cache */
} wf__copy_how;

/* How the elements of a tile get from the source's order into the destination's. */
typedef enum wf__copy_turn {
  WF__TURN_SQUARES, /* transposes in registers: columns are dims that the destination has consecutive, rows those of the source */
  WF__TURN_SPLIT, /* rows 2 to 4, the source's elements alternate between them */
  WF__TURN_JOIN,  /* columns 2 to 4, the destination's elements alternate between them */
  WF__TURN_MOVES /* run by run: the same dim is fastest on both sides, or the tile has no columns and rows to speak of */
} wf__copy_turn;

/* Where elements of tiles are converted: the narrower dtype is the one that is turned. STRAIGHT converts before it turns, always. */
typedef enum wf__copy_cast { WF__CAST_NONE, WF__CAST_BEFORE, WF__CAST_AFTER } wf__copy_cast;

typedef struct wf__copy_dim {
  int64_t size, to, from; /* byte strides in destination and source */
  int64_t by;             /* scaled copies: in the list of factors */
  int64_t extent;         /* of a tile, 1 for a dim outside of it */
  int64_t buffer;         /* byte stride in the buffer that a tile is turned into; `to` when there is none */
} wf__copy_dim;

typedef struct wf__copy_method {
  wf__copy_how how;
  wf__copy_turn turn;
  wf__copy_cast cast;
  bool converts; /* elements change on the way */
  bool scaled;   /* they are multiplied and shifted, too (WF__COPY_SCALED) */
  bool stream;   /* whole lines go past the cache */
  bool on_lines; /* the destination's rows begin on whole lines */
  bool
      buffered; /* tiles: turned into a buffer, from which runs of the destination are written; else straight into place */
  bool
      staged; /* tiles: the source's rows are brought side by side first, converted or out of each other's way in the cache */
  bool
      split_past; /* SPLIT: each line of the rows is stored past the cache as it comes out of the registers, without a buffer */
  int ndim;
  int fastest;       /* the source's fastest dim, -1 when it doesn't move */
  wf_dtype to, from; /* dtypes; equal when elements are moved as bytes */
  int64_t
      to_size; /* bytes of an element as it is moved: short runs of both sides count as one element of up to 16 bytes */
  int64_t from_size;
  int64_t count;                 /* elements, such wide ones counted once */
  wf__copy_dim dim[WF_MAX_DIMS]; /* fastest of the destination last */
  /* Tiles: the dims of columns and of rows, fastest first, the others of a tile, and those whose extents make one run of the destination. */
  int columns, rows, others, run;
  uint8_t column[WF_MAX_DIMS], row[WF_MAX_DIMS], other[WF_MAX_DIMS];
  int64_t channels;    /* scaled copies whose factors move along the last dim: after how many they go round */
  int64_t tile_bytes;  /* of the buffer */
  int64_t stage_pitch; /* bytes between rows of the stage */
  /* STRAIGHT: elements of the source's rows that are turned at a time, and as wf__lines_how has them */
  int64_t band, lines, staged_rows;
  bool ahead;
  const char *why;        /* one clause, for people */
  const char *why_stream; /* stream, or why not */
} wf__copy_method;

void wf__copy_choose(const wf_plan *plan, wf__copy_method *method);

/* Bytes of a destination from which on stores go past the cache. Tests lower it. */
extern int64_t wf__copy_stream_from;

#define WF__COPY_LINE 64
#define WF__COPY_STAGED_ROW 512         /* most bytes of a row that STRAIGHT stages, */
#define WF__COPY_LINES_STAGE (80 << 10) /* and of all of them, with what lies between */
#define WF__COPY_BUFFER (168 << 10)     /* most bytes of a tile's buffer */
#define WF__COPY_RUN_BYTES \
  256                     /* shorter runs of the destination consist of their ends, which don't go past the cache */
#define WF__COPY_STRIP 64 /* columns of a tile that are turned, and staged, at a time */
#define WF__COPY_STAGE (64 << 10) /* most bytes of a stage */
#define WF__COPY_PLACES 4096      /* most columns, and rows, of a tile of squares */

#endif
