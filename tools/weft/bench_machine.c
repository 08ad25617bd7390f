/* Memory that is cold, memcpy, and copies by streaming stores, on one or several threads.
 *
 * The threads are not the library's: what is measured here must not depend on it. They sleep while it works. */
#include "bench_machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ALIGNMENT 128
#define CACHES 4                /* so many last-level caches lie between two uses of a buffer */
#define DRAWN ((size_t)1 << 20) /* bytes of numbers that are drawn; then they repeat */
#define USUAL_CACHE ((size_t)32 << 20)

typedef void (*copy_fn)(char *dst, const char *src, size_t bytes);

typedef struct member {
  machine_team *team;
  pthread_t thread;
  int number;
} member;

struct machine_team {
  pthread_barrier_t begin, end;
  int threads;
  copy_fn copy; /* NULL: go home */
  char *dst;
  const char *src;
  size_t bytes;
  member *members; /* all but the caller */
};

/* ---- copies ---------------------------------------------------------------------------------------------------------------- */

static void copy_by_memcpy(char *dst, const char *src, size_t bytes) { memcpy(dst, src, bytes); }

/* What the reading loops found, so that they can't be left out. */
static volatile uint64_t seen;

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f")))

AVX512 static void stream_avx512(char *dst, const char *src, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) _mm512_stream_si512((void *)(dst + i), _mm512_loadu_si512(src + i));
  _mm_sfence();
}
AVX512 static void read_avx512(char *dst, const char *src, size_t bytes) {
  (void)dst;
  __m512i a = _mm512_setzero_si512(), b = a;
  for (size_t i = 0; i < bytes; i += 128) {
    a = _mm512_or_si512(a, _mm512_loadu_si512(src + i));
    b = _mm512_or_si512(b, _mm512_loadu_si512(src + i + 64));
  }
  seen = (uint64_t)_mm512_reduce_or_epi64(_mm512_or_si512(a, b));
}
AVX512 static void write_avx512(char *dst, const char *src, size_t bytes) {
  (void)src;
  for (size_t i = 0; i < bytes; i += 64) _mm512_stream_si512((void *)(dst + i), _mm512_set1_epi16(0x3c00));
  _mm_sfence();
}

static void stream_sse2(char *dst, const char *src, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16) _mm_stream_si128((void *)(dst + i), _mm_loadu_si128((const void *)(src + i)));
  _mm_sfence();
}
static void read_sse2(char *dst, const char *src, size_t bytes) {
  (void)dst;
  __m128i a = _mm_setzero_si128();
  for (size_t i = 0; i < bytes; i += 16) a = _mm_or_si128(a, _mm_loadu_si128((const void *)(src + i)));
  seen = (uint64_t)_mm_cvtsi128_si64(a);
}
static void write_sse2(char *dst, const char *src, size_t bytes) {
  (void)src;
  for (size_t i = 0; i < bytes; i += 16) _mm_stream_si128((void *)(dst + i), _mm_set1_epi16(0x3c00));
  _mm_sfence();
}
#else
static void read_plainly(char *dst, const char *src, size_t bytes) {
  (void)dst;
  uint64_t all = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    memcpy(&word, src + i, 8);
    all |= word;
  }
  seen = all;
}
static void write_plainly(char *dst, const char *src, size_t bytes) {
  (void)src;
  memset(dst, 0x3c, bytes);
}
#endif

/* The loop for one kind of traffic, for whole blocks of 128 bytes; memcpy and memset where there is nothing better. */
static copy_fn loop_for(machine_traffic traffic) {
#ifdef __x86_64__
  static const copy_fn wide[] = {copy_by_memcpy, stream_avx512, read_avx512, write_avx512};
  static const copy_fn narrow[] = {copy_by_memcpy, stream_sse2, read_sse2, write_sse2};
  return (__builtin_cpu_supports("avx512f") ? wide : narrow)[traffic];
#else
  static const copy_fn plain[] = {copy_by_memcpy, copy_by_memcpy, read_plainly, write_plainly};
  return plain[traffic];
#endif
}

/* ---- threads --------------------------------------------------------------------------------------------------------------- */

/* The part of the work that one thread does, from whole blocks on. */
static void do_part(const machine_team *t, int number) {
  size_t piece = (t->bytes / (size_t)t->threads + 127) & ~(size_t)127, first = piece * (size_t)number;
  if (first >= t->bytes) return;
  t->copy(t->dst ? t->dst + first : NULL, t->src ? t->src + first : NULL,
          first + piece < t->bytes ? piece : t->bytes - first);
}

static void *serve(void *context) {
  const member *m = context;
  for (;;) {
    pthread_barrier_wait(&m->team->begin);
    if (!m->team->copy) return NULL;
    do_part(m->team, m->number);
    pthread_barrier_wait(&m->team->end);
  }
}

static void end_team(machine_team *t) {
  if (!t) return;
  t->copy = NULL;
  if (t->threads > 1) pthread_barrier_wait(&t->begin);
  for (int i = 0; i < t->threads - 1; i++) pthread_join(t->members[i].thread, NULL);
  pthread_barrier_destroy(&t->begin);
  pthread_barrier_destroy(&t->end);
  free(t->members);
  free(t);
}

static machine_team *start_team(int threads) {
  machine_team *t = calloc(1, sizeof *t);
  member *members = calloc((size_t)threads, sizeof *members);
  if (!t || !members) return free(members), free(t), NULL;
  *t = (machine_team){.threads = threads, .members = members};
  pthread_barrier_init(&t->begin, NULL, (unsigned)threads);
  pthread_barrier_init(&t->end, NULL, (unsigned)threads);
  for (int i = 0; i < threads - 1; i++) {
    members[i] = (member){.team = t, .number = i + 1};
    if (!pthread_create(&members[i].thread, NULL, serve, &members[i])) continue;
    /* Those that wait at the barrier can't be called back from there; they end with the process. */
    return NULL;
  }
  return t;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* With several threads the library's may still spin for work, on cores that are needed here. */
static void let_others_sleep(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

double machine_time(machine *m, machine_traffic traffic, size_t bytes) {
  machine_team *t = m->team;
  t->src = traffic == MACHINE_WRITE ? NULL : machine_take(m, bytes);
  t->dst = traffic == MACHINE_READ ? NULL : machine_take(m, bytes);
  t->copy = loop_for(traffic);
  t->bytes = traffic == MACHINE_MEMCPY ? bytes : bytes & ~(size_t)127;
  if (t->threads > 1) let_others_sleep();
  double start = now();
  if (t->threads == 1) {
    t->copy(t->dst, t->src, t->bytes);
  } else {
    pthread_barrier_wait(&t->begin);
    do_part(t, 0);
    pthread_barrier_wait(&t->end);
  }
  return now() - start;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

static size_t last_level_cache(void) {
  long bytes = 0;
#ifdef _SC_LEVEL4_CACHE_SIZE
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL4_CACHE_SIZE);
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? (size_t)bytes : USUAL_CACHE;
}

/* A number of a file: behind `key`, or the file's first. -1 when there is none. */
static long long number_in(const char *path, const char *key) {
  FILE *file = fopen(path, "r");
  char line[256];
  long long number = -1;
  while (file && number < 0 && fgets(line, sizeof line, file))
    if (!strncmp(line, key, strlen(key))) sscanf(line + strlen(key), "%lld", &number);
  if (file) fclose(file);
  return number;
}

size_t machine_free_bytes(void) {
  long long available = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  long long most = number_in("/sys/fs/cgroup/memory.max", ""), used = number_in("/sys/fs/cgroup/memory.current", "");
  if (available < 0) available = (long long)1 << 30;
  if (most >= 0 && used >= 0 && most - used < available) available = most > used ? most - used : 0;
  return (size_t)available;
}

void machine_fill(void *to, size_t bytes) {
  uint16_t *at = to;
  uint32_t state = 1;
  size_t drawn = bytes < DRAWN ? bytes : DRAWN;
  for (size_t i = 0; i < drawn / 2; i++) {
    state = state * 1664525u + 1013904223u;
    at[i] = (uint16_t)(0x3c00 | state >> 22);
  }
  for (size_t done = drawn; done < bytes; done += drawn)
    memcpy((char *)to + done, to, bytes - done < drawn ? bytes - done : drawn);
}

bool machine_open(machine *m, size_t largest, bool cold, int threads) {
  *m = (machine){.last_cache = last_level_cache()};
  size_t slack = 64 * ALIGNMENT, between = CACHES * m->last_cache, most = machine_free_bytes() / 4;
  m->size = largest + slack;
  if (cold) m->size += between < most ? between : most;
  m->arena = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m->arena == MAP_FAILED) return m->arena = NULL, false;
  madvise(m->arena, m->size, MADV_HUGEPAGE); /* as the library's own memory */
  for (size_t at = 0; at < m->size && !interrupted(); at += MACHINE_BLOCK)
    machine_fill(m->arena + at, m->size - at < MACHINE_BLOCK ? m->size - at : MACHINE_BLOCK);
  m->team = start_team(threads);
  if (m->team) return true;
  machine_close(m);
  return false;
}

void machine_close(machine *m) {
  end_team(m->team);
  if (m->arena) munmap(m->arena, m->size);
  *m = (machine){0};
}

void *machine_take(machine *m, size_t bytes) {
  if (m->at + bytes > m->size) m->at = 0;
  void *taken = m->arena + m->at;
  m->at += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  return taken;
}

void machine_rewind(machine *m) { m->at = 0; }

bool bench_no_memory(void) {
  wf_dataset_fail(WF_NO_MEMORY, "there is no memory for the buffers to measure with");
  return false;
}

void bench_note_memory(const bench *b, const machine *m) {
  char cache[32], arena[32];
  if (b->warm) {
    bench_note(b, "warm: the same buffers every time, on %d thread%s\n\n", b->threads, b->threads > 1 ? "s" : "");
    return;
  }
  bench_note(b, "cold: buffers rotate through %s, %.1f times the last-level cache of %s, on %d thread%s\n",
             human_bytes((int64_t)m->size, arena), (double)m->size / (double)m->last_cache,
             human_bytes((int64_t)m->last_cache, cache), b->threads, b->threads > 1 ? "s" : "");
  if (m->size < CACHES * m->last_cache)
    bench_note(b, "(that is a quarter of the free memory: some of the data may still lie in the cache)\n");
  bench_note(b, "\n");
}
