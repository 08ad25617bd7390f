/* Reads a dry run and judges it: what came out, why it can't be told, what the estimate doesn't know. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/dry_parts.h"
#include "base/host.h"
#include "format/text.h"
#include "report/units.h"

/* The newest PyTorch that this was tried with. */
#define KNOWN_MAJOR 2
#define KNOWN_MINOR 15

wf_dry_options wf_dry_defaults(void) {
  return (wf_dry_options){.search = true,
                          .context_bytes = -1,
                          .exit_status = -1,
                          .max_pageable = NAN,
                          .max_syncs_per_step = NAN,
                          .rows = 12};
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* It holds memory longer than the first, so that it's the likelier to run out of it. NULL in *failure: it came through. */
static wf_status find_late_failure(const wf_dry_run *late, char **failure) {
  char text[1024];
  const char *why = wf__dry_why_not(late, text);
  uint32_t times = 0;
  for (size_t i = 0; i < late->places.n; i++) times += late->places.at[i].out_of_memory;
  if (!why && times) {
    snprintf(text, sizeof text,
             "It ran out of memory (%u time%s): whether the program fits hangs on when events finish.", times,
             times == 1 ? "" : "s");
    why = text;
  }
  *failure = why ? wf__strdup(why) : NULL;
  return why && !*failure ? WF_NO_MEMORY : WF_OK;
}

/* Of the second run only what its processes reserved counts, and whether it came through. */
static wf_status read_late(wf_dry_run *run) {
  wf_dry_options o = run->options;
  const char *folder = o.late_folder;
  if (!folder) return WF_OK;
  o.late_folder = NULL;
  o.search = false;
  o.exit_status = -1; /* as it was recorded */
  wf_dry_run *late = wf_dry_read(folder, &o);
  if (!late) return wf_error_peek().status;
  if (late->places.n) run->late_reserved = late->places.at[late->main_place].reserved;
  wf_status status = find_late_failure(late, &run->late_failure);
  wf_dry_free(late);
  return status;
}

/* What a run that can't be judged did until then fits, but nobody knows what would have come. */
static void forget_what_cant_be_told(wf_dry_run *run) {
  char text[1024];
  if (!wf__dry_why_not(run, text)) return;
  for (int i = 0; i < run->options.device_count; i++)
    if (run->answers[i].fit == WF__DRY_FITS) run->answers[i].fit = WF__DRY_FIT_UNKNOWN;
}

/* The device that a process saw, of those that recorded one; without any, one of which nothing is known. */
static wf_dry_device recorded_device(const wf_dry_run *run) {
  for (size_t i = 0; i < run->processes.n; i++) {
    const wf__dry_process *p = &run->processes.at[i];
    if (p->memory_bytes)
      return (wf_dry_device){wf__dry_string(run, p->gpu), p->memory_bytes, p->context_bytes, (int)p->major,
                             (int)p->minor};
  }
  return (wf_dry_device){.name = ""};
}

/* The devices that the question is asked of: those that are named now, else those that were when it ran, else the one that it ran as. */
static void settle_devices(wf_dry_run *run) {
  wf_dry_options *o = &run->options;
  wf_dry_device own = recorded_device(run);
  if (o->device_count) {
    memcpy(run->devices, o->devices, (size_t)o->device_count * sizeof *o->devices);
  } else if (run->asked_count) {
    o->device_count = run->asked_count;
    memcpy(run->devices, run->asked, (size_t)run->asked_count * sizeof *run->asked);
  } else {
    o->device_count = 1;
    run->devices[0] = own;
  }
  o->devices = run->devices;
  for (int i = 0; i < o->device_count; i++) {
    if (run->devices[i].context_bytes < 0) run->devices[i].context_bytes = own.context_bytes;
    if (o->context_bytes >= 0) run->devices[i].context_bytes = o->context_bytes;
  }
  if (o->exit_status < 0) o->exit_status = run->status;
}

static wf_status read_all(wf_dry_run *run, const char *folder, const wf_dry_options *o) {
  run->options = *o;
  if (o->device_count < 0 || o->device_count > WF_DRY_DEVICES)
    return wf__fail(WF_VALUE, "%s: at most %d devices are asked about, not %d", folder, WF_DRY_DEVICES,
                    o->device_count);
  if (run->options.rows < 1) run->options.rows = 1;
  run->folder = wf__strdup(folder);
  if (!run->folder) return WF_NO_MEMORY;
  WF__TRY(wf__dry_read_rows(run));
  if (!run->processes.n) {
    wf__fail(WF_VALUE, "%s: no program was recorded", run->typed ? wf__dry_string(run, run->typed) : folder);
    wf__hint(
        "neither CUDA nor Python came by: was it a PyTorch program, and not one that starts Python by -I, -E or -S, or in a cleared environment?");
    return WF_VALUE;
  }
  settle_devices(run);
  WF__TRY(wf__dry_find_places(run));
  WF__TRY(wf__dry_find_lines(run));
  forget_what_cant_be_told(run);
  return read_late(run);
}

wf_dry_run *wf_dry_read(const char *folder, const wf_dry_options *options) {
  wf_dry_options defaults = wf_dry_defaults();
  wf_dry_run *run = wf__calloc(1, sizeof *run);
  if (!run) return NULL;
  if (!read_all(run, folder, options ? options : &defaults)) return run;
  wf_dry_free(run);
  return NULL;
}

static void release_detail(wf__dry_detail *d) {
  wf_replay_free(d->settings);
  wf__memory_view_release(&d->view);
  wf__release(d->role);
  wf__release(d->by_line.at);
  wf__release(d->by_module.at);
  wf__release(d->steps.at);
  wf_snapshot_free(d->snapshot);
}

void wf_dry_free(wf_dry_run *run) {
  if (!run) return;
  release_detail(&run->detail);
  for (size_t i = 0; i < run->places.n; i++) wf__release(run->places.at[i].conf);
  for (int i = 0; i < run->asked_count; i++) wf__release((char *)(uintptr_t)run->asked[i].name);
  wf__release(run->folder);
  wf__release(run->snapshot_path);
  wf__release(run->late_failure);
  wf__string_set_release(&run->strings);
  wf__release(run->rows.at);
  wf__release(run->storages.at);
  wf__release(run->steps.at);
  wf__release(run->processes.at);
  wf__release(run->shares.at);
  wf__release(run->notes.at);
  wf__release(run->places.at);
  wf__release(run->lines.at);
  wf__release(run);
}

/* ---- judging ---------------------------------------------------------------------------------------------------------- */

static bool ended_by(const wf_dry_run *run, const char *how) {
  return !strcmp(wf__dry_string(run, wf__dry_main(run)->finish), how);
}

const char *wf__dry_command(const wf_dry_run *run) {
  return wf__dry_string(run, run->typed ? run->typed : wf__dry_main(run)->argv);
}

static bool has_read(const wf_dry_run *run) {
  for (size_t i = 0; i < run->lines.n; i++)
    if (run->lines.at[i].sum.kind == WF__DRY_READ) return true;
  return false;
}

bool wf__dry_caught(const wf_dry_run *run, const wf__dry_answer *a) {
  if (!run->places.n || !run->places.at[a->place].out_of_memory) return false;
  const char *finish = wf__dry_string(run, run->processes.at[run->places.at[a->place].process].finish);
  return !strcmp(finish, "exit") || !strcmp(finish, "steps");
}

static bool fails_somewhere(const wf_dry_run *run) {
  for (int i = 0; i < run->options.device_count; i++)
    if (run->answers[i].fit == WF__DRY_FITS_NOT || run->answers[i].no_code) return true;
  return false;
}

/* The program had its end, by itself or because it was wanted; or it ran out of memory, which is an answer too. */
static bool came_through(const wf_dry_run *run) {
  if (run->places.n && run->answers[0].fit == WF__DRY_FITS_NOT) return true;
  if (ended_by(run, "steps") || (ended_by(run, "exit") && run->options.exit_status <= 0)) return true;
  return !wf__dry_main(run)->finish && run->options.exit_status == 0;
}

bool wf__dry_lost(const wf_dry_run *run) {
  for (uint32_t i = 0; i < run->processes.n; i++)
    if (run->processes.at[i].lost) return true;
  return false;
}

static const char *why_lost(const wf_dry_run *run, const wf__dry_process *p, char text[1024]) {
  snprintf(
      text, 1024,
      "What process %lld did couldn't be recorded (%.300s). Is there room in the folder of the run? --keep or TMPDIR name another.",
      (long long)p->pid, wf__dry_string(run, p->lost));
  return text;
}

static const char *why_no_torch(const wf_dry_run *run, char text[1024]) {
  const wf__dry_process *p = wf__dry_main(run);
  const char *state = wf__dry_string(run, p->state), *python = wf__dry_string(run, p->executable);
  if (p->lost) return why_lost(run, p, text);
  if (!p->state)
    snprintf(
        text, 1024,
        "Python's part didn't run, so memory isn't known. Programs that start Python by -I, -E or -S, or that aren't Python, can't "
        "be watched.");
  else if (!strcmp(state, "no torch") && p->found_torch && run->options.exit_status > 0)
    snprintf(text, 1024, "The program ended with status %d before it imported torch (Python: %.600s).",
             run->options.exit_status, python);
  else if (!strcmp(state, "no torch"))
    snprintf(text, 1024,
             p->found_torch ? "The program never imported torch (Python: %.600s)."
                            : "No torch in this Python: %.600s. Install it there: pip install torch",
             python);
  else if (!strcmp(state, "no stand-in"))
    snprintf(
        text, 1024,
        "The stand-in driver wasn't loaded into %.600s, which was ended before it used a real GPU. Something between the command and "
        "Python takes LD_PRELOAD off (env -i, a wrapper), or that program may not be given libraries.",
        python);
  else if (!strcmp(state, "cpu"))
    snprintf(
        text, 1024,
        "PyTorch %.60s of %.600s is built without CUDA. A dry run needs a CUDA build, though no GPU: on Linux, pip "
        "install torch fetches one by itself.",
        wf__dry_string(run, p->torch), python);
  else if (!strcmp(state, "rocm"))
    snprintf(text, 1024, "PyTorch %.60s of %.600s is built for ROCm. Only CUDA builds can be run dry.",
             wf__dry_string(run, p->torch), python);
  else return NULL;
  return text;
}

/* Of a message that stands in a sentence of ours: without full stops of its own at the end. */
static int length_without_stop(const char *text, size_t most) {
  size_t n = strnlen(text, most);
  while (n && (text[n - 1] == '.' || text[n - 1] == ' ')) n--;
  return (int)n;
}

static bool failed(const wf_dry_run *run, const wf__dry_process *p) {
  const char *finish = wf__dry_string(run, p->finish);
  return *finish && strcmp(finish, "exit") && strcmp(finish, "steps");
}

static bool has_place(const wf_dry_run *run, uint32_t process) {
  for (size_t i = 0; i < run->places.n; i++)
    if (run->places.at[i].process == process) return true;
  return false;
}

static const char *why_no_history(const wf_dry_run *run, const wf__dry_process *p) {
  bool came_to_its_end = p->finish && !strcmp(wf__dry_string(run, p->state), "cuda");
  return came_to_its_end
             ? "it couldn't be had, for the reason that stands at the end of what this estimate doesn't know"
             : "it was killed, or isn't Python with PyTorch";
}

/* Of any process, though the one that started them all went on: what it would have held isn't known. */
static const char *why_not_all(const wf_dry_run *run, char text[1024]) {
  char bytes[WF__UNIT_TEXT];
  for (uint32_t i = 0; i < run->processes.n; i++) {
    const wf__dry_process *p = &run->processes.at[i];
    if (p->lost) return why_lost(run, p, text);
    int64_t asked = p->has_snapshot ? 0 : wf__dry_asked_of_driver(run, p, -1);
    if (p->began && !p->finish && !p->has_snapshot)
      snprintf(
          text, 1024,
          "Process %lld (%.300s) used a GPU, and was ended before it could write what memory it held. What the program needs isn't known.",
          (long long)p->pid, wf__dry_string(run, p->argv));
    else if (asked > 0)
      snprintf(
          text, 1024,
          "Process %lld (%.300s) asked for %s of a GPU, and left no history of its memory: %s. What the program needs isn't known.",
          (long long)p->pid, wf__dry_string(run, p->argv), wf__bytes_text(asked, bytes), why_no_history(run, p));
    else if (has_place(run, i) && failed(run, p))
      snprintf(text, 1024,
               "Process %lld ended by %.*s. What it did until then is counted, what it would have needed isn't known.",
               (long long)p->pid, length_without_stop(wf__dry_string(run, p->finish_text), 400),
               wf__dry_string(run, p->finish_text));
    else continue;
    return text;
  }
  return NULL;
}

const char *wf__dry_why_not(const wf_dry_run *run, char text[1024]) {
  const char *why = why_no_torch(run, text);
  const wf__dry_process *p = wf__dry_main(run);
  int status = run->options.exit_status;
  if (why) return why;
  bool came = came_through(run), fails = run->places.n && run->answers[0].fit == WF__DRY_FITS_NOT;
  why = came && !fails ? why_not_all(run, text) : NULL;
  if (why || (came && run->places.n)) return why;
  if (came && p->hidden)
    snprintf(
        text, 1024,
        "The program saw no GPU: %.400s leaves it none of those that there are (%lld, numbered from 0; --gpus N gives more).",
        wf__dry_string(run, p->hidden), (long long)p->gpus);
  else if (came && wf__dry_asked_of_driver(run, p, -1) > 0)
    snprintf(
        text, 1024,
        "The program asked for memory of a GPU past PyTorch's caching allocator, whose history is empty: by PYTORCH_NO_CUDA_MEMORY_CACHING, or an allocator "
        "of its own. Run it dry without.");
  else if (came)
    snprintf(
        text, 1024,
        "The program asked for no memory of a GPU. Does it choose the device by itself, or take it as an argument?");
  else if (p->finish_text)
    snprintf(text, 1024,
             "The program ended by %.*s. What it did until then is counted, what it would have needed isn't known.%s",
             length_without_stop(wf__dry_string(run, p->finish_text), 400), wf__dry_string(run, p->finish_text),
             ended_by(run, "exception") && has_read(run)
                 ? " It had read values of the GPU, which are zeros here: the lines that did are listed."
                 : "");
  else if (status > 128)
    snprintf(
        text, 1024,
        "The program was ended by signal %d. What it did until then is counted, what it would have needed isn't known.",
        status - 128);
  else
    snprintf(
        text, 1024,
        "The program ended with status %d. What it did until then is counted, what it would have needed isn't known.",
        status);
  return text;
}

static bool over(double n, double bound) { return !isnan(bound) && n > bound + 1e-9; }

wf_dry_verdict wf_dry_judge(const wf_dry_run *run) {
  char text[1024];
  if (run->places.n && fails_somewhere(run)) return WF_DRY_BROKEN;
  if (wf__dry_why_not(run, text)) return WF_DRY_UNJUDGED;
  if (over(run->counts.pageable, run->options.max_pageable)) return WF_DRY_BROKEN;
  if (over(run->counts.syncs, run->options.max_syncs_per_step)) return WF_DRY_BROKEN;
  for (int i = 0; i < run->options.device_count; i++)
    if (run->answers[i].fit == WF__DRY_FIT_UNKNOWN) return WF_DRY_UNJUDGED;
  return WF_DRY_FINE;
}

bool wf_dry_wants_late_run(const wf_dry_run *run) {
  for (size_t i = 0; i < run->places.n; i++)
    if (run->places.at[i].deferred) return true;
  return false;
}

const char *wf_dry_snapshot(const wf_dry_run *run) { return run->snapshot_path; }

/* ---- what isn't known -------------------------------------------------------------------------------------------------- */

typedef struct teller {
  const wf_dry_run *run;
  void (*fn)(void *context, const char *text);
  void *context;
  wf_status *status; /* the first failure */
} teller;

static void say(const teller *t, const char *format, ...) WF_PRINTF(2, 3);
static void say(const teller *t, const char *format, ...) {
  wf__text text = {0};
  va_list args;
  va_start(args, format);
  wf__text_vprintf(&text, format, args);
  va_end(args);
  if (!text.status) t->fn(t->context, text.data);
  else if (!*t->status) *t->status = text.status;
  wf__text_release(&text);
}

/* Entry points that aren't modelled, each once however many lines and steps came by. */
static void say_entry_points(const teller *t) {
  const wf_dry_run *r = t->run;
  for (size_t i = 0; i < r->rows.n; i++) {
    const wf__dry_row *row = &r->rows.at[i];
    int64_t n = 0, most = 0;
    bool first = row->kind == WF__DRY_LIMIT;
    for (size_t k = 0; first && k < i; k++)
      first = r->rows.at[k].kind != WF__DRY_LIMIT || r->rows.at[k].what != row->what;
    if (!first) continue;
    for (size_t k = i; k < r->rows.n; k++)
      if (r->rows.at[k].kind == WF__DRY_LIMIT && r->rows.at[k].what == row->what) {
        n += r->rows.at[k].count;
        if (most < r->rows.at[k].bytes) most = r->rows.at[k].bytes;
      }
    char often[2 * WF__UNIT_TEXT] = "once", bytes[WF__UNIT_TEXT];
    if (n > 1) snprintf(often, sizeof often, "%lld times", (long long)n);
    if (most)
      snprintf(often + strlen(often), sizeof often - strlen(often), ", the largest %s", wf__bytes_text(most, bytes));
    say(t, "%s: %s (%s)", wf__dry_string(r, row->what), row->text ? wf__dry_string(r, row->text) : "isn't modelled",
        often);
  }
}

static void say_replay(const teller *t) {
  const wf_dry_run *r = t->run;
  for (size_t i = 0; i < r->places.n; i++) {
    const wf__dry_place *place = &r->places.at[i];
    char bytes[WF__UNIT_TEXT];
    if (!place->exact)
      say(t,
          "process %lld, device %d: the replay of its history differs from what its allocator did, so figures for other devices and settings are "
          "near, not exact",
          (long long)r->processes.at[place->process].pid, place->device);
    if (place->outside)
      say(t,
          "process %lld, device %d: %s were asked of the driver beside PyTorch's allocator, and count as in use throughout",
          (long long)r->processes.at[place->process].pid, place->device,
          wf__bytes_text((int64_t)place->outside, bytes));
  }
}

static void say_version(const teller *t) {
  const char *torch = wf__dry_string(t->run, wf__dry_main(t->run)->torch);
  char *end;
  long major = strtol(torch, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  if (major > KNOWN_MAJOR || (major == KNOWN_MAJOR && minor > KNOWN_MINOR))
    say(t, "PyTorch %s is newer than any that dry runs were tried with (%d.%d)", torch, KNOWN_MAJOR, KNOWN_MINOR);
}

static void say_devices(const teller *t) {
  const wf_dry_run *r = t->run;
  char bytes[WF__UNIT_TEXT], own[WF__DRY_NAME];
  if (r->places.n)
    say(t, "what the driver takes for itself is an estimate: %s of %s",
        wf__bytes_text(r->devices[0].context_bytes, bytes), r->devices[0].name);
  for (int i = 0; i < r->options.device_count; i++)
    if (r->answers[i].other_kind)
      say(t,
          "%s has another compute capability than %s, as which the program ran: workspaces of cuBLAS and the choice of kernels may differ",
          r->devices[i].name, wf__dry_own_name(r, own));
}

static void say_recording(const teller *t) {
  const wf_dry_run *r = t->run;
  for (size_t i = 0; i < r->processes.n; i++)
    if (!strcmp(wf__dry_string(r, r->processes.at[i].state), "cuda") && r->processes.at[i].events &&
        !r->processes.at[i].has_snapshot && !r->processes.at[i].finish)
      say(t, "process %lld was ended before it could write its memory history", (long long)r->processes.at[i].pid);
  for (size_t i = 0; i < r->processes.n; i++)
    if (r->processes.at[i].finish && !strcmp(wf__dry_string(r, r->processes.at[i].ended), "running"))
      say(t,
          "process %lld: what it did by line is counted up to one of its steps only, since the rest couldn't be written",
          (long long)r->processes.at[i].pid);
  if (r->damaged) say(t, "%u damaged row%s passed over", r->damaged, r->damaged == 1 ? " was" : "s were");
  for (size_t i = 0; i < r->notes.n; i++) say(t, "%s", wf__dry_string(r, r->notes.at[i]));
  if (r->late_failure) say(t, "the second run, whose events finish only when they are waited for: %s", r->late_failure);
  else if (wf_dry_wants_late_run(r) && !r->late_reserved)
    say(t,
        "memory was freed while another stream still used it: what is reserved depends on when events finish, and this run knows one end of that (--events)");
}

wf_status wf__dry_each_limit(const wf_dry_run *run, void (*fn)(void *context, const char *text), void *context) {
  wf_status status = WF_OK;
  teller t = {run, fn, context, &status};
  say_entry_points(&t);
  say_devices(&t);
  say_replay(&t);
  say_version(&t);
  say_recording(&t);
  return status;
}
