/* Frames are classed by the name of their file, each distinct frame once. */
#include "audit/call_site.h"

#include <stdio.h>

#include "base/host.h"

/* TEXT: one that was executed, by the program or by a library for it. */
typedef enum frame_class { UNSEEN, NATIVE, TORCH, PYTHON, TEXT, USER } frame_class;

static bool contains(const char *text, const char *part) { return strstr(text, part) != NULL; }
static bool ends_in(const char *text, const char *end) {
  size_t n = strlen(text), k = strlen(end);
  return n >= k && !strcmp(text + n - k, end);
}

static frame_class class_of(const char *file) {
  if (!strcmp(file, "<string>")) return TEXT;
  if (*file == '<') return contains(file, "eval_with_key") || contains(file, "frozen") ? PYTHON : USER;
  if (!ends_in(file, ".py") && !ends_in(file, ".ipynb") && !contains(file, "ipykernel")) return NATIVE;
  if (contains(file, "-packages/torch/") || contains(file, "/torchinductor_") || contains(file, "/pytorch/torch/") ||
      !strncmp(file, "torch/", 6))
    return TORCH;
  if (contains(file, "/lib/python3") && !contains(file, "-packages/")) return PYTHON;
  if (contains(file, "-packages/triton/") || contains(file, "/python/weft_dry")) return PYTHON;
  return USER;
}

static bool is_forward(const wf_snapshot *s, wf__snap_frame f) {
  return !strcmp(wf__snap_text(s, f.function), "forward") &&
         !ends_in(wf__snap_text(s, f.file), "torch/nn/modules/module.py");
}

static uint32_t frame_number(const wf_snapshot *s, uint32_t stack, uint32_t i) {
  uint32_t number;
  memcpy(&number, wf__string_set_text(&s->stacks, stack) + i * sizeof number, sizeof number);
  return number;
}

static frame_class class_in(const wf_snapshot *s, uint32_t stack, uint32_t i, uint8_t *classes) {
  uint32_t number = frame_number(s, stack, i);
  if (classes[number] == UNSEEN)
    classes[number] = (uint8_t)class_of(wf__snap_text(s, wf__snap_frame_at(s, stack, i).file));
  return classes[number];
}

/* Whether the program is a text (python -c): then a stack ends in one. */
static bool is_text(const wf_snapshot *s, uint32_t stack, uint8_t *classes) {
  uint32_t i = wf__snap_depth(s, stack);
  while (i && class_in(s, stack, i - 1, classes) == NATIVE) i--;
  return i && class_in(s, stack, i - 1, classes) == TEXT;
}

/* Outside of the user's files a line of the program's own text says more than one of torch, and that more than native code. */
static void look(const wf_snapshot *s, uint32_t stack, uint8_t *classes, bool has_text, wf__call_sites *to) {
  uint32_t depth = wf__snap_depth(s, stack), text = WF__NO_FRAME, second = WF__NO_FRAME;
  to->site[stack] = to->module[stack] = WF__NO_FRAME;
  for (uint32_t i = 0; i < depth; i++) {
    frame_class class = class_in(s, stack, i, classes);
    if (class == USER && to->site[stack] == WF__NO_FRAME) to->site[stack] = i;
    if (class == TEXT && has_text && text == WF__NO_FRAME) text = i;
    if (class == TORCH && second == WF__NO_FRAME) second = i;
    if (class != NATIVE && to->module[stack] == WF__NO_FRAME && is_forward(s, wf__snap_frame_at(s, stack, i)))
      to->module[stack] = i;
    if (to->site[stack] != WF__NO_FRAME && to->module[stack] != WF__NO_FRAME) return;
  }
  if (text != WF__NO_FRAME) second = text;
  if (to->site[stack] == WF__NO_FRAME) to->site[stack] = second != WF__NO_FRAME ? second : depth ? 0 : WF__NO_FRAME;
}

wf_status wf__call_sites_make(wf__call_sites *to, const wf_snapshot *s) {
  uint32_t n = s->stacks.count;
  uint8_t *classes = wf__calloc((size_t)s->frames.count + 1, 1);
  *to = (wf__call_sites){wf__malloc((n + 1) * sizeof *to->site), wf__malloc((n + 1) * sizeof *to->module), n};
  bool good = classes && to->site && to->module;
  bool has_text = false;
  for (uint32_t i = 0; good && i < n; i++) has_text |= is_text(s, i, classes);
  for (uint32_t i = 0; good && i < n; i++) look(s, i, classes, has_text, to);
  wf__release(classes);
  if (good) return WF_OK;
  wf__call_sites_release(to);
  return WF_NO_MEMORY;
}

void wf__call_sites_release(wf__call_sites *sites) {
  wf__release(sites->site);
  wf__release(sites->module);
  *sites = (wf__call_sites){0};
}

/* The last two parts of a path. */
static const char *short_path(const char *path) {
  const char *at = path + strlen(path);
  int slashes = 0;
  while (at > path && !(at[-1] == '/' && ++slashes == 2)) at--;
  return at;
}

char *wf__line_text(const char *file, int64_t line, const char *function, size_t width, char text[WF__SITE_TEXT]) {
  char whole[1024];
  if (width >= WF__SITE_TEXT) width = WF__SITE_TEXT - 1;
  if (!*file || !strcmp(file, "??")) snprintf(whole, sizeof whole, "%.900s", function);
  else snprintf(whole, sizeof whole, "%.500s:%lld %.400s", short_path(file), (long long)line, function);
  size_t n = strlen(whole), skip = n > width ? n - width + 1 : 0;
  while (skip && skip < n && (whole[skip] & 0xc0) == 0x80) skip++;
  if (skip && strchr(whole, ' ') && skip < (size_t)(strrchr(whole, ' ') - whole))
    snprintf(text, WF__SITE_TEXT, "~%s", whole + skip);
  else snprintf(text, WF__SITE_TEXT, "%.*s%s", (int)(skip ? width - 1 : n), whole, skip ? "~" : "");
  return text;
}

char *wf__frame_text(const wf_snapshot *s, wf__snap_frame f, size_t width, char text[WF__SITE_TEXT]) {
  return wf__line_text(wf__snap_text(s, f.file), f.line, wf__snap_text(s, f.function), width, text);
}

char *wf__site_text(const wf_snapshot *s, const wf__call_sites *sites, uint32_t stack, size_t width,
                    char text[WF__SITE_TEXT]) {
  uint32_t at = stack < sites->count ? sites->site[stack] : WF__NO_FRAME;
  if (at == WF__NO_FRAME) snprintf(text, WF__SITE_TEXT, "(no stack recorded)");
  else wf__frame_text(s, wf__snap_frame_at(s, stack, at), width, text);
  return text;
}
