/* Runs a fuzz target once on each file of the folders given, and on the empty input, without libFuzzer: the corpus as a test. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int count;

/* An exact copy, so that a sanitizer sees a read beyond the input. */
static void run(const uint8_t *data, size_t size, const char *name) {
  uint8_t *copy = malloc(size ? size : 1);
  if (copy && size) memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  printf("ok %d - %s\n", ++count, name);
  fflush(stdout);
}

static int run_file(const char *path, const char *name) {
  static uint8_t data[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return 1;
  }
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  run(data, size, name);
  return 0;
}

int main(int argc, char **argv) {
  int failures = 0;
  run((const uint8_t *)"", 0, "the empty input");
  for (int i = 1; i < argc; i++) {
    DIR *folder = opendir(argv[i]);
    if (!folder) continue; /* a target without a corpus yet */
    for (struct dirent *entry; (entry = readdir(folder));) {
      char path[4096];
      if (entry->d_name[0] == '.') continue;
      snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
      failures += run_file(path, entry->d_name);
    }
    closedir(folder);
  }
  printf("1..%d\n", count);
  return failures != 0;
}
