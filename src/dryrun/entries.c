/* Entry points that are known by name only. entries.def has them, out of NVIDIA's headers; each gets a function here that writes its results
 * as zeros or new handles and returns success, unless a function of that name is defined elsewhere: those here are weak. */
#include <string.h>
#include "dryrun/stand_in.h"

/* Arguments as words: integers and pointers come in the same places whatever their number is (6 registers, or 8, then the stack), so reading more
 * than were passed reads what lies above on the stack, and only words that are results are used. */
#define WORDS                                                                                                       \
  long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9, long a10, long a11,     \
      long a12, long a13, long a14, long a15, long a16, long a17, long a18, long a19, long a20, long a21, long a22, \
      long a23
#define VALUES \
  a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23

#define ENTRY(library, name, results)                               \
  __attribute__((weak)) DRY_API long name(WORDS) {                  \
    static const wf__dry_entry entry = {#library, #name, results};  \
    return wf__dry_answer(&entry, (const long[DRY_SLOTS]){VALUES}); \
  }
#include "dryrun/entries.def"
#undef ENTRY

void wf__dry_called(const char *name) {
  wf__dry_count(&(wf__dry_happening){.kind = "library", .what = name, .device = wf__dry_current_device()});
}

/* "12l" is slot 12, letter l. Device memory is no place for a result: the argument was an array there. */
static void write_result(long word, char letter) {
  void *to = (void *)word, *token;
  if (!to || wf__dry_is_device(to)) return;
  if (letter == 'h') {
    token = wf__dry_token();
    memcpy(to, &token, sizeof token);
  } else {
    memset(to, 0, letter == 'l' ? 8 : 4);
  }
}

static bool names_one_of(const char *name, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strstr(name, words[i])) return true;
  return false;
}
#define NAMES_ONE_OF(name, words) names_one_of(name, words, sizeof(words) / sizeof *(words))

static const char *why_limited(const wf__dry_entry *entry) {
  static const char *const sizes[] = {"Size", "size", "Workspace", "stimat", "GEMM_compute", "GEMMreuse_compute"};
  static const char *const counts[] = {"Nnz", "nnz", "NumProducts", "SpMatGetSize"};
  bool numbers = strpbrk(entry->results, "il") != NULL;
  if (!strcmp(entry->library, "cudart") || !strcmp(entry->library, "driver"))
    return "it did nothing and returned success: what it does on a GPU isn't counted";
  if (numbers && NAMES_ONE_OF(entry->name, counts)) return "a count that depends on data was answered with 0";
  if (numbers && NAMES_ONE_OF(entry->name, sizes))
    return "the size that it asks for was answered with 0, so this workspace isn't counted";
  return NULL;
}

/* Calls of a library that computes, other than those that only prepare. */
static bool computes(const wf__dry_entry *entry) {
  static const char *const libraries[] = {"cublas", "cublasLt", "cudnn", "cufft", "cusolver", "cusparse"};
  static const char *const prepares[] = {"Create", "Destroy", "Set", "Get", "Algo", "Desc", "Init", "Plan", "Finalize"};
  bool known = false;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) known |= !strcmp(entry->library, libraries[i]);
  return known && !NAMES_ONE_OF(entry->name, prepares);
}

/* Calls that write to no memory of the program's; of others that isn't known. */
static bool writes_nothing(const wf__dry_entry *entry) {
  static const char *const words[] = {"Create", "Destroy", "Desc", "egister"};
  return NAMES_ONE_OF(entry->name, words);
}

long wf__dry_answer(const wf__dry_entry *entry, const long slots[DRY_SLOTS]) {
  if (!writes_nothing(entry)) wf__dry_contents_forget();
  for (const char *at = entry->results; *at;) {
    int slot = 0;
    for (; *at >= '0' && *at <= '9'; at++) slot = slot * 10 + *at - '0';
    if (slot < DRY_SLOTS) write_result(slots[slot], *at);
    at++;
    if (*at == ',') at++;
  }
  const char *why = why_limited(entry);
  if (why) wf__dry_limit(entry->name, why);
  else wf__dry_called(entry->name);
  if (!why && computes(entry))
    wf__dry_limit(entry->library, "its calls launch kernels of its own choice, which aren't among those counted");
  return DRY_OK;
}
