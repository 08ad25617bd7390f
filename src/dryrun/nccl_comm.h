/* Communicators of the stand-in's NCCL. */
#ifndef WF_DRYRUN_NCCL_COMM_H
#define WF_DRYRUN_NCCL_COMM_H

#include "dryrun/stand_in.h"

/* ncclResult_t. */
enum { NCCL_OK = 0, NCCL_SYSTEM_ERROR = 2, NCCL_INTERNAL_ERROR = 3, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5 };

typedef struct nccl_id {
  char text[128];
} nccl_id;

typedef struct wf__dry_comm {
  int rank, ranks, device;
  bool local;   /* all ranks are in this process, or there is one only: nothing is sent */
  int splits;   /* made so far */
  int *sockets; /* rank 0: one to each other rank, by rank; others: [0] to rank 0 */
  nccl_id id;
} wf__dry_comm;

/* Joins the others that have the same id, on this machine; waits for them. An NCCL error code. */
int wf__dry_comm_join(wf__dry_comm **comm, int ranks, const nccl_id *id, int rank);
/* One whose other ranks aren't elsewhere. */
wf__dry_comm *wf__dry_comm_local(int ranks, int rank, int device);
void wf__dry_comm_free(wf__dry_comm *comm);

/* Every rank gives so many bytes and gets those of all, by rank. `known`: whether the bytes mean something; false when any rank's don't. Returns an NCCL
 * error code. */
int wf__dry_comm_exchange(wf__dry_comm *comm, const void *mine, bool *known, size_t bytes, char *all);

#endif
