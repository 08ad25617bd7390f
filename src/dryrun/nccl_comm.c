/* How processes of one machine find one another and exchange a few bytes: rank 0 listens at a name made of the communicator's id, the others
 * connect, and each exchange goes through rank 0. */
#define _GNU_SOURCE
#include "dryrun/nccl_comm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/host.h"

enum { TENTHS_TO_WAIT = 3000, MOST_RANKS = 4096 };

/* A name that needs no file. */
static socklen_t name_of(const nccl_id *id, struct sockaddr_un *name) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "weft-dry-%.80s", id->text);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool send_all(int socket, const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = send(socket, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool receive_all(int socket, void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = recv(socket, (char *)data + done, bytes - done, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* ---- joining ---- */

/* Waits for all others; each says its rank. */
static bool accept_all(wf__dry_comm *comm) {
  struct sockaddr_un name;
  socklen_t length = name_of(&comm->id, &name);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct timeval limit = {.tv_sec = TENTHS_TO_WAIT / 10};
  bool good = listener >= 0 && !bind(listener, (struct sockaddr *)&name, length) && !listen(listener, comm->ranks) &&
              !setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  for (int i = 1; good && i < comm->ranks; i++) {
    int rank = 0, socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    good = socket >= 0 && receive_all(socket, &rank, sizeof rank) && rank > 0 && rank < comm->ranks &&
           comm->sockets[rank] < 0;
    if (good) comm->sockets[rank] = socket;
    else if (socket >= 0) close(socket);
  }
  if (listener >= 0) close(listener);
  return good;
}

static bool connect_to_first(wf__dry_comm *comm) {
  struct sockaddr_un name;
  socklen_t length = name_of(&comm->id, &name);
  comm->sockets[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (comm->sockets[0] < 0) return false;
  for (int i = 0; i < TENTHS_TO_WAIT; i++) {
    if (!connect(comm->sockets[0], (struct sockaddr *)&name, length))
      return send_all(comm->sockets[0], &comm->rank, sizeof comm->rank);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  }
  return false;
}

wf__dry_comm *wf__dry_comm_local(int ranks, int rank, int device) {
  wf__dry_comm *comm = wf__dry_handle_new(DRY_COMM, sizeof *comm);
  if (comm) *comm = (wf__dry_comm){.rank = rank, .ranks = ranks, .device = device, .local = true, .box = -1};
  return comm;
}

int wf__dry_comm_join(wf__dry_comm **made, int ranks, const nccl_id *id, int rank) {
  if (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks) return NCCL_INVALID_ARGUMENT;
  wf__dry_comm *comm = wf__dry_comm_local(ranks, rank, wf__dry_current_device());
  *made = comm;
  if (!comm) return NCCL_SYSTEM_ERROR;
  comm->id = *id;
  comm->local = ranks == 1;
  if (comm->local) return NCCL_OK;
  comm->sockets = wf__malloc((size_t)ranks * sizeof *comm->sockets);
  if (!comm->sockets) wf_error_take();
  for (int i = 0; comm->sockets && i < ranks; i++) comm->sockets[i] = -1;
  if (comm->sockets && wf__dry_mail_open(comm) && (rank ? connect_to_first(comm) : accept_all(comm))) return NCCL_OK;
  wf__dry_limit("ncclCommInitRank", "the other ranks didn't come: in a dry run all of them run on one machine");
  wf__dry_comm_free(comm);
  *made = NULL;
  return NCCL_SYSTEM_ERROR;
}

void wf__dry_comm_free(wf__dry_comm *comm) {
  for (int i = 0; comm->sockets && i < comm->ranks; i++)
    if (comm->sockets[i] >= 0) close(comm->sockets[i]);
  wf__release(comm->sockets);
  wf__dry_mail_close(comm);
  wf__dry_handle_free(comm);
}

/* ---- exchanging ---- */

/* Whether the bytes are known, and if so the bytes. */
static bool send_known(int socket, char known, const void *data, size_t bytes) {
  return send_all(socket, &known, 1) && (!known || send_all(socket, data, bytes));
}
static bool receive_known(int socket, char *known, void *data, size_t bytes) {
  return receive_all(socket, known, 1) && (!*known || receive_all(socket, data, bytes));
}

static bool gather_and_tell(wf__dry_comm *comm, char *known, size_t bytes, char *all) {
  for (int i = 1; i < comm->ranks; i++) {
    char theirs = 0;
    if (!receive_known(comm->sockets[i], &theirs, all + (size_t)i * bytes, bytes)) return false;
    *known = *known && theirs;
  }
  for (int i = 1; i < comm->ranks; i++)
    if (!send_known(comm->sockets[i], *known, all, (size_t)comm->ranks * bytes)) return false;
  return true;
}

int wf__dry_comm_exchange(wf__dry_comm *comm, const void *mine, bool *known, size_t bytes, char *all) {
  char flag = *known;
  bool good = true;
  memcpy(all + (size_t)comm->rank * bytes, mine, bytes);
  if (!comm->local && !comm->rank) good = gather_and_tell(comm, &flag, bytes, all);
  else if (!comm->local)
    good = send_known(comm->sockets[0], flag, mine, bytes) &&
           receive_known(comm->sockets[0], &flag, all, (size_t)comm->ranks * bytes);
  *known = flag;
  return good ? NCCL_OK : NCCL_SYSTEM_ERROR;
}
