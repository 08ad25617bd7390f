/* A test that is a program of CUDA's: it starts itself again with the settings that the stand-in reads when it is loaded. */
#ifndef WF_TEST_DRY_PROGRAM_H
#define WF_TEST_DRY_PROGRAM_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void restart(char **arguments) {
  setenv("WEFT_DRY_GPU", "t4", 1);
  setenv("WEFT_DRY_GPUS", "2", 1);
  setenv("WEFT_DRY_MEM", "1073741824", 1);
  setenv("WEFT_DRY_CONTEXT", "314572800", 1);
  setenv("WEFT_DRY_EVENTS", "lazy", 1);
  const char *temporary = getenv("TMPDIR");
  char name[256];
  snprintf(name, sizeof name, "%s/weft-dry-XXXXXX", temporary ? temporary : P_tmpdir);
  if (!mkdtemp(name)) return;
  setenv("WEFT_DRY_DIR", name, 1);
  execv("/proc/self/exe", arguments);
}

/* Children of the test leave files of their own. */
static void remove_folder(void) {
  const char *folder = getenv("WEFT_DRY_DIR");
  char path[1024];
  DIR *listing = opendir(folder);
  for (const struct dirent *e; listing && (e = readdir(listing));) {
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] != '.') unlink(path);
  }
  if (listing) closedir(listing);
  rmdir(folder);
}

#endif
