/* The parser of WEFT_CPU_MEMORY. Strict: a key that doesn't exist, comes twice or has no proper value is an error, not a default. */
#include "memory/host_conf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"

#define VARIABLE "WEFT_CPU_MEMORY"
#define AT_HAND ((size_t)1 << 20)
#define AT_HAND_MOST ((size_t)1 << 30)

wf__host_conf wf__host_conf_defaults(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  size_t total = pages > 0 && bytes > 0 ? (size_t)pages * (size_t)bytes : 0;
  return (wf__host_conf){.cache = total ? total / 4 : SIZE_MAX, .at_hand = AT_HAND};
}

static wf_status bad(const char *what, const char *text) {
  wf_status status = wf__fail(WF_VALUE, VARIABLE ": %s in '%.200s'", what, text);
  wf__hint("keys: cache=SIZE or cache=unlimited, thread=SIZE; sizes as in 512KiB, 4GiB, 0");
  return status;
}

static bool set_size(const char *value, double most, size_t *size) {
  double bytes;
  if (!wf__quantity_is(value, wf__byte_units, &bytes) || bytes > most) return false;
  *size = (size_t)bytes;
  return true;
}

static bool set_cache(const char *value, wf__host_conf *conf) {
  if (strcmp(value, "unlimited")) return set_size(value, 0x1p50, &conf->cache);
  conf->cache = SIZE_MAX;
  return true;
}
static bool set_thread(const char *value, wf__host_conf *conf) {
  return set_size(value, (double)AT_HAND_MOST, &conf->at_hand);
}

static const struct {
  const char *name;
  bool (*set)(const char *value, wf__host_conf *conf);
} keys[] = {{"cache=", set_cache}, {"thread=", set_thread}};

wf_status wf__host_conf_parse(const char *text, wf__host_conf *conf) {
  unsigned seen = 0;
  *conf = wf__host_conf_defaults();
  if (!text || !*text) return WF_OK;
  for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    char pair[64];
    size_t n = strcspn(at, ","), i = 0;
    if (n >= sizeof pair) return bad("a setting that is too long", text);
    memcpy(pair, at, n);
    pair[n] = 0;
    while (i < 2 && strncmp(pair, keys[i].name, strlen(keys[i].name))) i++;
    if (i == 2) return bad("an unknown key", text);
    if (seen >> i & 1) return bad("a key that comes twice", text);
    seen |= 1u << i;
    if (!keys[i].set(pair + strlen(keys[i].name), conf)) return bad("a size that can't be read", text);
  }
  return WF_OK;
}

wf_status wf__host_conf_read(wf__host_conf *conf) { return wf__host_conf_parse(getenv(VARIABLE), conf); }
