/* Whose memory blocks of a dry run are, by where they lie, who asked for them and what libraries asked for. */
#include "audit/dry_folder.h"

/* At the same place in each step: of these Python wrote but once. */
static void gradients_of_later_steps_keep_their_module(void **state) {
  begin_process(7, 0);
  for (int step = 1; step <= 2; step++) {
    wf_block *gradient = maker_alloc(&m, 4 * MIB, 0, BACKWARD),
             *activation = maker_alloc(&m, (size_t)step * MIB, 0, MODEL);
    if (step == 1) saw("gradient", gradient, 4 * MIB);
    step_ended(step);
    maker_free(&m, gradient, TRAIN);
    maker_free(&m, activation, TRAIN);
  }
  end_process(7, "steps", "", 2);
  wf_dry_run *run = read_run(&gib, 1, 0);
  const wf__dry_holder *most = run->detail.by_module.at;
  assert_int_equal(most->bytes, 4 * MIB);
  assert_string_equal(wf__dry_string(run, most->module), "Net.a");
  wf_dry_free(run);
}

static void what_nobody_saw_goes_by_who_asked(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 8519680, 0, MODEL); /* PyTorch's workspace for cuBLAS: 2 x 4096 KiB + 8 x 16 KiB */
  maker_alloc(&m, 3 * MIB, 0, BACKWARD);
  maker_alloc(&m, 2 * MIB, 0, OPTIMIZER);
  maker_alloc(&m, 1 * MIB, 0, MODEL);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  const uint64_t *bytes = run->detail.role_bytes;
  assert_int_equal(bytes[WF__DRY_WORKSPACE], 8519680);
  assert_int_equal(bytes[WF__DRY_BACKWARD], 3 * MIB);
  assert_int_equal(bytes[WF__DRY_STEP], 2 * MIB);
  assert_int_equal(bytes[WF__DRY_FORWARD], 1 * MIB);
  wf_dry_free(run);
}

static void buckets_are_of_the_line_in_ddp_itself(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 5 * MIB, 0, DDP);
  maker_alloc(&m, 3 * MIB, 0, MODEL_IN_DDP);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_int_equal(run->detail.role_bytes[WF__DRY_BUCKETS], 5 * MIB);
  assert_int_equal(run->detail.role_bytes[WF__DRY_FORWARD], 3 * MIB);
  wf_dry_free(run);
}

/* torch.optim has averages of weights as well; and what autograd's thread computes again is the forward pass. */
static void the_outermost_call_says_whose_memory_it_is(void **state) {
  begin_process(7, 0);
  maker_alloc(&m, 5 * MIB, 0, AVERAGE);
  maker_alloc(&m, 3 * MIB, 0, OWN_BACKWARD);
  maker_alloc(&m, 2 * MIB, 0, AGAIN);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_int_equal(run->detail.role_bytes[WF__DRY_STEP], 0);
  assert_int_equal(run->detail.role_bytes[WF__DRY_BACKWARD], 3 * MIB);
  assert_int_equal(run->detail.role_bytes[WF__DRY_FORWARD], 7 * MIB);
  wf_dry_free(run);
}

/* Of two blocks of a size that cuDNN asked for, one lives as long as a convolution, the other to the end. */
static void work_space_is_what_was_asked_for_and_lives_shortly(void **state) {
  begin_process(7, 0);
  asked_for(3 * MIB + 16, 2);
  asked_for(7 * MIB, 1);
  maker_alloc(&m, 3 * MIB + 16, 0, MODEL);
  wf_block *shortly = maker_alloc(&m, 3 * MIB + 16, 0, MODEL);
  maker_alloc(&m, 2 * MIB, 0, MODEL);
  maker_free(&m, shortly, MODEL);
  for (int i = 0; i < 8; i++) maker_free(&m, maker_alloc(&m, 512, 0, MODEL), MODEL);
  end_process(7, "exit", "", 0);
  wf_dry_run *run = read_run(&gib, 1, 0);
  assert_int_equal(run->detail.role_bytes[WF__DRY_WORKSPACE], 3 * MIB + 512);
  assert_int_equal(run->detail.role_bytes[WF__DRY_FORWARD], 5 * MIB + 512);
  wf_dry_free(run);
}

static const struct CMUnitTest tests[] = {
    DRY_TEST(gradients_of_later_steps_keep_their_module),
    DRY_TEST(what_nobody_saw_goes_by_who_asked),
    DRY_TEST(buckets_are_of_the_line_in_ddp_itself),
    DRY_TEST(the_outermost_call_says_whose_memory_it_is),
    DRY_TEST(work_space_is_what_was_asked_for_and_lives_shortly),
};

WF_TEST_MAIN("audit/dry_roles", tests)
