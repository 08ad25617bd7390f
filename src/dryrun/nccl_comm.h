/* Communicators of the stand-in's NCCL. */
#ifndef WF_DRYRUN_NCCL_COMM_H
#define WF_DRYRUN_NCCL_COMM_H

#include "dryrun/stand_in.h"

/* ncclResult_t. */
enum { NCCL_OK = 0, NCCL_SYSTEM_ERROR = 2, NCCL_INTERNAL_ERROR = 3, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5 };

typedef struct nccl_id {
  char text[128];
} nccl_id;

typedef struct wf__dry_letter wf__dry_letter;

typedef struct wf__dry_comm {
  int rank, ranks, device;
  bool local;              /* all ranks are in this process, or there is one only: nothing is sent */
  int splits;              /* made so far */
  int *sockets;            /* rank 0: one to each other rank, by rank; others: [0] to rank 0 */
  int box;                 /* a socket for what single ranks send; -1: none */
  wf__dry_letter *letters; /* that came before they were asked for, the first first */
  nccl_id id;
} wf__dry_comm;

/* The communicator behind a program's handle, or NULL. */
wf__dry_comm *wf__dry_comm_of(void *handle);
/* Bytes of an element of ncclDataType_t. */
size_t wf__dry_nccl_bytes(int type);
/* Whether so many elements are really moved: few integers, between processes. The same for all ranks that take part. */
bool wf__dry_nccl_moves(const wf__dry_comm *comm, size_t bytes, int type, void *stream);

/* Joins the others that have the same id, on this machine; waits for them. An NCCL error code. */
int wf__dry_comm_join(wf__dry_comm **comm, int ranks, const nccl_id *id, int rank);
/* One whose other ranks aren't elsewhere. */
wf__dry_comm *wf__dry_comm_local(int ranks, int rank, int device);
void wf__dry_comm_free(wf__dry_comm *comm);

/* Every rank gives so many bytes and gets those of all, by rank. `known`: whether the bytes mean something; false when any rank's don't, and then `all` has
 * no meaning either. Returns an NCCL error code. */
int wf__dry_comm_exchange(wf__dry_comm *comm, const void *mine, bool *known, size_t bytes, char *all);

/* ---- nccl_mail.c: from one rank to another ---- */

/* Where others send to; before the communicator is joined. */
bool wf__dry_mail_open(wf__dry_comm *comm);
void wf__dry_mail_close(wf__dry_comm *comm);
/* Doesn't wait for the receiver. `known`: whether the bytes mean something. An NCCL error code. */
int wf__dry_mail_send(wf__dry_comm *comm, int peer, const void *data, bool known, size_t bytes);
/* Waits for the next letter of that rank. One of another size is taken, and isn't known. */
int wf__dry_mail_receive(wf__dry_comm *comm, int peer, void *data, bool *known, size_t bytes);

#endif
