/* A machine for Python's pickles, protocols 2 to 5, of plain data: numbers, strings, lists, tuples, sets, dicts. Nothing is ever
 * executed: an opcode that makes an object or calls something is refused by name with its offset.
 *
 * It builds no containers. Whenever items are put into one, the client is asked to fold them: to say in a value of its own what the
 * container stands for from then on. So a file of any length needs the stack, the memo (16 bytes an entry), the distinct strings and
 * whatever the client keeps. Nothing recurses: nesting costs stack entries only, and those are bounded by the bytes read.
 *
 * A container is known only by what stands for it when it is asked for: one that is put into itself shows up as an empty one. */
#ifndef WF_FORMAT_PICKLE_H
#define WF_FORMAT_PICKLE_H

#include "format/gzip.h"
#include "format/string_set.h"

typedef enum wf__pickle_type {
  WF__PICKLE_NONE,
  WF__PICKLE_BOOL,
  WF__PICKLE_INT, /* at most 64 bits, signed or unsigned */
  WF__PICKLE_FLOAT,
  WF__PICKLE_STRING, /* a number of the interned strings; bytes objects too */
  WF__PICKLE_LIST,   /* this and the next three are empty */
  WF__PICKLE_TUPLE,
  WF__PICKLE_DICT,
  WF__PICKLE_SET,
  WF__PICKLE_RECORD /* what the client folded */
} wf__pickle_type;

typedef struct wf__pickle_value {
  uint8_t type;  /* wf__pickle_type */
  uint8_t kind;  /* of a record: the client's */
  uint32_t memo; /* entry of the memo that is this container, counted from 1; 0: none. The machine's */
  union {
    int64_t integer; /* and truth */
    double real;
    uint32_t string;
    uint64_t record; /* the client's */
  };
} wf__pickle_value;

typedef struct wf__pickle_client {
  void *context;
  /* `count` items (of a dict: keys and values in turn) go into *container, which is empty or what an earlier fold made of it. It
   * must become a record, or stay what it is when the items don't matter. A status other than WF_OK ends the reading. */
  wf_status (*fold)(void *context, wf__pickle_value *container, const wf__pickle_value *items, size_t count);
  /* Told now and then how many bytes have been read; false ends the reading (WF_CANCELLED). Optional. */
  bool (*progress)(void *context, int64_t bytes);
} wf__pickle_client;

/* Reads one pickle, to its STOP, and writes what it holds. Errors: WF_VALUE for what isn't such a pickle, with the offset; WF_IO,
 * WF_NO_MEMORY, and what the client returned. `name` stands before texts. */
wf_status wf__pickle_read(wf__input *input, const char *name, wf__string_set *strings, const wf__pickle_client *client,
                          wf__pickle_value *result);

#endif
