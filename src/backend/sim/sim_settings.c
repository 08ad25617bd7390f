/* The parser of WEFT_SIM: comma-separated key=value, each key once (fault once for each kind). Numbers need their whole text to be understood, so a
 * misspelt unit is an error and not a default. */
#include "backend/sim/sim_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"

#define MEMORY_DEFAULT ((size_t)16 << 30)
#define MEMORY_LEAST ((size_t)2 << 20) /* a segment of the allocator */
#define MEMORY_MOST ((size_t)4 << 40)
#define KERNEL_US_MOST 1e7

wf__sim_settings wf__sim_defaults(void) { return (wf__sim_settings){.memory = MEMORY_DEFAULT, .devices = 1}; }

static const wf__unit rate_units[] = {{"B/s", 1e-9}, {"KB/s", 1e-6}, {"MB/s", 1e-3},
                                      {"GB/s", 1},   {"TB/s", 1e3},  {NULL, 0}};
static const wf__unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const wf__unit no_unit[] = {{"", 1}, {NULL, 0}};

static bool set_memory(const char *value, wf__sim_settings *s) {
  double bytes;
  if (!wf__quantity_is(value, wf__byte_units, &bytes) || bytes < (double)MEMORY_LEAST || bytes > (double)MEMORY_MOST)
    return false;
  s->memory = (size_t)bytes;
  return true;
}

static bool set_devices(const char *value, wf__sim_settings *s) {
  double n;
  if (!wf__quantity_is(value, no_unit, &n) || n < 1 || n > WF__SIM_DEVICES_MAX || n != floor(n)) return false;
  s->devices = (int)n;
  return true;
}

/* What a lane moves in practice, payload only, for large transfers from pinned memory; latency of one transfer with its launch. */
static const double lane_bytes_per_ns[] = {[3] = 0.77, [4] = 1.54, [5] = 3.08};
#define PCIE_LATENCY_NS 8000

static bool named_link(const char *value, wf__sim_settings *s) {
  int generation, lanes, used = 0;
  if (sscanf(value, "pcie%1dx%2d%n", &generation, &lanes, &used) != 2 || value[used]) return false;
  if (generation < 3 || generation > 5 || lanes < 1 || lanes > 16 || (lanes & (lanes - 1))) return false;
  s->link_bytes_per_ns = lane_bytes_per_ns[generation] * lanes;
  s->link_latency_ns = PCIE_LATENCY_NS;
  return true;
}

static bool measured_link(const char *value, wf__sim_settings *s) {
  double rate, latency = 0;
  const char *end = wf__quantity_read(value, rate_units, &rate);
  if (!end || rate <= 0 || (*end && *end != '+')) return false;
  if (*end && (!wf__quantity_is(end + 1, time_units, &latency) || latency > 1e10)) return false;
  s->link_bytes_per_ns = rate;
  s->link_latency_ns = (int64_t)latency;
  return true;
}

static bool set_link(const char *value, wf__sim_settings *s) {
  if (strlen(value) >= sizeof s->link_name || (!named_link(value, s) && !measured_link(value, s))) return false;
  snprintf(s->link_name, sizeof s->link_name, "%s", value);
  return true;
}

static bool set_kernel(const char *value, wf__sim_settings *s) {
  double us;
  if (!wf__quantity_is(value, no_unit, &us) || us > KERNEL_US_MOST) return false;
  s->kernel_ns = (int64_t)(us * 1e3);
  return true;
}

static bool set_fault(const char *value, wf__sim_settings *s) {
  const struct {
    const char *name;
    int64_t *nth;
  } kinds[] = {{"launch:", &s->fail_launch}, {"copy:", &s->fail_copy}, {"alloc:", &s->fail_alloc}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t n = strlen(kinds[i].name);
    double nth;
    if (strncmp(value, kinds[i].name, n)) continue;
    if (!wf__quantity_is(value + n, no_unit, &nth) || nth < 1 || nth > 1e15 || nth != floor(nth)) return false;
    if (*kinds[i].nth) return false; /* the second of a kind */
    *kinds[i].nth = (int64_t)nth;
    return true;
  }
  return false;
}

static const struct {
  const char *name;
  bool (*set)(const char *value, wf__sim_settings *s);
} keys[] = {
    {"mem", set_memory}, {"devices", set_devices}, {"link", set_link}, {"kernel_us", set_kernel}, {"fault", set_fault}};

/* seen: a bit for each key that came already. */
static bool set_one(const char *pair, wf__sim_settings *s, unsigned *seen, char *error, size_t error_size) {
  const char *equals = strchr(pair, '=');
  size_t n = equals ? (size_t)(equals - pair) : strlen(pair);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (strlen(keys[i].name) != n || memcmp(keys[i].name, pair, n)) continue;
    bool again = *seen >> i & 1 && keys[i].set != set_fault;
    *seen |= 1u << i;
    if (again) {
      snprintf(error, error_size, "WEFT_SIM: %s comes twice", keys[i].name);
      return false;
    }
    if (equals && keys[i].set(equals + 1, s)) return true;
    snprintf(error, error_size, "WEFT_SIM: bad value '%.80s' for %s", equals ? equals + 1 : "", keys[i].name);
    return false;
  }
  snprintf(error, error_size, "WEFT_SIM: unknown key '%.*s'", (int)(n < 80 ? n : 80), pair);
  return false;
}

bool wf__sim_parse(const char *text, wf__sim_settings *settings, char *error, size_t error_size) {
  wf__sim_settings s = wf__sim_defaults();
  unsigned seen = 0;
  for (bool more = text && *text; more;) {
    size_t n = strcspn(text, ",");
    char pair[128];
    if (n >= sizeof pair) {
      snprintf(error, error_size, "WEFT_SIM: setting '%.60s…' is too long", text);
      return false;
    }
    memcpy(pair, text, n);
    pair[n] = 0;
    if (!set_one(pair, &s, &seen, error, error_size)) return false;
    more = text[n] == ',';
    text += n + more;
  }
  *settings = s;
  return true;
}
