/* weft train: what its parts share. */
#ifndef WEFT_TOOLS_TRAIN_H
#define WEFT_TOOLS_TRAIN_H

#include "weft.h"

/* What the command line asks for. */
typedef struct train_options {
  const char *data_dir; /* NULL: where the package puts it */
  wf_device device;
  wf_pipeline pipeline;
  int64_t epochs, batch, workers, threads, seed, limit; /* threads 0: as the environment says; limit -1: all */
  double lr;
  bool adamw;
  bool linear; /* the rate falls to zero over the run; else it is constant */
  bool evaluate_only, json, progress;
  const char *report_path, *trace_path, *save_path, *load_path;
} train_options;

/* Everything that a run holds. */
typedef struct train_run {
  const train_options *options;
  wf_dataset *whole, *train, *test;
  wf_module *model;
  wf_optimizer *optimizer;
  wf_report *report;
  int64_t images; /* trained on */
  int64_t batches;
  int64_t start_ns, end_ns;        /* of the training part */
  double loss;                     /* mean of the last epoch */
  double test_loss, test_accuracy; /* accuracy -1: not evaluated */
  int64_t implicit_at_start;       /* implicit copies up to batch 10 */
  int64_t implicit_copies;         /* behind it */
  bool interrupted;
} train_run;

/* The network of the peer script: two convolutions with batch norm, relu and pooling, two linear layers. NULL on error. */
wf_module *train_model_cnn(void);
/* Trains for the epochs asked for, or until Ctrl-C. */
wf_status train_epochs(train_run *run);
/* Loss and accuracy on the test images. */
wf_status train_evaluate(train_run *run);
/* Fills the report, prints it, and writes the files asked for. Works with an error pending: what failed gets its report too. */
wf_status train_report(train_run *run);

#endif
