/* What the machine does by itself: memory that is cold, memcpy and a streaming copy to compare with. */
#ifndef WEFT_TOOLS_BENCH_MACHINE_H
#define WEFT_TOOLS_BENCH_MACHINE_H

#include <stddef.h>

#include "bench.h"

#define MACHINE_BLOCK ((size_t)64 << 20) /* bytes of the machine's own rows, as memcpy_64MiB */

typedef struct machine_team machine_team;

/* An arena from which buffers are taken in turn: whoever gets a stretch gets the one that was unused for longest. */
typedef struct machine {
  char *arena;
  size_t size, at;
  size_t last_cache; /* bytes of the last-level cache, as the system reports it */
  machine_team *team;
  double opened, by_others; /* seconds: when, and what other programs had had of the cores by then */
} machine;

/* Opens an arena with room for `largest` bytes in use and four times the last-level cache besides (bounded by a quarter of the memory that is
 * free), or for `largest` alone when not cold; all of it is written once, unless Ctrl-C was
 * pressed. False when there is no memory. */
bool machine_open(machine *m, size_t largest, bool cold, int threads);
void machine_close(machine *m);

/* The next stretch of the arena, aligned as the library's allocations are. bytes must fit into it. */
void *machine_take(machine *m, size_t bytes);
/* The next stretch is the arena's first again. */
void machine_rewind(machine *m);

/* Kinds of traffic. STREAM, WRITE: by stores that go past the cache. */
typedef enum machine_traffic { MACHINE_MEMCPY, MACHINE_STREAM, MACHINE_READ, MACHINE_WRITE } machine_traffic;
/* Seconds for `bytes` of it in stretches that it takes, one for each direction, by all threads. */
double machine_time(machine *m, machine_traffic traffic, size_t bytes);

/* Writes numbers that every dtype but bool finds ordinary: 16-bit patterns 0x3c00 to 0x3fff. */
void machine_fill(void *to, size_t bytes);
/* Bytes that this process may still take. */
size_t machine_free_bytes(void);

/* Says how the buffers lie, to people. */
void bench_note_memory(const bench *b, const machine *m);
/* Says, when all is measured, how much other programs had of the cores, unless it was next to nothing. */
void bench_note_others(const bench *b, const machine *m);
/* Calls the library's threads to a small piece of work, as the operator before has in a program: wherever the machine is measured in between
 * they fall asleep, and being woken isn't part of a case. */
void bench_wake_threads(const bench *b);
/* Leaves the error that there is no memory for buffers; returns false. */
bool bench_no_memory(void);

#endif
