/* What one rank sends another: letters, which come in the order of each sender; what has no place in one comes in several. Every rank has a box, a
 * socket with a name that needs no file. A box holds few letters, so whoever finds the other's full empties its own meanwhile: two that send each other
 * many before either receives don't wait for one another. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/host.h"
#include "dryrun/nccl_comm.h"

enum { MILLISECONDS_TO_WAIT = 300000, MOST_BYTES = 65536 /* of a letter: sockets take twice as much */ };

typedef struct head {
  int32_t from;
  uint32_t known; /* if not, no bytes follow */
  uint64_t bytes; /* in all */
} head;

struct wf__dry_letter {
  struct wf__dry_letter *next;
  head head;
  size_t bytes; /* here */
  char data[];
};

static socklen_t name_of(const wf__dry_comm *comm, int rank, struct sockaddr_un *name) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "weft-dry-%.80s/%d", comm->id.text, rank);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool wf__dry_mail_open(wf__dry_comm *comm) {
  struct sockaddr_un name;
  socklen_t length = name_of(comm, comm->rank, &name);
  comm->box = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return comm->box >= 0 && !bind(comm->box, (struct sockaddr *)&name, length);
}

void wf__dry_mail_close(wf__dry_comm *comm) {
  if (comm->box >= 0) close(comm->box);
  comm->box = -1;
  for (wf__dry_letter *l = comm->letters, *next; l; l = next) {
    next = l->next;
    wf__release(l);
  }
  comm->letters = NULL;
}

/* ---- letters at hand ---- */

static wf__dry_letter *letter_new(size_t bytes) {
  wf__dry_letter *letter = wf__malloc(sizeof *letter + bytes);
  if (letter) letter->next = NULL, letter->bytes = bytes;
  else wf_error_take();
  return letter;
}

static void keep(wf__dry_comm *comm, wf__dry_letter *letter) {
  wf__dry_letter **end = &comm->letters;
  while (*end) end = &(*end)->next;
  *end = letter;
}

/* The first one of a rank, taken out; NULL: none. */
static wf__dry_letter *taken(wf__dry_comm *comm, int from) {
  wf__dry_letter **at = &comm->letters, *found;
  while (*at && (*at)->head.from != from) at = &(*at)->next;
  found = *at;
  if (found) *at = found->next;
  return found;
}

/* Takes all that lie in the box. False: the host has no memory. */
static bool empty_box(wf__dry_comm *comm) {
  for (;;) {
    ssize_t size = recv(comm->box, NULL, 0, MSG_PEEK | MSG_TRUNC);
    if (size < (ssize_t)sizeof(head)) return true; /* nothing more */
    wf__dry_letter *letter = letter_new((size_t)size - sizeof(head));
    if (!letter) return false;
    struct iovec parts[2] = {{&letter->head, sizeof letter->head}, {letter->data, (size_t)size - sizeof(head)}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (recvmsg(comm->box, &message, 0) != size) return wf__release(letter), true;
    keep(comm, letter);
  }
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int given_up(const char *what) {
  wf__dry_limit(what, "the other rank took no part in time: what it would have got or given isn't known");
  return NCCL_SYSTEM_ERROR;
}

/* ---- sending and receiving ---- */

static int send_to_self(wf__dry_comm *comm, const head *h, const void *data) {
  wf__dry_letter *letter = letter_new((size_t)h->bytes);
  if (!letter) return NCCL_SYSTEM_ERROR;
  letter->head = *h;
  memcpy(letter->data, data, (size_t)h->bytes);
  keep(comm, letter);
  return NCCL_OK;
}

static int send_letter(wf__dry_comm *comm, int peer, head h, const char *data, size_t bytes) {
  struct sockaddr_un name;
  struct iovec parts[2] = {{&h, sizeof h}, {(void *)(uintptr_t)data, bytes}};
  struct msghdr message = {.msg_name = &name, .msg_iov = parts, .msg_iovlen = 2};
  message.msg_namelen = name_of(comm, peer, &name);
  for (int64_t end = now() + MILLISECONDS_TO_WAIT; now() < end;) {
    if (sendmsg(comm->box, &message, MSG_NOSIGNAL) >= 0) return NCCL_OK;
    /* Its box is full, or not there yet. */
    if (errno != EAGAIN && errno != ECONNREFUSED && errno != ENOBUFS && errno != EINTR) return NCCL_SYSTEM_ERROR;
    if (!empty_box(comm)) return NCCL_SYSTEM_ERROR;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return given_up("ncclSend");
}

int wf__dry_mail_send(wf__dry_comm *comm, int peer, const void *data, bool known, size_t bytes) {
  head h = {.from = comm->rank, .known = known, .bytes = bytes};
  if (peer == comm->rank) return send_to_self(comm, &h, data);
  if (!known) return send_letter(comm, peer, h, NULL, 0);
  int code = NCCL_OK;
  for (size_t done = 0, n; done < bytes && code == NCCL_OK; done += n) {
    n = bytes - done < MOST_BYTES ? bytes - done : MOST_BYTES;
    code = send_letter(comm, peer, h, (const char *)data + done, n);
  }
  return code;
}

/* An NCCL error code. */
static int next_letter(wf__dry_comm *comm, int peer, wf__dry_letter **letter) {
  for (int64_t end = now() + MILLISECONDS_TO_WAIT; !(*letter = taken(comm, peer));) {
    if (now() >= end || comm->box < 0) return given_up("ncclRecv");
    struct pollfd box = {.fd = comm->box, .events = POLLIN};
    poll(&box, 1, 100);
    if (!empty_box(comm)) return NCCL_SYSTEM_ERROR;
  }
  return NCCL_OK;
}

int wf__dry_mail_receive(wf__dry_comm *comm, int peer, void *data, bool *known, size_t bytes) {
  size_t done = 0, all;
  do {
    wf__dry_letter *letter;
    int code = next_letter(comm, peer, &letter);
    if (code != NCCL_OK) return code;
    *known = letter->head.known && letter->head.bytes == bytes;
    all = letter->head.known ? (size_t)letter->head.bytes : 0;
    if (*known && letter->bytes <= bytes - done) memcpy((char *)data + done, letter->data, letter->bytes);
    done += letter->bytes;
    wf__release(letter);
  } while (done < all);
  return NCCL_OK;
}
