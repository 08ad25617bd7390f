/* The stand-in's NCCL between processes of one machine: few integers are really moved, and what isn't known stays unknown. Expected values by hand. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dryrun/cuda_runtime_calls.h"
#include "test.h"

typedef struct nccl_id {
  char text[128];
} nccl_id;
int ncclGetUniqueId(nccl_id *id);
int ncclCommInitRank(void **comm, int ranks, nccl_id id, int rank);
int ncclCommInitAll(void **comms, int count, const int *devices);
int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
int ncclCommCount(void *comm, int *ranks);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommDestroy(void *comm);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm, void *stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm, void *stream);
int ncclSend(const void *from, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *to, size_t count, int type, int peer, void *comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAlltoAll(const void *from, void *to, size_t count, int type, void *comm, void *stream);
int ncclGather(const void *from, void *to, size_t count, int type, int root, void *comm, void *stream);
int ncclScatter(const void *from, void *to, size_t count, int type, int root, void *comm, void *stream);
int ncclRedOpCreatePreMulSum(int *operation, void *scalar, int type, int where, void *comm);

enum { RANKS = 3, INT32 = 2, INT64 = 4, FLOAT = 7, SUM = 0, MAXIMUM = 2, UP = 1, DOWN = 2 };

/* What each rank does; returns whether all of it was right. */
typedef bool (*work)(void *comm, int rank);

static void on_all_ranks(work what) {
  nccl_id id;
  pid_t children[RANKS];
  assert_int_equal(ncclGetUniqueId(&id), 0);
  for (int rank = 0; rank < RANKS; rank++) {
    children[rank] = fork();
    if (children[rank]) continue;
    void *comm;
    bool right = !ncclCommInitRank(&comm, RANKS, id, rank) && what(comm, rank) && !ncclCommDestroy(comm);
    _exit(right ? 0 : 1);
  }
  for (int rank = 0; rank < RANKS; rank++) {
    int status = 1;
    waitpid(children[rank], &status, 0);
    assert_int_equal(status, 0);
  }
}

static void *uploaded(const void *from, size_t bytes) {
  void *at = NULL;
  cudaMalloc(&at, bytes * RANKS);
  cudaMemcpy(at, from, bytes, UP);
  return at;
}

static bool sums(void *comm, int rank) {
  int32_t mine[2] = {rank + 1, -10 * rank}, all[2];
  int64_t wide = rank == 1 ? -5 : rank - 100, most;
  void *a = uploaded(mine, sizeof mine), *b = uploaded(&wide, sizeof wide);
  ncclAllReduce(a, a, 2, INT32, SUM, comm, NULL);
  cudaMemcpy(all, a, sizeof all, DOWN);
  ncclAllReduce(b, b, 1, INT64, MAXIMUM, comm, NULL);
  cudaMemcpy(&most, b, sizeof most, DOWN);
  return all[0] == 6 && all[1] == -30 && most == -5;
}
static void integers_are_added_over_all_ranks(void **state) { on_all_ranks(sums); }

static bool gathers(void *comm, int rank) {
  int64_t mine = 7 * rank, all[RANKS], part, three[RANKS] = {rank, 10 + rank, 20 + rank};
  void *a = uploaded(&mine, sizeof mine), *to, *b = uploaded(three, sizeof three);
  cudaMalloc(&to, sizeof all);
  ncclAllGather(a, to, 1, INT64, comm, NULL);
  cudaMemcpy(all, to, sizeof all, DOWN);
  ncclReduceScatter(b, a, 1, INT64, SUM, comm, NULL);
  cudaMemcpy(&part, a, sizeof part, DOWN);
  return all[0] == 0 && all[1] == 7 && all[2] == 14 && part == 3 + 30 * rank;
}
static void parts_come_in_the_order_of_ranks(void **state) { on_all_ranks(gathers); }

static bool broadcasts(void *comm, int rank) {
  int32_t value = rank * 11, got;
  void *a = uploaded(&value, sizeof value);
  ncclBroadcast(a, a, 1, INT32, 1, comm, NULL);
  cudaMemcpy(&got, a, sizeof got, DOWN);
  return got == 11;
}
static void everyone_gets_what_the_root_has(void **state) { on_all_ranks(broadcasts); }

static bool unknown(void *comm, int rank) {
  int32_t value = 5, got = 9;
  void *a = uploaded(&value, sizeof value);
  if (rank == 2) cudaMemset(a, 1, sizeof value); /* from now on it isn't known what it holds */
  ncclAllReduce(a, a, 1, INT32, SUM, comm, NULL);
  cudaMemcpy(&got, a, sizeof got, DOWN);
  return got == 0;
}
static void what_one_rank_does_not_know_is_zero_for_all(void **state) { on_all_ranks(unknown); }

static bool splits(void *comm, int rank) {
  void *part, *none;
  int ranks, own;
  int32_t value = rank, got;
  if (ncclCommSplit(comm, rank == 1 ? -1 : 4, -rank, &part, NULL)) return false;
  if (rank == 1) return part == NULL && !ncclCommSplit(comm, -1, 0, &none, NULL);
  ncclCommCount(part, &ranks);
  ncclCommUserRank(part, &own);
  void *a = uploaded(&value, sizeof value);
  ncclBroadcast(a, a, 1, INT32, 0, part, NULL);
  cudaMemcpy(&got, a, sizeof got, DOWN);
  ncclCommDestroy(part);
  return ranks == 2 && own == (rank == 2 ? 0 : 1) && got == 2 && !ncclCommSplit(comm, -1, 0, &none, NULL);
}
static void a_part_has_the_order_of_its_keys(void **state) { on_all_ranks(splits); }

static bool averages(void *comm, int rank) {
  enum { AVERAGE = 4 };
  int32_t value = 3 * rank, got = 9, custom = SUM;
  void *a = uploaded(&value, sizeof value), *b = uploaded(&value, sizeof value);
  ncclAllReduce(a, a, 1, INT32, AVERAGE, comm, NULL);
  cudaMemcpy(&got, a, sizeof got, DOWN);
  if (got != 0) return false;
  got = 9;
  ncclRedOpCreatePreMulSum(&custom, &value, INT32, 0, comm);
  ncclAllReduce(b, b, 1, INT32, custom, comm, NULL);
  cudaMemcpy(&got, b, sizeof got, DOWN);
  return got == 0;
}
static void what_is_not_computed_is_not_known_rather_than_a_sum(void **state) { on_all_ranks(averages); }

static int32_t downloaded(const void *at) {
  int32_t value = -1;
  cudaMemcpy(&value, at, sizeof value, DOWN);
  return value;
}

static bool sends_round(void *comm, int rank) {
  int32_t value = 100 + rank, none[RANKS] = {0};
  void *a = uploaded(&value, sizeof value), *b = uploaded(none, sizeof none);
  ncclGroupStart();
  ncclRecv(b, 1, INT32, (rank + RANKS - 1) % RANKS, comm, NULL); /* before it sends: in a group that doesn't matter */
  ncclSend(a, 1, INT32, (rank + 1) % RANKS, comm, NULL);
  if (ncclGroupEnd()) return false;
  return downloaded(b) == 100 + (rank + RANKS - 1) % RANKS;
}
static void what_is_sent_in_a_group_goes_round(void **state) { on_all_ranks(sends_round); }

static bool sends_to_first(void *comm, int rank) {
  int32_t value = rank, one = 0, two = 0;
  void *a = uploaded(&value, sizeof value), *b = uploaded(&one, sizeof one);
  if (rank) return !ncclSend(a, 1, INT32, 0, comm, NULL);
  if (ncclRecv(b, 1, INT32, 2, comm, NULL)) return false;
  cudaMemcpy(&two, b, sizeof two, DOWN);
  if (ncclRecv(b, 1, INT32, 1, comm, NULL)) return false;
  cudaMemcpy(&one, b, sizeof one, DOWN);
  return one == 1 && two == 2;
}
static void whoever_is_asked_for_is_received_first(void **state) { on_all_ranks(sends_to_first); }

/* A box holds a dozen. */
static bool sends_many(void *comm, int rank) {
  enum { MANY = 200 };
  if (rank == 2) return true;
  int32_t value = 0, got = 0;
  void *a = uploaded(&value, sizeof value);
  for (int i = 0; i < MANY; i++) {
    value = 1000 * rank + i;
    cudaMemcpy(a, &value, sizeof value, UP);
    if (ncclSend(a, 1, INT32, 1 - rank, comm, NULL)) return false;
  }
  for (int i = 0; i < MANY; i++) {
    if (ncclRecv(a, 1, INT32, 1 - rank, comm, NULL)) return false;
    cudaMemcpy(&got, a, sizeof got, DOWN);
    if (got != 1000 * (1 - rank) + i) return false;
  }
  return true;
}
static void many_are_sent_before_any_is_received_and_keep_their_order(void **state) { on_all_ranks(sends_many); }

static bool exchanges(void *comm, int rank) {
  int32_t mine[RANKS] = {10 * rank, 10 * rank + 1, 10 * rank + 2}, none[RANKS] = {0};
  void *a = uploaded(mine, sizeof mine), *b = uploaded(none, sizeof none), *c = uploaded(none, sizeof none);
  if (ncclAlltoAll(a, b, 1, INT32, comm, NULL)) return false;
  cudaMemcpy(none, b, sizeof none, DOWN); /* three parts that came from three ranks, at once */
  for (int i = 0; i < RANKS; i++)
    if (none[i] != 10 * i + rank) return false;
  if (ncclGather(a, b, 1, INT32, 1, comm, NULL) || ncclScatter(a, c, 1, INT32, 2, comm, NULL)) return false;
  cudaMemcpy(none, b, sizeof none, DOWN);
  if (rank == 1 && (none[0] != 0 || none[1] != 10 || none[2] != 20)) return false;
  return downloaded(c) == 20 + rank;
}
static void each_rank_has_a_part_for_each(void **state) { on_all_ranks(exchanges); }

/* More than a letter, or than a socket takes at once; and more than is kept. */
static bool sends_large(void *comm, int rank) {
  enum { MANY = 300001, TOO_MANY = (4 << 20) / (int)sizeof(int32_t) + 1 };
  int32_t *mine = calloc(TOO_MANY, sizeof *mine), *got = calloc(TOO_MANY, sizeof *got);
  for (int i = 0; i < MANY; i++) mine[i] = 1000000 * rank + i;
  void *a = uploaded(mine, MANY * sizeof *mine), *b = uploaded(mine, TOO_MANY * sizeof *mine);
  ncclGroupStart();
  ncclRecv(b, MANY, INT32, (rank + RANKS - 1) % RANKS, comm, NULL);
  ncclSend(a, MANY, INT32, (rank + 1) % RANKS, comm, NULL);
  if (ncclGroupEnd()) return false;
  cudaMemcpy(got, b, MANY * sizeof *got, DOWN);
  int from = (rank + RANKS - 1) % RANKS;
  bool right = got[0] == 1000000 * from && got[MANY - 1] == 1000000 * from + MANY - 1;
  ncclBroadcast(a, a, MANY, INT32, 1, comm, NULL);
  cudaMemcpy(got, a, MANY * sizeof *got, DOWN);
  right &= got[MANY - 1] == 1000000 + MANY - 1;
  ncclBroadcast(b, b, TOO_MANY, INT32, 1, comm, NULL);
  cudaMemcpy(got, b, 4, DOWN);
  right &= got[0] == 0;
  free(mine);
  free(got);
  return right;
}
static void up_to_4_MiB_arrive(void **state) { on_all_ranks(sends_large); }

static bool sends_unknown(void *comm, int rank) {
  int32_t value = 5, got = 9;
  void *a = uploaded(&value, sizeof value);
  if (rank == 2) return true;
  if (rank == 0) return cudaMemset(a, 1, sizeof value) == 0 && !ncclSend(a, 1, INT32, 1, comm, NULL);
  if (ncclRecv(a, 1, INT32, 0, comm, NULL)) return false;
  cudaMemcpy(&got, a, sizeof got, DOWN);
  return got == 0;
}
static void what_the_sender_does_not_know_is_zero(void **state) { on_all_ranks(sends_unknown); }

/* Numbers that aren't integers are results of kernels: they aren't waited for. */
static bool sends_floats(void *comm, int rank) {
  float value = 5;
  void *a = uploaded(&value, sizeof value);
  return !ncclRecv(a, 1, FLOAT, (rank + 1) % RANKS, comm, NULL) &&
         !ncclSend(a, 1, FLOAT, (rank + 1) % RANKS, comm, NULL);
}
static void floats_are_counted_and_not_waited_for(void **state) { on_all_ranks(sends_floats); }

static void nobody_sends_to_ranks_that_are_none_or_ends_a_group_twice(void **state) {
  nccl_id id;
  void *comm;
  int32_t value = 5, got = 0;
  assert_int_equal(ncclGetUniqueId(&id), 0);
  assert_int_equal(ncclCommInitRank(&comm, 1, id, 0), 0);
  void *a = uploaded(&value, sizeof value), *b = uploaded(&got, sizeof got);
  assert_int_not_equal(ncclSend(a, 1, INT32, 1, comm, NULL), 0);
  assert_int_not_equal(ncclRecv(a, 1, INT32, -1, comm, NULL), 0);
  assert_int_not_equal(ncclGroupEnd(), 0);
  assert_int_equal(ncclSend(a, 1, INT32, 0, comm, NULL), 0); /* to itself */
  assert_int_equal(ncclRecv(b, 1, INT32, 0, comm, NULL), 0);
  cudaMemcpy(&got, b, sizeof got, DOWN);
  assert_int_equal(got, 5);
  assert_int_equal(ncclCommDestroy(comm), 0);
}

static void a_root_that_is_no_rank_is_refused(void **state) {
  enum { INVALID_ARGUMENT = 4 };
  nccl_id id;
  void *comm;
  int32_t value = 5;
  assert_int_equal(ncclGetUniqueId(&id), 0);
  assert_int_equal(ncclCommInitRank(&comm, 1, id, 0), 0);
  void *a = uploaded(&value, sizeof value);
  assert_int_equal(ncclBroadcast(a, a, 1, INT32, 1, comm, NULL), INVALID_ARGUMENT);
  assert_int_equal(ncclBroadcast(a, a, 1, INT32, -1, comm, NULL), INVALID_ARGUMENT);
  assert_int_equal(ncclBroadcast(a, a, 1, INT32, 0, comm, NULL), 0);
  assert_int_equal(ncclCommDestroy(comm), 0);
}

static void ranks_of_one_process_cannot_be_split(void **state) {
  void *comms[2], *part = comms;
  assert_int_equal(ncclCommInitAll(comms, 2, NULL), 0);
  assert_int_not_equal(ncclCommSplit(comms[0], 1, 0, &part, NULL), 0);
  assert_null(part);
  ncclCommDestroy(comms[0]);
  ncclCommDestroy(comms[1]);
}

static void ranks_of_one_process_do_not_wait_for_each_other(void **state) {
  void *comms[2];
  int rank;
  assert_int_equal(ncclCommInitAll(comms, 2, NULL), 0);
  ncclCommUserRank(comms[1], &rank);
  assert_int_equal(rank, 1);
  assert_int_equal(ncclAllReduce(NULL, NULL, 4, INT32, SUM, comms[0], NULL), 0);
  assert_int_equal(ncclAllReduce(NULL, NULL, 4, FLOAT, SUM, comms[1], NULL), 0);
  assert_int_equal(ncclCommDestroy(comms[0]), 0);
  assert_int_equal(ncclCommDestroy(comms[1]), 0);
  assert_int_not_equal(ncclCommDestroy(comms[1]), 0);
}

int main(void) {
  /* Those that fork first: a process that has used a device leaves none to its children. */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_added_over_all_ranks),
      cmocka_unit_test(parts_come_in_the_order_of_ranks),
      cmocka_unit_test(everyone_gets_what_the_root_has),
      cmocka_unit_test(what_one_rank_does_not_know_is_zero_for_all),
      cmocka_unit_test(a_part_has_the_order_of_its_keys),
      cmocka_unit_test(what_is_not_computed_is_not_known_rather_than_a_sum),
      cmocka_unit_test(what_is_sent_in_a_group_goes_round),
      cmocka_unit_test(whoever_is_asked_for_is_received_first),
      cmocka_unit_test(many_are_sent_before_any_is_received_and_keep_their_order),
      cmocka_unit_test(each_rank_has_a_part_for_each),
      cmocka_unit_test(up_to_4_MiB_arrive),
      cmocka_unit_test(what_the_sender_does_not_know_is_zero),
      cmocka_unit_test(floats_are_counted_and_not_waited_for),
      cmocka_unit_test(a_root_that_is_no_rank_is_refused),
      cmocka_unit_test(nobody_sends_to_ranks_that_are_none_or_ends_a_group_twice),
      cmocka_unit_test(ranks_of_one_process_cannot_be_split),
      cmocka_unit_test(ranks_of_one_process_do_not_wait_for_each_other),
  };
  return cmocka_run_group_tests_name("dryrun nccl", tests, NULL, NULL);
}
