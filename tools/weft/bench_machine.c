/* Memory that is cold, memcpy, and copies by streaming stores, on one or several threads.
 *
 * The threads are not the library's: what is measured here must not depend on it. They sleep while it works. Each has cores of its own,
 * as two that are woken on one would share what it can move, and the clock starts when all are awake. */
#define _GNU_SOURCE
#include "bench_machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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
#define BYTES_TO_WAKE 262144    /* enough for one more thread of the library's */
#define OTHERS 0.05             /* the share of the cores from which on other programs are mentioned */
#define USUAL_CACHE ((size_t)32 << 20)

typedef void (*copy_fn)(char *dst, const char *src, size_t bytes);

typedef struct member {
  machine_team *team;
  pthread_t thread;
  int number;
  double start, end;
} member;

struct machine_team {
  pthread_barrier_t begin, end; /* the caller's too */
  int threads;
  atomic_int awake;
  copy_fn copy; /* NULL: go home */
  char *dst;
  const char *src;
  size_t bytes;
  member *members; /* none where there is one thread: the caller does it */
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

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Deals the process's cores out to the threads. Where there are too few, all may run on all. */
static void take_cores(int number, int threads) {
  cpu_set_t all, own;
  if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < threads) return;
  CPU_ZERO(&own);
  for (int core = 0, turn = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, &all) && turn++ % threads == number) CPU_SET(core, &own);
  sched_setaffinity(0, sizeof own, &own);
}

static void wait_for_all(machine_team *t) {
  atomic_fetch_add(&t->awake, 1);
  while (atomic_load(&t->awake) < t->threads) sched_yield();
}

static void *serve(void *context) {
  member *m = context;
  take_cores(m->number, m->team->threads);
  for (;;) {
    pthread_barrier_wait(&m->team->begin);
    if (!m->team->copy) return NULL;
    wait_for_all(m->team);
    m->start = now();
    do_part(m->team, m->number);
    m->end = now();
    pthread_barrier_wait(&m->team->end);
  }
}

static void end_team(machine_team *t) {
  if (!t) return;
  t->copy = NULL;
  if (t->members) pthread_barrier_wait(&t->begin);
  for (int i = 0; t->members && i < t->threads; i++) pthread_join(t->members[i].thread, NULL);
  pthread_barrier_destroy(&t->begin);
  pthread_barrier_destroy(&t->end);
  free(t->members);
  free(t);
}

static machine_team *start_team(int threads) {
  machine_team *t = calloc(1, sizeof *t);
  member *members = threads > 1 ? calloc((size_t)threads, sizeof *members) : NULL;
  if (!t || (threads > 1 && !members)) return free(members), free(t), NULL;
  *t = (machine_team){.threads = threads, .members = members};
  pthread_barrier_init(&t->begin, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&t->end, NULL, (unsigned)threads + 1);
  for (int i = 0; members && i < threads; i++) {
    members[i] = (member){.team = t, .number = i};
    if (!pthread_create(&members[i].thread, NULL, serve, &members[i])) continue;
    /* Those that wait at the barrier can't be called back from there; they end with the process. */
    return NULL;
  }
  return t;
}

/* Before: the library's threads may still spin for work (11 ms), on cores that are needed here. Behind: ours fall asleep. The caller is busy
 * meanwhile, as a program is between two operators: on a virtual machine one that slept itself often wakes the library's on its own core. */
static void let_others_sleep(double seconds) {
  for (double end = now() + seconds; now() < end;) {}
}

static double time_team(machine_team *t) {
  let_others_sleep(0.02);
  atomic_store(&t->awake, 0);
  pthread_barrier_wait(&t->begin);
  pthread_barrier_wait(&t->end);
  let_others_sleep(0.001);
  double first = t->members[0].start, last = t->members[0].end;
  for (int i = 1; i < t->threads; i++) {
    if (t->members[i].start < first) first = t->members[i].start;
    if (t->members[i].end > last) last = t->members[i].end;
  }
  return last - first;
}

double machine_time(machine *m, machine_traffic traffic, size_t bytes) {
  machine_team *t = m->team;
  t->src = traffic == MACHINE_WRITE ? NULL : machine_take(m, bytes);
  t->dst = traffic == MACHINE_READ ? NULL : machine_take(m, bytes);
  t->copy = loop_for(traffic);
  t->bytes = traffic == MACHINE_MEMCPY ? bytes : bytes & ~(size_t)127;
  if (t->members) return time_team(t);
  double start = now();
  t->copy(t->dst, t->src, t->bytes);
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

/* Seconds that all cores together were busy since the system began; -1 when it doesn't say. */
static double busy_seconds(void) {
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return -1;
  long long user, nice, system, irq, softirq, steal;
  int found = fscanf(file, "cpu %lld %lld %lld %*d %*d %lld %lld %lld", &user, &nice, &system, &irq, &softirq, &steal);
  fclose(file);
  return found == 6 ? (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK) : -1;
}

static double own_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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
  m->opened = now();
  m->by_others = busy_seconds() - own_seconds();
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

void bench_note_others(const bench *b, const machine *m) {
  double busy = busy_seconds(), cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  double others = (busy - own_seconds() - m->by_others) / (now() - m->opened);
  if (busy < 0 || others < OTHERS * cores) return;
  bench_note(b, "\n(other programs had %.1f of the %.0f cores meanwhile: measure again when they are idle)\n", others,
             cores);
}

void bench_wake_threads(const bench *b) {
  if (b->threads == 1) return;
  wf_scope scope = wf_scope_begin();
  wf_tensor_options options = wf_tensor_defaults();
  options.dtype = WF_U8;
  wf_zero_(wf_empty(WF_SHAPE(b->threads, BYTES_TO_WAKE), &options));
  wf_scope_end(scope, NULL);
}
