/* From a return address to a line of source, by the process's own debug information (libdw). Reports only: the first name costs
 * the time to read the tables of the file it lies in, later ones are remembered. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef WF_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

#include "base/host.h"
#include "trace/trace.h"

#define NAME_BYTES 256
#define REMEMBERED 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* libdw isn't for several threads */
static struct {
  const void *site;
  const char *name;
} remembered[REMEMBERED];

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

#ifdef WF_HAVE_LIBDW
static Dwfl *session;

/* Separate debug files by build id only: the standard search would go as far as asking servers. */
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_build_id_find_debuginfo};

static void close_session(void) {
  if (session) dwfl_end(session);
  session = NULL;
}

static bool open_session(void) {
  session = dwfl_begin(&callbacks);
  if (!session) return false;
  dwfl_report_begin(session);
  bool fine = dwfl_linux_proc_report(session, getpid()) == 0;
  fine = dwfl_report_end(session, NULL, NULL) == 0 && fine;
  if (!fine) close_session();
  return fine;
}

/* The module of an address. A library loaded since the session began is found by beginning a new one. */
static Dwfl_Module *module_at(Dwarf_Addr address) {
  if (!session && !open_session()) return NULL;
  Dwfl_Module *module = dwfl_addrmodule(session, address);
  if (module) return module;
  close_session();
  return open_session() ? dwfl_addrmodule(session, address) : NULL;
}

/* clang leaves out the table of address ranges by which a unit is found: then every unit of the module is asked. */
static const char *search_units(Dwfl_Module *module, Dwarf_Addr address, int *number) {
  Dwarf_Addr bias;
  for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));) {
    if (dwarf_haspc(unit, address - bias) <= 0) continue;
    Dwarf_Line *line = dwarf_getsrc_die(unit, address - bias);
    if (line && dwarf_lineno(line, number) == 0) return dwarf_linesrc(line, NULL, NULL);
  }
  return NULL;
}

static bool line_name(Dwarf_Addr address, char *buffer, size_t size) {
  Dwfl_Module *module = module_at(address);
  if (!module) return false;
  int number = 0;
  Dwfl_Line *line = dwfl_module_getsrc(module, address);
  const char *file =
      line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : search_units(module, address, &number);
  if (!file || number <= 0) return false;
  snprintf(buffer, size, "%s:%d", base_name(file), number);
  return true;
}

#else
static bool line_name(uintptr_t address, char *buffer, size_t size) { return false; }
#endif

static void address_name(const void *site, char *buffer, size_t size) {
  Dl_info info;
  if (dladdr(site, &info) && info.dli_fname && info.dli_fbase)
    snprintf(buffer, size, "%s+0x%zx", base_name(info.dli_fname),
             (size_t)((const char *)site - (const char *)info.dli_fbase));
  else snprintf(buffer, size, "0x%zx", (size_t)(uintptr_t)site);
}

char *wf_site_name(const void *site, char *buffer, size_t size) {
  char name[NAME_BYTES];
  if (!buffer || !size) return buffer;
  if (!site) {
    snprintf(buffer, size, "?");
    return buffer;
  }
  size_t i = ((uintptr_t)site ^ ((uintptr_t)site >> 10)) % REMEMBERED;
  pthread_mutex_lock(&lock);
  if (remembered[i].site != site || !remembered[i].name) {
    /* A return address is the instruction after the call, often on the next line: one byte before it lies in the call. */
    if (!line_name((uintptr_t)site - 1, name, sizeof name)) address_name(site, name, sizeof name);
    const char *kept = wf__intern(name);
    if (kept) {
      remembered[i].site = site;
      remembered[i].name = kept;
    }
    snprintf(buffer, size, "%s", name);
  } else {
    snprintf(buffer, size, "%s", remembered[i].name);
  }
  pthread_mutex_unlock(&lock);
  return buffer;
}
