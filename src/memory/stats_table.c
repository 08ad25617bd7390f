/* The table of torch.cuda.memory_summary, character for character. The unit of each column is chosen from its first row and kept for the
 * pools below it, so the rows add up. */
#include <stdarg.h>
#include <stdio.h>

#include "memory/policy.h"
#include "memory/stats.h"

#define WIDTH 75

typedef struct cursor {
  char *buffer;
  size_t size, length;
} cursor;

static void put(cursor *c, const char *format, ...) WF_PRINTF(2, 3);
static void put(cursor *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  bool room = c->length < c->size;
  int n = vsnprintf(room ? c->buffer + c->length : NULL, room ? c->size - c->length : 0, format, args);
  va_end(args);
  c->length += n > 0 ? (size_t)n : 0;
}

static void put_rule(cursor *c, char with) {
  put(c, "|");
  for (int i = 0; i < WIDTH; i++) put(c, "%c", with);
  put(c, "|\n");
}

static void put_bytes(cursor *c, int64_t value, int64_t first) {
  static const char *const units[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (double left = (double)first; unit < 5 && left >= 768 * 1024; left /= 1024, unit++) value /= 1024;
  put(c, " | %6lld %s", (long long)value, units[unit]);
}

static void put_count(cursor *c, int64_t value, int64_t first) {
  static const char units[] = " KM";
  int unit = 0;
  for (double left = (double)first; unit < 2 && left >= 750 * 1000; left /= 1000, unit++) value /= 1000;
  put(c, " | %7lld %c ", (long long)value, units[unit]);
}

static void put_row(cursor *c, const char *name, const wf_stat *row, const wf_stat *first,
                    void (*cell)(cursor *, int64_t, int64_t)) {
  put(c, "| %-21s", name);
  cell(c, row->current, first->current);
  cell(c, row->peak, first->peak);
  cell(c, row->allocated, first->allocated);
  cell(c, row->freed, first->freed);
  put(c, " |\n");
}

size_t wf_allocator_summary(const wf_allocator_stats *s, int device, bool abbreviated, char *buffer, size_t size) {
  const struct {
    const char *name;
    const wf_stat *stats;
    void (*cell)(cursor *, int64_t, int64_t);
    bool pools;
  } rows[] = {{"Allocated memory", s->allocated_bytes, put_bytes, true},
              {"Active memory", s->active_bytes, put_bytes, true},
              {"Requested memory", s->requested_bytes, put_bytes, true},
              {"GPU reserved memory", s->reserved_bytes, put_bytes, true},
              {"Non-releasable memory", s->inactive_split_bytes, put_bytes, true},
              {"Allocations", s->allocation, put_count, true},
              {"Active allocs", s->active, put_count, true},
              {"GPU reserved segments", s->segment, put_count, true},
              {"Non-releasable allocs", s->inactive_split, put_count, true},
              {"Oversize allocations", &s->oversize_allocations, put_count, false},
              {"Oversize GPU segments", &s->oversize_segments, put_count, false}};
  cursor c = {.buffer = buffer, .size = size};
  if (size) *buffer = 0;
  put_rule(&c, '=');
  put(&c, "|%17s PyTorch CUDA memory summary, device ID %-17d |\n", "", device);
  put_rule(&c, '-');
  put(&c, "|%11s CUDA OOMs: %-12lld | %6s cudaMalloc retries: %-8lld  |\n", "", (long long)s->ooms, "",
      (long long)s->alloc_retries);
  put_rule(&c, '=');
  put(&c, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const wf_stat *all = &rows[i].stats[WF__STAT_ALL];
    put_rule(&c, '-');
    put_row(&c, rows[i].name, all, all, rows[i].cell);
    if (abbreviated || !rows[i].pools) continue;
    put_row(&c, "      from large pool", &rows[i].stats[WF__STAT_LARGE], all, rows[i].cell);
    put_row(&c, "      from small pool", &rows[i].stats[WF__STAT_SMALL], all, rows[i].cell);
  }
  put_rule(&c, '=');
  return c.length;
}
