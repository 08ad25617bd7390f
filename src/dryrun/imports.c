/* Whether everything that the loaded PyTorch asks of CUDA is there: a release that is newer than the table may import entry points that go to
 * NVIDIA's own libraries then, which need a GPU. Each of them is a limit in the report. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include "dryrun/stand_in.h"

/* The parts of an object's dynamic section that say what it imports. */
typedef struct imports {
  const ElfW(Sym) * symbols;
  const char *names;
  const uint32_t *hash; /* GNU's table: its second word is the first symbol that the object itself defines */
} imports;

/* Called without a device, these are answered by the libraries themselves. */
static bool needs_no_device(const char *name) {
  static const char *const endings[] = {"GetVersion",      "GetErrorString", "GetErrorName",     "GetLastErrorString",
                                        "GetStatusString", "GetStatusName",  "GetCudartVersion", "ncclGetLastError"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t n = strlen(endings[i]);
    if (length >= n && !strcmp(name + length - n, endings[i])) return true;
  }
  return false;
}

static bool is_ours_to_answer(const char *name) {
  static const char *const prefixes[] = {"cuda", "cublas", "cudnn", "cusparse", "cusolver", "cufft", "cupti", "nccl"};
  if (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2])) return true;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (!strncmp(name, prefixes[i], strlen(prefixes[i])) && isupper((unsigned char)name[strlen(prefixes[i])]))
      return true;
  return false;
}

static imports imports_of(const struct dl_phdr_info *info) {
  imports found = {0};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++) {
      const void *at = (const void *)d->d_un.d_ptr; /* the loader has made addresses of them */
      if (d->d_tag == DT_SYMTAB) found.symbols = at;
      if (d->d_tag == DT_STRTAB) found.names = at;
      if (d->d_tag == DT_GNU_HASH) found.hash = at;
    }
  }
  return found;
}

/* NVIDIA's libraries, which PyTorch's find by a path that leads out of their folder again, import of one another what is their own affair. */
static bool is_torch(const char *file) {
  const char *folder = "/torch/lib/", *found = file ? strstr(file, folder) : NULL;
  return found && !strchr(found + strlen(folder), '/');
}

static int check_object(struct dl_phdr_info *info, size_t size, void *own) {
  if (!is_torch(info->dlpi_name)) return 0;
  imports of = imports_of(info);
  for (uint32_t i = 1; of.symbols && of.names && of.hash && i < of.hash[1]; i++) {
    const char *name = of.names + of.symbols[i].st_name;
    if (of.symbols[i].st_shndx != SHN_UNDEF || !is_ours_to_answer(name) || needs_no_device(name) || dlsym(own, name))
      continue;
    wf__dry_limit(
        name, "PyTorch imports it and it isn't known here: calls of it go to NVIDIA's own library, which needs a GPU");
  }
  return 0;
}

static void check_all(void) {
  Dl_info self;
  void *own = dladdr((void *)(uintptr_t)check_all, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!own) return;
  dl_iterate_phdr(check_object, own);
  dlclose(own);
}

void wf__dry_check_imports(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, check_all);
}
