/* Reads the folder of a dry run: launch.jsonl of the command that started it, events.PID.jsonl of the stand-in driver, roles.PID.jsonl of the
 * watching Python, one JSON object a line.
 * What is damaged (a process may be killed while it writes) is passed over and counted. */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/dry_parts.h"
#include "base/host.h"
#include "format/json_scanner.h"
#include "format/text.h"

/* All keys that any row has; what is left out is 0. */
typedef struct fields {
  uint32_t kind, what, text, file, function, argv, python, executable, torch, cuda, state, role, ended, module, name,
      architectures, numbers;
  int64_t device, step, line, count, bytes, address, time_us, runtime, steps, memory, context, major, minor;
  bool blocking, found;
} fields;

typedef enum key_type { TEXT, WHOLE, TRUTH } key_type;
typedef struct key {
  const char *name;
  key_type type;
  size_t offset;
} key;

#define KEY(name, type) \
  { #name, type, offsetof(fields, name) }
static const key keys[] = {{"why", TEXT, offsetof(fields, text)},
                           KEY(module, TEXT),
                           KEY(kind, TEXT),
                           KEY(what, TEXT),
                           KEY(text, TEXT),
                           KEY(file, TEXT),
                           KEY(function, TEXT),
                           KEY(argv, TEXT),
                           KEY(python, TEXT),
                           KEY(torch, TEXT),
                           KEY(executable, TEXT),
                           KEY(cuda, TEXT),
                           KEY(state, TEXT),
                           KEY(role, TEXT),
                           KEY(ended, TEXT),
                           KEY(name, TEXT),
                           KEY(architectures, TEXT),
                           KEY(numbers, TEXT),
                           KEY(memory, WHOLE),
                           KEY(context, WHOLE),
                           KEY(major, WHOLE),
                           KEY(minor, WHOLE),
                           KEY(device, WHOLE),
                           KEY(step, WHOLE),
                           KEY(line, WHOLE),
                           KEY(count, WHOLE),
                           KEY(bytes, WHOLE),
                           KEY(address, WHOLE),
                           KEY(time_us, WHOLE),
                           KEY(runtime, WHOLE),
                           KEY(steps, WHOLE),
                           KEY(blocking, TRUTH),
                           KEY(found, TRUTH)};

typedef struct reader {
  wf_dry_run *run;
  wf__scanner scanner;
  uint32_t process;
} reader;

static const key *key_named(const wf__scanner *s) {
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (wf__scan_is(s, keys[i].name, strlen(keys[i].name))) return &keys[i];
  return NULL;
}

/* A list of texts, joined by blanks: what a command line is written as. */
static bool read_list(reader *r, uint32_t *string) {
  wf__text joined = {0};
  wf__json_type type;
  while ((type = wf__scan_value(&r->scanner)) != WF__JSON_CLOSE && type != WF__JSON_END && type != WF__JSON_BAD) {
    if (type != WF__JSON_STRING) {
      if (!wf__scan_skip(&r->scanner, type)) break;
      continue;
    }
    if (joined.size) wf__text_put(&joined, " ");
    wf__text_append(&joined, r->scanner.text, r->scanner.size);
  }
  bool whole = !joined.status;
  *string = whole && joined.size ? wf__string_set_add(&r->run->strings, joined.data, joined.size) : 0;
  wf__text_release(&joined);
  return whole && *string != UINT32_MAX && type == WF__JSON_CLOSE;
}

/* The value of a key goes where the table says; one of another type than expected is passed over. False: damaged. */
static bool read_value(reader *r, const key *k, fields *to) {
  wf__scanner *s = &r->scanner;
  wf__json_type type = wf__scan_value(s);
  if (type == WF__JSON_BAD || type == WF__JSON_END) return false;
  void *place = k ? (char *)to + k->offset : NULL;
  if (k && k->type == TEXT && type == WF__JSON_STRING) {
    *(uint32_t *)place = wf__string_set_add(&r->run->strings, s->text, s->size);
    return *(uint32_t *)place != UINT32_MAX;
  }
  if (k && k->type == TEXT && type == WF__JSON_ARRAY) return read_list(r, place);
  if (k && k->type == WHOLE && type == WF__JSON_NUMBER) return wf__json_to_int(s->text, s->size, place);
  if (k && k->type == TRUTH) *(bool *)place = type == WF__JSON_TRUE;
  return wf__scan_skip(s, type);
}

static bool read_object(reader *r, fields *to) {
  wf__json_type type;
  *to = (fields){0};
  while ((type = wf__scan_key(&r->scanner)) == WF__JSON_STRING)
    if (!read_value(r, key_named(&r->scanner), to)) return false;
  return type == WF__JSON_CLOSE;
}

/* ---- what rows mean --------------------------------------------------------------------------------------------------- */

static int number_of(const char *const *names, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(names[i], name)) return i;
  return -1;
}

static wf_status add_event(reader *r, const fields *f) {
  static const char *const kinds[WF__DRY_KINDS] = {
      [WF__DRY_COPY] = "copy",       [WF__DRY_FILL] = "fill",      [WF__DRY_SYNC] = "sync",
      [WF__DRY_MALLOC] = "malloc",   [WF__DRY_FREE] = "free",      [WF__DRY_LAUNCH] = "launch",
      [WF__DRY_LIBRARY] = "library", [WF__DRY_LIMIT] = "limit",    [WF__DRY_READ] = "read",
      [WF__DRY_ASKED] = "workspace", [WF__DRY_UNCODED] = "uncoded"};
  wf__dry_process *p = &r->run->processes.at[r->process];
  const char *kind = wf__dry_string(r->run, f->kind);
  if (!strcmp(kind, "run")) {
    p->argv = f->argv;
    p->ended = f->ended;
    p->runtime = f->runtime;
    return WF_OK;
  }
  if (!strcmp(kind, "device")) {
    p->gpu = f->name;
    p->memory_bytes = f->memory;
    p->context_bytes = f->context;
    p->major = f->major;
    p->minor = f->minor;
    p->numbers = f->numbers;
    return WF_OK;
  }
  int number = number_of(kinds, WF__DRY_KINDS, kind);
  if (number < 0) return WF_OK; /* of a later version */
  wf__dry_row *row = WF__SNAP_ADD(r->run->rows);
  if (!row) return WF_NO_MEMORY;
  *row = (wf__dry_row){.kind = (uint8_t)number,
                       .what = f->what,
                       .text = f->text,
                       .file = f->file,
                       .function = f->function,
                       .line = f->line,
                       .step = f->step,
                       .count = f->count,
                       .bytes = f->bytes,
                       .device = (int32_t)f->device,
                       .blocking = f->blocking};
  p->row_count++;
  return WF_OK;
}

static wf_status add_storage(reader *r, const fields *f) {
  static const char *const roles[] = {"parameter", "gradient", "optimizer", "buffer"};
  int role = number_of(roles, 4, wf__dry_string(r->run, f->role));
  if (role < 0) return WF_OK;
  wf__dry_storage *s = WF__SNAP_ADD(r->run->storages);
  if (!s) return WF_NO_MEMORY;
  *s = (wf__dry_storage){(uint64_t)f->address, (uint64_t)f->bytes, f->time_us, f->module,
                         (int32_t)f->device,   (uint8_t)role};
  r->run->processes.at[r->process].storage_count++;
  return WF_OK;
}

static wf_status add_step(reader *r, const fields *f) {
  int64_t *time = WF__SNAP_ADD(r->run->steps);
  if (!time) return WF_NO_MEMORY;
  *time = f->time_us;
  r->run->processes.at[r->process].step_count++;
  return WF_OK;
}

static wf_status add_role(reader *r, const fields *f) {
  wf__dry_process *p = &r->run->processes.at[r->process];
  const char *kind = wf__dry_string(r->run, f->kind);
  if (!strcmp(kind, "role")) return add_storage(r, f);
  if (!strcmp(kind, "step")) return add_step(r, f);
  if (!strcmp(kind, "python")) {
    p->python = f->python;
    p->executable = f->executable;
    p->torch = f->torch;
    p->cuda = f->cuda;
    p->state = f->state;
    p->found_torch = f->found;
    if (!p->argv) p->argv = f->argv;
  } else if (!strcmp(kind, "hidden")) {
    p->hidden = f->text;
    p->gpus = f->count;
  } else if (!strcmp(kind, "lost")) {
    p->lost = f->text;
  } else if (!strcmp(kind, "code")) {
    p->architectures = f->architectures;
    p->began = true;
  } else if (!strcmp(kind, "end")) {
    p->finish = f->ended;
    p->finish_text = f->text;
    p->steps = f->steps;
    p->end_us = f->time_us;
  } else if (!strcmp(kind, "fraction")) {
    wf__dry_share *share = WF__SNAP_ADD(r->run->shares);
    if (!share) return WF_NO_MEMORY;
    *share = (wf__dry_share){r->process, (int32_t)f->device, strtod(wf__dry_string(r->run, f->text), NULL)};
  } else if (!strcmp(kind, "note")) {
    uint32_t *note = WF__SNAP_ADD(r->run->notes);
    if (!note) return WF_NO_MEMORY;
    *note = f->text;
  }
  return WF_OK;
}

/* What the command wrote that started the program: launch.jsonl. */
static wf_status add_launch(reader *r, const fields *f) {
  wf_dry_run *run = r->run;
  const char *kind = wf__dry_string(run, f->kind);
  if (!strcmp(kind, "command")) run->typed = f->text;
  if (!strcmp(kind, "status")) run->status = (int)f->count;
  if (strcmp(kind, "asked") || run->asked_count == WF_DRY_DEVICES) return WF_OK;
  char *name = wf__strdup(wf__dry_string(run, f->name));
  if (!name) return WF_NO_MEMORY;
  run->asked[run->asked_count++] =
      (wf_dry_device){wf__text_plain(name), f->memory, f->context, (int)f->major, (int)f->minor};
  return WF_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static wf_status read_rows(reader *r, wf_status (*add)(reader *, const fields *)) {
  wf__scanner *s = &r->scanner;
  wf_status status = WF_OK;
  for (wf__json_type type; !status && (type = wf__scan_value(s)) != WF__JSON_END;) {
    fields f;
    if (type == WF__JSON_OBJECT && read_object(r, &f)) {
      status = add(r, &f);
      continue;
    }
    WF__TRY(wf_error_peek().status); /* memory was out */
    r->run->damaged++;
    if (!wf__scan_resync(s)) break;
  }
  return status ? status : s->status;
}

/* False in *there when there is no such file. */
static wf_status read_file(reader *r, const char *name, wf_status (*add)(reader *, const fields *), bool *there) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", r->run->folder, name);
  FILE *file = fopen(path, "rb");
  *there = file != NULL;
  if (!file) return WF_OK;
  fclose(file);
  wf__input *input = wf__input_open(path, NULL, NULL);
  if (!input) return wf_error_peek().status;
  wf_status status = wf__scanner_open(&r->scanner, input);
  if (!status) status = read_rows(r, add);
  wf__scanner_close(&r->scanner);
  wf__input_close(input);
  return status;
}

static wf_status read_process(wf_dry_run *run, uint32_t i) {
  reader r = {.run = run, .process = i};
  wf__dry_process *p = &run->processes.at[i];
  char path[4096], name[64];
  bool roles;
  p->first_row = (uint32_t)run->rows.n;
  p->first_storage = (uint32_t)run->storages.n;
  p->first_step = (uint32_t)run->steps.n;
  snprintf(name, sizeof name, "events.%lld.jsonl", (long long)p->pid);
  WF__TRY(read_file(&r, name, add_event, &p->events));
  snprintf(name, sizeof name, "roles.%lld.jsonl", (long long)p->pid);
  WF__TRY(read_file(&r, name, add_role, &roles));
  static const char empty[] = "the file of its rows is empty";
  if (roles && !p->state && !p->lost) p->lost = wf__string_set_add(&run->strings, empty, strlen(empty));
  if (p->lost == UINT32_MAX) return WF_NO_MEMORY;
  if (!p->steps) p->steps = p->step_count; /* it was killed before it could say so */
  snprintf(path, sizeof path, "%s/snapshot.%lld.pickle", run->folder, (long long)p->pid);
  FILE *file = fopen(path, "rb");
  p->has_snapshot = file != NULL;
  if (file) fclose(file);
  return WF_OK;
}

/* The number between "NAME." and the end that belongs to it; -1 for other files. */
static int64_t pid_of(const char *name) {
  const char *at = NULL;
  if (!strncmp(name, "events.", 7)) at = name + 7;
  else if (!strncmp(name, "roles.", 6)) at = name + 6;
  if (!at) return -1;
  char *end;
  long long pid = strtoll(at, &end, 10);
  return end > at && !strcmp(end, ".jsonl") ? pid : -1;
}

static int by_pid(const void *a, const void *b) {
  const wf__dry_process *x = a, *y = b;
  return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static wf_status find_processes(wf_dry_run *run) {
  DIR *folder = opendir(run->folder);
  if (!folder) return wf__fail(WF_IO, "%s: %s", run->folder, strerror(errno));
  wf_status status = WF_OK;
  for (const struct dirent *e; !status && (e = readdir(folder));) {
    int64_t pid = pid_of(e->d_name);
    bool known = pid < 0;
    for (size_t i = 0; i < run->processes.n && !known; i++) known = run->processes.at[i].pid == pid;
    if (known) continue;
    wf__dry_process *p = WF__SNAP_ADD(run->processes);
    if (p) *p = (wf__dry_process){.pid = pid};
    else status = WF_NO_MEMORY;
  }
  closedir(folder);
  if (run->processes.n) qsort(run->processes.at, run->processes.n, sizeof *run->processes.at, by_pid);
  return status;
}

/* Texts come from the program and go to terminals and pages: those of several lines become one, what isn't shown as it is becomes '?'. */
static void make_plain(wf__string_set *strings) {
  for (size_t i = 0; i < strings->used; i++)
    if (strings->bytes[i] == '\n' || strings->bytes[i] == '\t' || strings->bytes[i] == '\r') strings->bytes[i] = ' ';
  wf__string_set_plain(strings);
}

wf_status wf__dry_read_rows(wf_dry_run *run) {
  reader launch = {.run = run};
  bool there;
  run->status = -1;
  WF__TRY(read_file(&launch, "launch.jsonl", add_launch, &there));
  WF__TRY(find_processes(run));
  for (uint32_t i = 0; i < run->processes.n; i++) WF__TRY(read_process(run, i));
  make_plain(&run->strings);
  return WF_OK;
}
