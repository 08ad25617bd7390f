/* What datasets are made of inside: operations, fields, and who owns the context. Public face: weft/data.h. */
#ifndef WF_DATA_DATASET_H
#define WF_DATA_DATASET_H

#include <weft/data.h>

struct wf_dataset {
  wf_dataset_ops ops;
  void *context;
  int64_t count;
  int fields;
  wf_field field[WF_SAMPLE_FIELDS];
  size_t field_bytes[WF_SAMPLE_FIELDS]; /* of one sample */
};

#endif
