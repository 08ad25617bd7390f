/* NCCL: communicators, and collectives that count what they would move. Those on few integers really move them, between processes of one machine: programs
 * compare shapes and counts with them and would stop at zeros. What single ranks send is in nccl_pairs.c. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include "base/host.h"
#include "dryrun/nccl_comm.h"

enum { INT8 = 0, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BFLOAT16 };
enum { SUM = 0, PRODUCT, MAXIMUM, MINIMUM, AVERAGE, CUSTOM };

size_t wf__dry_nccl_bytes(int type) {
  static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type <= BFLOAT16 ? bytes[type] : 1;
}

wf__dry_comm *wf__dry_comm_of(void *handle) { return wf__dry_handle(handle, DRY_COMM); }

/* ---- communicators ---- */

DRY_API int ncclGetVersion(int *version) {
  int (*real)(int *) = (int (*)(int *))wf__dry_real("libnccl.so.", "ncclGetVersion");
  return real ? real(version) : (*version = 22700, NCCL_OK);
}

DRY_API int ncclGetUniqueId(nccl_id *id) {
  uint64_t random[2] = {0, 0};
  memset(id, 0, sizeof *id);
  if (getrandom(random, sizeof random, 0) != sizeof random) return NCCL_SYSTEM_ERROR;
  snprintf(id->text, sizeof id->text, "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
  return NCCL_OK;
}

DRY_API int ncclCommInitRank(void **comm, int ranks, nccl_id id, int rank) {
  return wf__dry_comm_join((wf__dry_comm **)comm, ranks, &id, rank);
}
DRY_API int ncclCommInitRankConfig(void **comm, int ranks, nccl_id id, int rank, void *config) {
  return wf__dry_comm_join((wf__dry_comm **)comm, ranks, &id, rank);
}
DRY_API int ncclCommInitRankScalable(void **comm, int ranks, int rank, int count, const nccl_id *ids, void *config) {
  return count < 1 ? NCCL_INVALID_ARGUMENT : wf__dry_comm_join((wf__dry_comm **)comm, ranks, &ids[0], rank);
}
DRY_API int ncclCommInitAll(void **comms, int count, const int *devices) {
  for (int i = 0; i < count; i++) {
    comms[i] = wf__dry_comm_local(count, i, devices ? devices[i] : i);
    if (!comms[i]) return NCCL_SYSTEM_ERROR;
  }
  return NCCL_OK;
}

/* Whether each of its ranks is a process: only then do they meet. */
static bool is_apart(const wf__dry_comm *comm) { return !comm->local || comm->ranks == 1; }

/* Ranks of one colour make a communicator, in the order of their keys. */
DRY_API int ncclCommSplit(void *handle, int color, int key, void **made, void *config) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  *made = NULL;
  if (!comm) return NCCL_INVALID_ARGUMENT;
  if (!is_apart(comm)) {
    wf__dry_limit("ncclCommSplit", "ranks of one process don't meet in a dry run: their communicator wasn't split");
    return NCCL_INVALID_USAGE;
  }
  int mine[2] = {color, key};
  bool known = true;
  char *all = wf__malloc((size_t)comm->ranks * sizeof mine);
  if (!all) return wf_error_take(), NCCL_SYSTEM_ERROR;
  int code = wf__dry_comm_exchange(comm, mine, &known, sizeof mine, all);
  int rank = 0, ranks = 0;
  for (int i = 0; code == NCCL_OK && i < comm->ranks; i++) {
    int theirs[2];
    memcpy(theirs, all + (size_t)i * sizeof theirs, sizeof theirs);
    ranks += theirs[0] == color;
    rank += theirs[0] == color && (theirs[1] < key || (theirs[1] == key && i < comm->rank));
  }
  wf__release(all);
  nccl_id id = comm->id;
  size_t used = strlen(id.text);
  snprintf(id.text + used, sizeof id.text - used, ".%d.%d", comm->splits++, color);
  if (code != NCCL_OK || color < 0) return code;
  return wf__dry_comm_join((wf__dry_comm **)made, ranks, &id, rank);
}

static int leave(void *handle) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  if (comm) wf__dry_comm_free(comm);
  return comm ? NCCL_OK : NCCL_INVALID_ARGUMENT;
}
DRY_API int ncclCommDestroy(void *comm) { return leave(comm); }
DRY_API int ncclCommAbort(void *comm) { return leave(comm); }
DRY_API int ncclCommFinalize(void *comm) { return wf__dry_comm_of(comm) ? NCCL_OK : NCCL_INVALID_ARGUMENT; }
DRY_API int ncclCommGetAsyncError(void *comm, int *error) { return *error = NCCL_OK; }

static int tell(void *handle, int *value, int which) {
  const wf__dry_comm *comm = wf__dry_comm_of(handle);
  if (!comm) return NCCL_INVALID_ARGUMENT;
  *value = which == 0 ? comm->ranks : which == 1 ? comm->rank : comm->device;
  return NCCL_OK;
}
DRY_API int ncclCommCount(void *comm, int *ranks) { return tell(comm, ranks, 0); }
DRY_API int ncclCommUserRank(void *comm, int *rank) { return tell(comm, rank, 1); }
DRY_API int ncclCommCuDevice(void *comm, int *device) { return tell(comm, device, 2); }

DRY_API int ncclMemAlloc(void **address, size_t bytes) {
  int cudaMalloc(void **, size_t);
  return cudaMalloc(address, bytes) ? NCCL_SYSTEM_ERROR : NCCL_OK;
}
DRY_API int ncclMemFree(void *address) {
  int cudaFree(void *);
  return cudaFree(address) ? NCCL_INVALID_ARGUMENT : NCCL_OK;
}

/* ---- collectives ---- */

typedef struct collective {
  const char *name;
  const void *from;
  void *to;
  size_t count; /* elements that each rank gives */
  int type, operation, root;
  void *comm, *stream;
} collective;

/* All ranks' bytes to this rank's result, in place of `all`; returns its bytes, 0: this rank gets none. */
typedef size_t (*combine)(const collective *c, const wf__dry_comm *comm, char *all);

static bool is_integer(int type) { return type >= INT8 && type <= UINT64; }

/* Averages, and operations that the program made, are not. */
static bool is_computed(int operation) { return operation >= SUM && operation <= MINIMUM; }

bool wf__dry_nccl_moves(const wf__dry_comm *comm, size_t bytes, int type, void *stream_handle) {
  const wf__dry_stream *stream = wf__dry_stream_of(stream_handle);
  if (!bytes || !is_integer(type) || !is_apart(comm) || !stream || wf__dry_capturing(stream)) return false;
  if (bytes > DRY_CONTENTS_MOST && comm->ranks > 1)
    wf__dry_limit_up_to("integers between processes",
                        "more than 4 MiB of them at a time don't arrive: what is read of them is zeros",
                        (int64_t)bytes);
  return bytes <= DRY_CONTENTS_MOST;
}

static int64_t number_at(const char *p, int type) {
  int64_t wide = 0;
  int32_t narrow;
  memcpy(&wide, p, wf__dry_nccl_bytes(type));
  memcpy(&narrow, &wide, sizeof narrow);
  return type == INT32 ? narrow : type == INT8 ? (int8_t)wide : wide;
}

static int64_t combined(int64_t a, int64_t b, const collective *c) {
  bool less = c->type == UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
  switch (c->operation) {
    case PRODUCT: return (int64_t)((uint64_t)a * (uint64_t)b);
    case MAXIMUM: return less ? b : a;
    case MINIMUM: return less ? a : b;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
  }
}

static size_t reduce(const collective *c, const wf__dry_comm *comm, char *all) {
  size_t element = wf__dry_nccl_bytes(c->type);
  for (int rank = 1; rank < comm->ranks; rank++)
    for (size_t i = 0; i < c->count; i++) {
      char *to = all + i * element;
      int64_t sum = combined(number_at(to, c->type), number_at(to + (size_t)rank * c->count * element, c->type), c);
      memcpy(to, &sum, element);
    }
  return c->count * element;
}
static size_t reduce_to_root(const collective *c, const wf__dry_comm *comm, char *all) {
  size_t bytes = reduce(c, comm, all);
  return comm->rank == c->root ? bytes : 0;
}
static size_t reduce_and_scatter(const collective *c, const wf__dry_comm *comm, char *all) {
  size_t part = reduce(c, comm, all) / (size_t)comm->ranks;
  memmove(all, all + (size_t)comm->rank * part, part);
  return part;
}
static size_t gather(const collective *c, const wf__dry_comm *comm, char *all) {
  return c->count * wf__dry_nccl_bytes(c->type) * (size_t)comm->ranks;
}
static size_t broadcast(const collective *c, const wf__dry_comm *comm, char *all) {
  size_t bytes = c->count * wf__dry_nccl_bytes(c->type);
  memmove(all, all + (size_t)c->root * bytes, bytes);
  return bytes;
}

/* Moves the bytes and leaves in device memory what came. All ranks come here or none: it depends on type and count only. */
static int move(const collective *c, wf__dry_comm *comm, combine how) {
  size_t bytes = c->count * wf__dry_nccl_bytes(c->type);
  char *all = wf__calloc(bytes * ((size_t)comm->ranks + 1), 1);
  if (!all) return wf_error_take(), NCCL_SYSTEM_ERROR;
  char *mine = all + bytes * (size_t)comm->ranks;
  bool known = (how == broadcast && comm->rank != c->root) ||
               (is_computed(c->operation) && wf__dry_contents_get(c->from, mine, bytes));
  int code = wf__dry_comm_exchange(comm, mine, &known, bytes, all);
  size_t result = code == NCCL_OK ? how(c, comm, all) : 0;
  if (result) wf__dry_contents_put(c->to, known ? all : NULL, result);
  wf__release(all);
  return code;
}

static int run(collective c, combine how) {
  wf__dry_comm *comm = wf__dry_comm_of(c.comm);
  if (!comm || c.root < 0 || c.root >= comm->ranks) return NCCL_INVALID_ARGUMENT;
  size_t bytes = c.count * wf__dry_nccl_bytes(c.type);
  wf__dry_work(c.stream,
               (wf__dry_happening){.kind = "library", .what = c.name, .device = comm->device, .bytes = (int64_t)bytes});
  if (!wf__dry_nccl_moves(comm, bytes * (size_t)comm->ranks, c.type, c.stream)) {
    wf__dry_contents_put(c.to, NULL, bytes * (how == gather ? (size_t)comm->ranks : 1));
    return NCCL_OK;
  }
  return move(&c, comm, how);
}

DRY_API int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream) {
  return run((collective){"ncclAllReduce", from, to, count, type, operation, 0, comm, stream}, reduce);
}
DRY_API int ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root, void *comm,
                       void *stream) {
  return run((collective){"ncclReduce", from, to, count, type, operation, root, comm, stream}, reduce_to_root);
}
DRY_API int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, void *handle,
                              void *stream) {
  const wf__dry_comm *comm = wf__dry_comm_of(handle);
  if (!comm) return NCCL_INVALID_ARGUMENT;
  count *= (size_t)comm->ranks;
  return run((collective){"ncclReduceScatter", from, to, count, type, operation, 0, handle, stream},
             reduce_and_scatter);
}
DRY_API int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm, void *stream) {
  return run((collective){"ncclAllGather", from, to, count, type, SUM, 0, comm, stream}, gather);
}
DRY_API int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm, void *stream) {
  return run((collective){"ncclBroadcast", from, to, count, type, SUM, root, comm, stream}, broadcast);
}
DRY_API int ncclBcast(void *at, size_t count, int type, int root, void *comm, void *stream) {
  return ncclBroadcast(at, at, count, type, root, comm, stream);
}

DRY_API int ncclRedOpDestroy(int operation, void *comm) { return NCCL_OK; }
DRY_API int ncclRedOpCreatePreMulSum(int *operation, void *scalar, int type, int where, void *comm) {
  return *operation = CUSTOM, NCCL_OK;
}
