/* Training and evaluation: five stages a batch, each in a zone of its own. Nothing in the loop waits for the device but the loader; the loss
 * is added up there and read once an epoch. */
#include <stdio.h>

#include "train.h"

#define TEST_BATCH 500
#define WARM_BATCHES 10 /* buffers, primitives and caches are made in the first few */
#define PROGRESS_EVERY 25

/* Mean and deviation of Fashion-MNIST's pixels, as the peer script has them. */
#define PIXEL_MEAN 0.2860
#define PIXEL_DEVIATION 0.3530

static wf_tensor *normalized(wf_tensor *pixels) {
  return wf_scale_shift(pixels, 1 / (255 * PIXEL_DEVIATION), -PIXEL_MEAN / PIXEL_DEVIATION, WF_F32);
}

static wf_loader *new_loader(const train_run *run, wf_dataset *dataset, int64_t batch, bool training) {
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = batch;
  o.shuffle = o.drop_last = training;
  o.workers = (int)run->options->workers;
  o.pipeline = run->options->pipeline;
  o.seed = (uint64_t)run->options->seed;
  o.device = run->options->device;
  return wf_loader_new(dataset, &o);
}

/* ---- one batch -------------------------------------------------------------------------------------------------------------------- */

/* The mean loss of the batch, [] on the device, in the open scope. */
static wf_tensor *forward(const train_run *run, const wf_batch *batch) {
  wf_zone_begin("forward");
  wf_tensor *logits = wf_module_forward(run->model, normalized(batch->field[0]));
  wf_tensor *loss = wf_cross_entropy(logits, batch->field[1], NULL, NULL);
  wf_zone_end();
  return loss;
}

static wf_status backward(wf_tensor *loss) {
  wf_zone_begin("backward");
  wf_status status = wf_backward(loss, NULL, NULL);
  wf_zone_end();
  return status;
}

/* The rate of the batch that is next: `batches` are in an epoch. */
static double rate(const train_run *run, int64_t batches) {
  const train_options *o = run->options;
  return o->linear ? o->lr * (1 - (double)run->batches / (double)(batches * o->epochs)) : o->lr;
}

static wf_status update(const train_run *run) {
  wf_zone_begin("optimizer");
  wf_status status = wf_optimizer_step(run->optimizer);
  if (!status) status = wf_optimizer_zero_grad(run->optimizer, true);
  wf_zone_end();
  return status;
}

static wf_status train_batch(const train_run *run, const wf_batch *batch, wf_tensor *total) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *loss = forward(run, batch);
  wf_status status = backward(loss);
  if (!status) status = update(run);
  if (!status) status = wf_add_(total, wf_detach(loss));
  wf_scope_end(scope, NULL);
  return status;
}

/* ---- epochs ------------------------------------------------------------------------------------------------------------------------ */

static void show_progress(const train_run *run, int64_t epoch, int64_t batches) {
  if (!run->options->progress || run->batches % PROGRESS_EVERY) return;
  fprintf(stderr, "\repoch %lld: batch %lld of %lld", (long long)epoch + 1, (long long)(run->batches - epoch * batches),
          (long long)batches);
  fflush(stderr);
}

static wf_status next_batch(wf_loader *loader, wf_batch *batch, bool *more) {
  int came = wf_loader_next(loader, batch);
  *more = came == 1;
  return came < 0 ? wf_error_peek().status : WF_OK;
}

static wf_status train_epoch(train_run *run, wf_loader *loader, int64_t epoch, wf_tensor *total) {
  wf_status status = wf_loader_start(loader, epoch);
  int64_t first = run->batches;
  while (!status && !interrupted()) {
    wf_batch batch;
    bool more;
    status = next_batch(loader, &batch, &more);
    if (status || !more) break;
    status = wf_optimizer_set_lr(run->optimizer, rate(run, wf_loader_batches(loader)));
    if (!status) status = train_batch(run, &batch, total);
    run->images += batch.size;
    if (++run->batches == WARM_BATCHES) run->implicit_at_start = wf_ledger_implicit_copies();
    show_progress(run, epoch, wf_loader_batches(loader));
  }
  if (status) return status;
  run->loss = run->batches > first ? wf_item_double(total) / (double)(run->batches - first) : 0;
  wf_zero_(total);
  wf_report_metric(run->report, "loss", epoch + 1, run->loss);
  return wf_error_peek().status;
}

static wf_status train_with(train_run *run, wf_loader *loader) {
  wf_tensor_options o = wf_tensor_defaults();
  o.device = run->options->device;
  wf_tensor *total = wf_zeros(WF_SHAPE0, &o);
  wf_status status = total ? WF_OK : wf_error_peek().status;
  run->start_ns = wf_clock_ns();
  wf_module_train(run->model, true);
  for (int64_t epoch = 0; !status && epoch < run->options->epochs && !interrupted(); epoch++)
    status = train_epoch(run, loader, epoch, total);
  if (!status) status = wf_device_sync(run->options->device);
  run->end_ns = wf_clock_ns();
  run->interrupted = interrupted();
  if (run->batches >= WARM_BATCHES) run->implicit_copies = wf_ledger_implicit_copies() - run->implicit_at_start;
  wf_free(total);
  if (run->options->progress) fputc('\n', stderr);
  return status;
}

wf_status train_epochs(train_run *run) {
  wf_loader *loader = new_loader(run, run->train, run->options->batch, true);
  wf_status status = loader ? train_with(run, loader) : wf_error_peek().status;
  wf_loader_free(loader);
  return status;
}

/* ---- evaluation --------------------------------------------------------------------------------------------------------------------- */

/* Adds the batch's summed loss and its number of right answers, both [] on the device. */
static wf_status evaluate_batch(const train_run *run, const wf_batch *batch, wf_tensor *loss, wf_tensor *right) {
  wf_scope scope = wf_scope_begin();
  wf_zone_begin("evaluate");
  wf_tensor *logits = wf_module_forward(run->model, normalized(batch->field[0]));
  wf_loss_options o = wf_loss_defaults();
  o.reduction = WF_REDUCE_SUM;
  wf_status status = wf_add_(loss, wf_cross_entropy(logits, batch->field[1], NULL, &o));
  wf_tensor *hits = wf_eq(wf_argmax(logits, 1, false), batch->field[1]);
  if (!status) status = wf_add_(right, wf_sum(hits));
  wf_zone_end();
  wf_scope_end(scope, NULL);
  return status;
}

static wf_status evaluate_with(train_run *run, wf_loader *loader) {
  wf_tensor_options o = wf_tensor_defaults();
  o.device = run->options->device;
  wf_tensor *loss = wf_zeros(WF_SHAPE0, &o);
  o.dtype = WF_I64;
  wf_tensor *right = wf_zeros(WF_SHAPE0, &o);
  wf_module_train(run->model, false);
  wf_status status = wf_error_peek().status;
  wf_batch batch;
  bool more = true;
  while (!status && !interrupted()) {
    status = next_batch(loader, &batch, &more);
    if (status || !more) break;
    status = evaluate_batch(run, &batch, loss, right);
  }
  if (!status && !more && wf_dataset_count(run->test) > 0) {
    double n = (double)wf_dataset_count(run->test);
    run->test_loss = wf_item_double(loss) / n;
    run->test_accuracy = wf_item_double(right) / n;
    status = wf_error_peek().status;
  }
  wf_free(loss);
  wf_free(right);
  return status;
}

wf_status train_evaluate(train_run *run) {
  bool was = wf_grad_set_enabled(false);
  wf_loader *loader = new_loader(run, run->test, TEST_BATCH, false);
  wf_status status = loader ? evaluate_with(run, loader) : wf_error_peek().status;
  wf_loader_free(loader);
  wf_grad_set_enabled(was);
  return status;
}
