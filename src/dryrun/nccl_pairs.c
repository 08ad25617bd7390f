/* NCCL from one rank to another, and what is made of it: ncclSend, ncclRecv, groups of them, all to all, gather, scatter. Few integers really move, as in
 * collectives. In a group nothing happens before its end; then all is sent before anything is waited for, as NCCL has them run side by side. */
#include "base/host.h"
#include "dryrun/nccl_comm.h"

typedef struct passage {
  wf__dry_comm *comm;
  void *stream;
  const void *from; /* NULL: it receives */
  void *to;
  size_t bytes;
  int type, peer;
} passage;

/* Those that wait for the end of this thread's group. */
static __thread struct {
  int depth;
  passage *list;
  size_t count, room;
} group __attribute__((tls_model("initial-exec")));

static int send_one(const passage *p) {
  char *data = wf__calloc(p->bytes, 1);
  if (!data) return wf_error_take(), NCCL_SYSTEM_ERROR;
  bool known = wf__dry_contents_get(p->from, data, p->bytes);
  int code = wf__dry_mail_send(p->comm, p->peer, data, known, p->bytes);
  wf__release(data);
  return code;
}

static int receive_one(const passage *p) {
  bool known = false;
  char *data = wf__malloc(p->bytes);
  if (!data) return wf_error_take(), NCCL_SYSTEM_ERROR;
  int code = wf__dry_mail_receive(p->comm, p->peer, data, &known, p->bytes);
  wf__dry_contents_put(p->to, known ? data : NULL, p->bytes);
  wf__release(data);
  return code;
}

static int run_all(const passage *list, size_t count) {
  int code = NCCL_OK;
  for (size_t i = 0; i < count && code == NCCL_OK; i++)
    if (list[i].from) code = send_one(&list[i]);
  for (size_t i = 0; i < count && code == NCCL_OK; i++)
    if (!list[i].from) code = receive_one(&list[i]);
  return code;
}

static bool add(const passage *p) {
  if (group.count == group.room) {
    size_t room = group.room ? 2 * group.room : 16;
    passage *list = wf__realloc(group.list, room * sizeof *list);
    if (!list) return wf_error_take(), false;
    group.list = list;
    group.room = room;
  }
  group.list[group.count++] = *p;
  return true;
}

/* Now, or at the end of the group. What doesn't move leaves unknown bytes. */
static int pass(passage p) {
  if (!p.comm || p.peer < 0 || p.peer >= p.comm->ranks) return NCCL_INVALID_ARGUMENT;
  if (!wf__dry_nccl_moves(p.comm, p.bytes, p.type, p.stream)) {
    if (!p.from) wf__dry_contents_put(p.to, NULL, p.bytes);
    return NCCL_OK;
  }
  if (!group.depth) return run_all(&p, 1);
  return add(&p) ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

DRY_API int ncclGroupStart(void) { return group.depth++, NCCL_OK; }
DRY_API int ncclGroupEnd(void) {
  if (!group.depth) return NCCL_INVALID_USAGE;
  if (--group.depth) return NCCL_OK;
  int code = run_all(group.list, group.count);
  wf__release(group.list);
  group.list = NULL;
  group.count = group.room = 0;
  return code;
}

static void count(const char *name, const wf__dry_comm *comm, size_t bytes, void *stream) {
  wf__dry_work(stream,
               (wf__dry_happening){.kind = "library", .what = name, .device = comm->device, .bytes = (int64_t)bytes});
}

DRY_API int ncclSend(const void *from, size_t elements, int type, int peer, void *handle, void *stream) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  size_t bytes = elements * wf__dry_nccl_bytes(type);
  if (!comm || (!from && bytes)) return NCCL_INVALID_ARGUMENT;
  count("ncclSend", comm, bytes, stream);
  return pass((passage){.comm = comm, .stream = stream, .from = from, .bytes = bytes, .type = type, .peer = peer});
}
DRY_API int ncclRecv(void *to, size_t elements, int type, int peer, void *handle, void *stream) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  size_t bytes = elements * wf__dry_nccl_bytes(type);
  if (!comm) return NCCL_INVALID_ARGUMENT;
  count("ncclRecv", comm, bytes, stream);
  return pass((passage){.comm = comm, .stream = stream, .to = to, .bytes = bytes, .type = type, .peer = peer});
}

/* ---- made of these: each rank has a part for each other, or one has them for all ---- */

typedef struct parts {
  const char *from;
  char *to;
  size_t bytes; /* of a part */
  int type;
  bool sends_all, gets_all; /* to and from every rank; else to and from the root */
  int root;
} parts;

static int pass_parts(const parts *p, wf__dry_comm *comm, void *stream) {
  int code = ncclGroupStart();
  for (int rank = 0; rank < comm->ranks && code == NCCL_OK; rank++) {
    passage one = {.comm = comm, .stream = stream, .bytes = p->bytes, .type = p->type, .peer = rank};
    passage out = one, in = one;
    out.from = p->from + (p->sends_all ? (size_t)rank * p->bytes : 0);
    in.to = p->to + (p->gets_all ? (size_t)rank * p->bytes : 0);
    if (p->from && (p->sends_all || rank == p->root)) code = pass(out);
    if (code == NCCL_OK && p->to && (p->gets_all || rank == p->root)) code = pass(in);
  }
  int end = ncclGroupEnd();
  return code == NCCL_OK ? end : code;
}

DRY_API int ncclAlltoAll(const void *from, void *to, size_t elements, int type, void *handle, void *stream) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  size_t bytes = elements * wf__dry_nccl_bytes(type);
  if (!comm) return NCCL_INVALID_ARGUMENT;
  count("ncclAlltoAll", comm, bytes * (size_t)comm->ranks, stream);
  return pass_parts(&(parts){from, to, bytes, type, true, true, 0}, comm, stream);
}
DRY_API int ncclGather(const void *from, void *to, size_t elements, int type, int root, void *handle, void *stream) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  size_t bytes = elements * wf__dry_nccl_bytes(type);
  if (!comm || root < 0 || root >= comm->ranks) return NCCL_INVALID_ARGUMENT;
  count("ncclGather", comm, bytes, stream);
  return pass_parts(&(parts){from, comm->rank == root ? to : NULL, bytes, type, false, true, root}, comm, stream);
}
DRY_API int ncclScatter(const void *from, void *to, size_t elements, int type, int root, void *handle, void *stream) {
  wf__dry_comm *comm = wf__dry_comm_of(handle);
  size_t bytes = elements * wf__dry_nccl_bytes(type);
  if (!comm || root < 0 || root >= comm->ranks) return NCCL_INVALID_ARGUMENT;
  count("ncclScatter", comm, bytes, stream);
  return pass_parts(&(parts){comm->rank == root ? from : NULL, to, bytes, type, true, false, root}, comm, stream);
}
