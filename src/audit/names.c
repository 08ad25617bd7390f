/* The table of a trace's names. */
#include "audit/names.h"

#include <string.h>

#include "base/host.h"

#define CHUNK ((size_t)64 << 10)
#define FIRST_SLOTS 1024

static uint32_t hash_of(const char *text, size_t size) {
  uint64_t h = size * UINT64_C(0x9e3779b97f4a7c15), word;
  for (; size >= 8; text += 8, size -= 8) {
    memcpy(&word, text, 8);
    h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
  }
  word = 0;
  memcpy(&word, text, size);
  h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)(h ^ h >> 32);
}

static uint32_t *slot_of(const wf__names *names, const char *text, size_t size, uint32_t hash) {
  for (uint32_t i = hash & (names->slot_count - 1);; i = (i + 1) & (names->slot_count - 1)) {
    uint32_t have = names->slots[i];
    if (have == WF__NO_NAME) return &names->slots[i];
    const wf__name *name = &names->at[have];
    if (name->hash == hash && name->size == size && !memcmp(name->text, text, size)) return &names->slots[i];
  }
}

static wf_status grow_slots(wf__names *names) {
  uint32_t count = names->slot_count ? 2 * names->slot_count : FIRST_SLOTS;
  uint32_t *slots = wf__malloc(count * sizeof *slots);
  if (!slots) return WF_NO_MEMORY;
  memset(slots, 0xff, count * sizeof *slots);
  wf__release(names->slots);
  names->slots = slots;
  names->slot_count = count;
  for (uint32_t i = 0; i < names->n; i++) {
    const wf__name *name = &names->at[i];
    *slot_of(names, name->text, name->size, name->hash) = i;
  }
  return WF_OK;
}

static const char *keep(wf__names *names, const char *text, size_t size) {
  if (size + 1 > names->chunk_left) {
    size_t room = size + 1 > CHUNK / 4 ? size + 1 : CHUNK;
    char *fresh = wf__malloc(sizeof(char *) + room);
    if (!fresh) return NULL;
    memcpy(fresh, &names->chunk, sizeof(char *));
    names->chunk = fresh;
    names->chunk_left = room;
    /* Texts are put from the chunk's end downward, so that only the first byte and what is left need to be known. */
  }
  names->chunk_left -= size + 1;
  char *copy = names->chunk + sizeof(char *) + names->chunk_left;
  memcpy(copy, text, size);
  copy[size] = 0;
  return copy;
}

wf_status wf__names_open(wf__names *names) {
  *names = (wf__names){0};
  WF__TRY(grow_slots(names));
  return wf__names_add(names, "", 0) == WF__NO_NAME ? WF_NO_MEMORY : WF_OK;
}

void wf__names_close(wf__names *names) {
  while (names->chunk) {
    char *older;
    memcpy(&older, names->chunk, sizeof older);
    wf__release(names->chunk);
    names->chunk = older;
  }
  wf__release(names->slots);
  wf__release(names->at);
  *names = (wf__names){0};
}

uint32_t wf__names_find(const wf__names *names, const char *text, size_t size) {
  return *slot_of(names, text, size, hash_of(text, size));
}

uint32_t wf__names_add(wf__names *names, const char *text, size_t size) {
  uint32_t hash = hash_of(text, size), *slot = slot_of(names, text, size, hash);
  if (*slot != WF__NO_NAME) return *slot;
  if (names->n == names->room) {
    uint32_t room = names->room ? 2 * names->room : 256;
    wf__name *at = wf__realloc(names->at, room * sizeof *at);
    if (!at) return WF__NO_NAME;
    names->at = at;
    names->room = room;
  }
  const char *copy = keep(names, text, size);
  if (!copy) return WF__NO_NAME;
  wf__name *name = &names->at[names->n];
  *name = (wf__name){.text = copy, .size = (uint32_t)size, .hash = hash};
  wf__name_judge(name);
  *slot = names->n++;
  if (names->n > names->slot_count / 2 && grow_slots(names)) {
    names->n--;
    *slot = WF__NO_NAME;
    return WF__NO_NAME;
  }
  return names->n - 1;
}
