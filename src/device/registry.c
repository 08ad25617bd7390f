/* Which devices there are: the table of backends, and the devices that this process has opened.
 *
 * A backend registers itself from a constructor, so the table is complete before main. A device opens at first use, under one lock,
 * and stays open to the end of the process; looking up an open one is one load. What runs at exit belongs to the backends. */
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "device/device.h"

static const wf_backend *backends[WF__DEVICE_TYPES];
wf__device *wf__devices[WF__DEVICE_SLOTS];
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const type_names[WF__DEVICE_TYPES] = {
    [WF_DEVICE_CPU] = "cpu", [WF_DEVICE_SIM] = "sim", [WF_DEVICE_CUDA] = "cuda"};

static bool known_type(wf_device_type type) { return (unsigned)type < WF__DEVICE_TYPES; }

/* ---- backends ------------------------------------------------------------------------------------------------------ */

static bool complete(const wf_backend *b) {
  return b->name && b->count && b->open && b->close && b->total_memory && b->segment_get && b->segment_give &&
         b->stream_new && b->stream_free && b->stream_sync && b->stream_query && b->device_sync && b->event_new &&
         b->event_free && b->event_record && b->event_query && b->event_sync && b->stream_wait && b->event_elapsed_ns &&
         b->launch && b->transfer;
}

wf_status wf_backend_register(const wf_backend *backend) {
  WF__CHECK(backend, WF_VALUE, "no backend given");
  WF__CHECK(backend->abi == WF_SYS_ABI, WF_VALUE, "backend speaks ABI %u of weft/sys, this library speaks %u",
            backend->abi, WF_SYS_ABI);
  WF__CHECK(known_type(backend->type), WF_VALUE, "backend for the unknown device type %d", (int)backend->type);
  WF__CHECK(complete(backend), WF_VALUE, "backend '%s' leaves a required slot of its table empty",
            backend->name ? backend->name : type_names[backend->type]);
  backends[backend->type] = backend;
  return WF_OK;
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

static wf_status refuse_name(const char *text) {
  wf_status status = wf__fail(WF_RUNTIME, "Invalid device string: '%s'", text);
  wf__hint("write a type and, after a colon, an index without leading zeros: cpu, sim, sim:1, cuda:0");
  return status;
}

/* The digits after the colon: at least one, no leading zero. */
static wf_status parse_index(const char *text, const char *digits, int *index) {
  size_t n = strspn(digits, "0123456789");
  if (!n || digits[n] || (digits[0] == '0' && n > 1)) return refuse_name(text);
  long long value = 0;
  for (size_t i = 0; i < n && value < WF__DEVICES_PER_TYPE; i++) value = value * 10 + (digits[i] - '0');
  WF__CHECK(value < WF__DEVICES_PER_TYPE, WF_RUNTIME, "Could not parse device index '%s' in device string '%s'", digits,
            text);
  *index = (int)value;
  return WF_OK;
}

wf_status wf_device_parse(const char *text, wf_device *device) {
  WF__OP("device_parse", wf__self.pending);
  WF__CHECK(text && *text, WF_RUNTIME, "Device string must not be empty");
  size_t n = strcspn(text, ":");
  for (int type = 0; type < WF__DEVICE_TYPES; type++) {
    if (strlen(type_names[type]) != n || memcmp(type_names[type], text, n)) continue;
    wf_device found = {(wf_device_type)type, 0};
    if (text[n]) WF__TRY(parse_index(text, text + n + 1, &found.index));
    *device = found;
    return WF_OK;
  }
  return wf__fail(WF_RUNTIME, "Expected one of cpu, sim, cuda device type at start of device string: %.*s", (int)n,
                  text);
}

char *wf_device_name(wf_device device, char *buffer, size_t size) {
  const char *type = known_type(device.type) ? type_names[device.type] : "unknown";
  if (device.type == WF_DEVICE_CPU && !device.index) snprintf(buffer, size, "%s", type);
  else snprintf(buffer, size, "%s:%d", type, device.index);
  return buffer;
}

/* ---- open devices -------------------------------------------------------------------------------------------------- */

static wf_status refuse_device(wf_device id) {
  const wf_backend *backend = known_type(id.type) ? backends[id.type] : NULL;
  char name[32];
  wf_device_name(id, name, sizeof name);
  int count = backend ? backend->count() : 0;
  wf_status status = wf__fail(WF_DEVICE, "device %s isn't there", name);
  if (!known_type(id.type) || !backend)
    wf__hint("this build or this machine has no such kind of device; use cpu or sim");
  else
    wf__hint("devices of this kind: %d, counted from 0%s", count,
             id.type == WF_DEVICE_SIM ? "; WEFT_SIM=devices=N makes N" : "");
  return status;
}

static wf__device *make_device(const wf_backend *backend, wf_device id) {
  wf__device *d = wf__calloc(1, sizeof *d);
  if (!d) return NULL;
  d->backend = backend;
  d->id = id;
  d->slot = id.type * WF__DEVICES_PER_TYPE + id.index;
  pthread_mutex_init(&d->lock, NULL);
  if (backend->open(id.index, &d->state) != WF_OK) goto no_state;
  if (wf__memory_open(d) != WF_OK) goto no_memory;
  if (!(d->default_stream = wf__stream_make(d, 0))) goto no_stream;
  return d;
no_stream:
  wf__memory_close(d);
no_memory:
  backend->close(d->state);
no_state:
  wf__release(d->streams);
  pthread_mutex_destroy(&d->lock);
  wf__release(d);
  return NULL;
}

wf__device *wf__device_open(wf_device id) {
  const wf_backend *backend = known_type(id.type) ? backends[id.type] : NULL;
  if (!backend || id.index < 0 || id.index >= WF__DEVICES_PER_TYPE || id.index >= backend->count()) {
    refuse_device(id);
    return NULL;
  }
  int slot = id.type * WF__DEVICES_PER_TYPE + id.index;
  pthread_mutex_lock(&open_lock);
  wf__device *d = wf__devices[slot];
  if (!d && (d = make_device(backend, id))) __atomic_store_n(&wf__devices[slot], d, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&open_lock);
  return d;
}

wf__device *wf__device_at(int slot) {
  return (unsigned)slot < WF__DEVICE_SLOTS ? __atomic_load_n(&wf__devices[slot], __ATOMIC_ACQUIRE) : NULL;
}

wf__device *wf__device_accelerator(void) {
  if (wf_device_count(WF_DEVICE_CUDA)) return wf__device_get((wf_device){WF_DEVICE_CUDA, 0});
  return wf__device_get(wf_sim(0));
}

void wf__devices_close(void) {
  for (int i = 0; i < WF__DEVICE_SLOTS; i++)
    if (wf__devices[i]) wf__devices[i]->backend->device_sync(wf__devices[i]->state);
  for (int i = 0; i < WF__DEVICE_SLOTS; i++) /* before any stream goes: blocks may wait for streams of another device */
    if (wf__devices[i]) wf__memory_close(wf__devices[i]);
  for (int i = 0; i < WF__DEVICE_SLOTS; i++) {
    wf__device *d = wf__devices[i];
    if (!d) continue;
    for (uint32_t id = d->stream_count; id-- > 0;) wf__stream_destroy(d->streams[id]);
    wf__devices[i] = NULL;
    d->backend->close(d->state);
    wf__release(d->streams);
    pthread_mutex_destroy(&d->lock);
    wf__release(d);
  }
}

/* ---- public -------------------------------------------------------------------------------------------------------- */

int wf_device_count(wf_device_type type) {
  const wf_backend *backend = known_type(type) ? backends[type] : NULL;
  int count = backend ? backend->count() : 0;
  return count < WF__DEVICES_PER_TYPE ? count : WF__DEVICES_PER_TYPE;
}

wf_status wf_device_open(wf_device device) {
  WF__OP("device_open", wf__self.pending);
  return wf__device_get(device) ? WF_OK : wf__self.pending;
}

size_t wf_device_total_memory(wf_device device) {
  WF__OP("device_total_memory", 0);
  wf__device *d = wf__device_get(device);
  return d ? d->backend->total_memory(d->state) : 0;
}

bool wf_device_is_emulated(wf_device device) {
  return known_type(device.type) && backends[device.type] && backends[device.type]->emulated;
}

char *wf_device_describe(wf_device device, char *buffer, size_t size) {
  if (size) *buffer = 0;
  WF__OP("device_describe", buffer);
  wf__device *d = wf__device_get(device);
  if (d && d->backend->describe) d->backend->describe(d->state, buffer, size);
  else if (d) snprintf(buffer, size, "%s", d->backend->name);
  return buffer;
}
