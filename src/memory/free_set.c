/* Classes of sizes with a two-level bitmap: a bit a class, and a bit a word of those.
 *
 * Of blocks of one size nearly always only the first is asked for, so a class of one size is a heap. Whoever asks for what comes before or
 * after another one (giving back the cache, expandable segments) makes a tree of it, until the first is asked for twice in a row again. */
#include "memory/free_set.h"

#include "base/host.h"
#include "memory/heap.h"

enum {
  EXACT = 2048, /* sizes below that many steps of 512 bytes have a class of their own */
  EXACT_BITS = 11,
  PARTS_BITS = 5, /* classes to a power of two above */
  PARTS = 1 << PARTS_BITS,
  CLASSES = EXACT + (55 - EXACT_BITS) * PARTS, /* up to 2^64 bytes */
  WORDS = (CLASSES + 63) / 64
};

typedef struct wf__stream_set {
  struct wf__stream_set *next;
  uint64_t stream;
  uint64_t any; /* a bit a word that isn't 0 */
  uint64_t words[WORDS];
  uint64_t trees[EXACT / 64]; /* a bit a class of one size that is a tree … */
  uint64_t asked[EXACT / 64]; /* … of which the first was asked for since anything else was */
  uint32_t seed;
  wf__order_node *classes[CLASSES]; /* roots; most hold one node or none */
} stream_set;
_Static_assert(WORDS <= 64, "a bit a word fits into one");

static inline uint32_t class_of(uint64_t size) {
  uint64_t steps = size >> 9;
  if (WF__LIKELY(steps < EXACT)) return (uint32_t)steps;
  uint32_t power = 63 - (uint32_t)__builtin_clzll(steps);
  return EXACT + (power - EXACT_BITS) * PARTS + (uint32_t)(steps >> (power - PARTS_BITS) & (PARTS - 1));
}

/* ---- streams ---------------------------------------------------------------------------------------------------------- */

static stream_set *find(const wf__free_set *set, uint64_t stream) {
  stream_set *s = set->recent;
  if (WF__LIKELY(s && s->stream == stream)) return s;
  for (s = set->streams; s && s->stream < stream;) s = s->next;
  return s && s->stream == stream ? s : NULL;
}

/* The first whose stream isn't lower. */
static stream_set *from(const wf__free_set *set, uint64_t stream) {
  stream_set *s = set->recent;
  if (WF__LIKELY(s && s->stream == stream)) return s;
  for (s = set->streams; s && s->stream < stream;) s = s->next;
  return s;
}

bool wf__free_set_reserve(wf__free_set *set, uint64_t stream) {
  stream_set *s = find(set, stream);
  if (WF__LIKELY(s != NULL)) {
    set->recent = s;
    return true;
  }
  s = wf__calloc(1, sizeof *s);
  if (!s) return false;
  s->stream = stream;
  stream_set **link = &set->streams;
  while (*link && (*link)->stream < stream) link = &(*link)->next;
  s->next = *link;
  *link = set->recent = s;
  return true;
}

void wf__free_set_drop(wf__free_set *set) {
  for (stream_set *s = set->streams, *next; s; s = next) {
    next = s->next;
    wf__release(s);
  }
  *set = (wf__free_set){0};
}

/* ---- classes ---------------------------------------------------------------------------------------------------------- */

/* The first class at or after `class` that isn't empty; CLASSES: none. */
static inline uint32_t occupied_from(const stream_set *s, uint32_t class) {
  if (class >= CLASSES) return CLASSES;
  uint32_t word = class / 64;
  uint64_t bits = s->words[word] >> (class % 64);
  if (bits) return class + (uint32_t)__builtin_ctzll(bits);
  uint64_t words = word + 1 < 64 ? s->any >> (word + 1) : 0;
  if (!words) return CLASSES;
  word += 1 + (uint32_t)__builtin_ctzll(words);
  return word * 64 + (uint32_t)__builtin_ctzll(s->words[word]);
}

/* The last class before `class` that isn't empty; CLASSES: none. */
static uint32_t occupied_before(const stream_set *s, uint32_t class) {
  while (class -- > 0)
    if (s->words[class / 64] >> (class % 64) & 1) return class;
  return CLASSES;
}

static inline bool is_heap(const stream_set *s, uint32_t class) {
  return class < EXACT && !(s->trees[class / 64] >> (class % 64) & 1);
}

static void insert_into_tree(stream_set *s, uint32_t class, wf__order_node *node) {
  wf__order order = {s->classes[class], s->seed};
  wf__order_insert(&order, node);
  s->classes[class] = order.root;
  s->seed = order.seed;
}

/* Makes the class one that can be walked in order. */
static void make_tree(stream_set *s, uint32_t class) {
  uint64_t bit = (uint64_t)1 << (class % 64);
  if (class < EXACT) s->asked[class / 64] &= ~bit;
  if (!is_heap(s, class)) return;
  wf__order_node *heap = s->classes[class];
  s->classes[class] = NULL;
  s->trees[class / 64] |= bit;
  while (heap) {
    wf__order_node *first = heap;
    heap = wf__heap_remove(heap, first);
    insert_into_tree(s, class, first);
  }
}

/* The first of a tree is asked for, after which it may become a heap. */
static void note_asked(stream_set *s, uint32_t class) {
  uint64_t bit = (uint64_t)1 << (class % 64);
  if (class >= EXACT) return;
  if (!(s->asked[class / 64] & bit)) {
    s->asked[class / 64] |= bit;
    return;
  }
  wf__order order = {.root = s->classes[class]};
  wf__order_node *heap = NULL;
  while (order.root) {
    wf__order_node *node = order.root;
    wf__order_remove(&order, node);
    heap = wf__heap_insert(heap, node);
  }
  s->classes[class] = heap;
  s->trees[class / 64] &= ~bit;
}

void wf__free_set_insert(wf__free_set *set, wf__order_node *node) {
  stream_set *s = find(set, node->key.stream);
  uint32_t class = class_of(node->key.size);
  if (is_heap(s, class)) s->classes[class] = wf__heap_insert(s->classes[class], node);
  else insert_into_tree(s, class, node);
  s->words[class / 64] |= (uint64_t)1 << (class % 64);
  s->any |= (uint64_t)1 << (class / 64);
}

void wf__free_set_remove(wf__free_set *set, wf__order_node *node) {
  stream_set *s = find(set, node->key.stream);
  uint32_t class = class_of(node->key.size);
  if (is_heap(s, class)) {
    s->classes[class] = wf__heap_remove(s->classes[class], node);
  } else {
    wf__order order = {.root = s->classes[class]};
    wf__order_remove(&order, node);
    s->classes[class] = order.root;
  }
  if (s->classes[class]) return;
  if (class < EXACT) s->trees[class / 64] &= ~((uint64_t)1 << (class % 64));
  s->words[class / 64] &= ~((uint64_t)1 << (class % 64));
  if (!s->words[class / 64]) s->any &= ~((uint64_t)1 << (class / 64));
}

/* The first and the last of a class that isn't empty. */
static inline wf__order_node *first_in(stream_set *s, uint32_t class) {
  if (WF__UNLIKELY(!is_heap(s, class))) note_asked(s, class);
  wf__order_node *node = s->classes[class];
  if (is_heap(s, class)) return node;
  while (node->left) node = node->left;
  return node;
}
static wf__order_node *last_in(stream_set *s, uint32_t class) {
  make_tree(s, class);
  wf__order_node *node = s->classes[class];
  while (node->right) node = node->right;
  return node;
}

static wf__order_node *first_of(stream_set *s) {
  for (; s; s = s->next)
    if (s->any) return first_in(s, occupied_from(s, 0));
  return NULL;
}

/* The first in the key's class at or after it; NULL: none there. */
static inline wf__order_node *behind_in_class(stream_set *s, uint32_t class, const wf__order_key *key, bool itself) {
  if (!s->classes[class]) return NULL;
  wf__order_node *first = itself ? first_in(s, class) : NULL;
  if (first && !wf__order_less(&first->key, key)) return first;
  make_tree(s, class);
  wf__order order = {.root = s->classes[class]};
  return itself ? wf__order_at_least(&order, key) : wf__order_after(&order, key);
}

static inline wf__order_node *behind(const wf__free_set *set, const wf__order_key *key, bool itself) {
  stream_set *s = from(set, key->stream);
  if (!s || s->stream != key->stream) return first_of(s);
  uint32_t class = class_of(key->size);
  wf__order_node *node = behind_in_class(s, class, key, itself);
  if (node) return node;
  class = occupied_from(s, class + 1);
  return class < CLASSES ? first_in(s, class) : first_of(s->next);
}

wf__order_node *wf__free_set_at_least(const wf__free_set *set, const wf__order_key *key) {
  return behind(set, key, true);
}

wf__order_node *wf__free_set_after(const wf__free_set *set, const wf__order_key *key) {
  return behind(set, key, false);
}

static wf__order_node *last_of(stream_set *s) {
  uint32_t class = occupied_before(s, CLASSES);
  return class < CLASSES ? last_in(s, class) : NULL;
}

wf__order_node *wf__free_set_before(const wf__free_set *set, const wf__order_key *key) {
  stream_set *lower = NULL;
  for (stream_set *s = set->streams; s && s->stream < key->stream; s = s->next)
    if (s->any) lower = s;
  stream_set *s = find(set, key->stream);
  if (s) {
    uint32_t class = class_of(key->size);
    make_tree(s, class);
    wf__order order = {.root = s->classes[class]};
    wf__order_node *node = wf__order_before(&order, key);
    if (node) return node;
    class = occupied_before(s, class);
    if (class < CLASSES) return last_in(s, class);
  }
  return lower ? last_of(lower) : NULL;
}
