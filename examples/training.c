/* A dataset of one's own, loaded by a worker into pinned memory, copied to the emulated accelerator on a stream of its own, and a small
 * network that learns it there: is a point above the sine? Saved, loaded on the host, and asked again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

#define POINTS 4096

/* Point i of a fixed cloud, made when it is asked for: fetch runs in several threads at once and must not change anything shared. */
static wf_status fetch(void *context, int64_t i, void *const *field) {
  (void)context;
  float *point = field[0];
  int64_t *above = field[1];
  point[0] = 3 * (float)sin((double)i * 12.9898);
  point[1] = 1.5f * (float)sin((double)i * 78.233);
  *above = point[1] > sinf(point[0]);
  return WF_OK;
}

static wf_module *network(void) {
  wf_module *layers[] = {wf_nn_linear(2, 64, true), wf_nn_relu(), wf_nn_linear(64, 2, true)};
  return wf_nn_sequential(layers, 3);
}

/* The share of points on whose side the network is right. */
static double accuracy(wf_module *net, wf_dataset *points, wf_device device) {
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = 512;
  o.device = device;
  wf_loader *loader = wf_loader_new(points, &o);
  bool was = wf_grad_set_enabled(false);
  wf_batch batch;
  double right = 0;
  while (wf_loader_next(loader, &batch) == 1) {
    wf_scope scope = wf_scope_begin();
    wf_tensor *answer = wf_argmax(wf_module_forward(net, batch.field[0]), 1, false);
    right += wf_item_double(wf_sum(wf_eq(answer, batch.field[1])));
    wf_scope_end(scope, NULL);
  }
  wf_grad_set_enabled(was);
  wf_loader_free(loader);
  return right / (double)wf_dataset_count(points);
}

static void train(wf_module *net, wf_dataset *points, wf_device device) {
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = 64;
  o.shuffle = true;
  o.workers = 1;
  o.device = device;
  wf_loader *loader = wf_loader_new(points, &o);
  wf_tensors params = wf_module_parameters(net);
  wf_optimizer *optimizer = wf_adamw_new(params, 5e-3, NULL);
  wf_module_list_free(params);
  for (int64_t epoch = 0; epoch < 8; epoch++) {
    wf_batch batch;
    wf_loader_start(loader, epoch);
    while (wf_loader_next(loader, &batch) == 1) {
      wf_scope scope = wf_scope_begin(); /* what a step makes goes when it ends */
      wf_tensor *loss = wf_cross_entropy(wf_module_forward(net, batch.field[0]), batch.field[1], NULL, NULL);
      wf_backward(loss, NULL, NULL);
      wf_optimizer_step(optimizer);
      wf_optimizer_zero_grad(optimizer, true);
      wf_scope_end(scope, NULL);
    }
  }
  wf_optimizer_free(optimizer);
  wf_loader_free(loader);
}

int main(void) {
  static const wf_dataset_ops ops = {fetch, NULL};
  const wf_field fields[] = {{.name = "point", .dtype = WF_F32, .ndim = 1, .size = {2}},
                             {.name = "above", .dtype = WF_I64}};
  wf_dataset *points = wf_dataset_new(&ops, NULL, POINTS, fields, 2);
  wf_manual_seed(1);
  wf_module *net = network();
  wf_module_to(net, wf_sim(0));
  train(net, points, wf_sim(0));
  double learned = accuracy(net, points, wf_sim(0));
  printf("right on the accelerator: %s\n", learned > 0.97 ? "more than 97 %" : "too little");

  wf_module_save(net, "points.safetensors");
  wf_module *again = network();
  wf_module_load(again, "points.safetensors");
  printf("the saved state on the host: %s\n",
         fabs(accuracy(again, points, wf_cpu()) - learned) < 1e-3 ? "the same" : "something else");
  remove("points.safetensors");

  wf_module_free(again);
  wf_module_free(net);
  wf_dataset_free(points);
  wf_error e = wf_error_take(); /* sticky: one look at the end sees the first failure of all of the above */
  if (e.status) fprintf(stderr, "%s\n  %s\n", e.text, e.hint);
  return e.status != WF_OK;
}
