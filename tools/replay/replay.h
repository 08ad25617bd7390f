/* weft-replay: runs differential cases (straight-line programs and the state that PyTorch had after them) through the public API. */
#ifndef WEFT_REPLAY_H
#define WEFT_REPLAY_H

#include <jansson.h>
#include <weft/weft.h>

#define MAX_REGISTERS 256

typedef enum register_kind { REGISTER_NOTHING, REGISTER_TENSOR, REGISTER_VALUE, REGISTER_HANDLE } register_kind;

/* A name of a program and what it is bound to. Tensors belong to the scope that is open while the case runs. */
typedef struct reg {
  const char *name; /* owned by the case's JSON */
  register_kind kind;
  wf_tensor *tensor;
  wf_scalar scalar;
  const char *string; /* a value that is a word; scalar is NONE then */
  struct handle *handle;
} reg;

typedef struct registers {
  reg at[MAX_REGISTERS];
  int n;
} registers;

/* Operators that the library doesn't have, with how many cases wanted them. */
typedef struct missing {
  char name[64];
  int cases;
} missing;

typedef struct runner {
  const char *id;      /* of the case that runs */
  const json_t *steps; /* its program */
  int mismatches;      /* of this case */
  bool lacks;          /* the case needs something that doesn't exist */
  registers registers;
  struct handle *handles; /* hooks, optimisers, schedulers of this case */
  missing missing[128];
  int missing_count;
} runner;

/* Reports one mismatch of the present case: id, register (or step), field, what came, what was expected. */
void mismatch(runner *r, const char *where, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Says what was tolerated, in a line "note: …". */
void note(runner *r, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));

reg *find_register(registers *set, const char *name);
/* Binds name; an existing register of that name is replaced. NULL when there is no room. */
reg *bind_register(registers *set, const char *name);

/* A number of a case: a JSON number, a boolean, or one of the words nan, inf, -inf. */
wf_scalar json_scalar(const json_t *value);

/* Writes the number as the i-th element of `to`. */
void store_element(void *to, size_t i, wf_dtype dtype, wf_scalar s);

/* Runs the steps over `set`. failed: index of the step that raised the pending error, -1 for none. */
void run_steps(runner *r, registers *set, const json_t *steps, int *failed);

/* Steps that aren't plain operators: making tensors from data, gradients, hooks, checkpoints, optimisers. Returns whether it was one. */
bool run_special(runner *r, registers *set, const json_t *step, const char *op);
/* Notes that the library lacks `op` (and argument); the case counts as failed. */
void note_missing(runner *r, const char *op);
void free_handles(runner *r);

/* Whether element i of a register is the correctly rounded square root of its argument, and `wanted` its neighbour: see roots.c. */
bool root_beside(runner *r, const char *name, wf_dtype dtype, size_t i, double came, double wanted);
/* Compares the registers with the case's "expect". */
void compare_all(runner *r, registers *set, const json_t *test);

#endif
