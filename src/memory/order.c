/* The treap of order.h: a binary tree ordered by key whose weights never grow downward, which random weights keep shallow. */
#include "memory/order.h"

static uint32_t next_weight(wf__order *order) { /* xorshift32 */
  uint32_t x = order->seed ? order->seed : 2463534242u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return order->seed = x;
}

void wf__order_insert(wf__order *order, wf__order_node *node) {
  node->weight = next_weight(order);
  wf__order_node **link = &order->root;
  while (*link && (*link)->weight >= node->weight)
    link = wf__order_less(&node->key, &(*link)->key) ? &(*link)->left : &(*link)->right;
  wf__order_node *rest = *link, **low = &node->left, **high = &node->right; /* split what was here around the new key */
  *link = node;
  while (rest) {
    if (wf__order_less(&rest->key, &node->key)) {
      *low = rest;
      low = &rest->right;
      rest = rest->right;
    } else {
      *high = rest;
      high = &rest->left;
      rest = rest->left;
    }
  }
  *low = *high = NULL;
}

void wf__order_remove(wf__order *order, wf__order_node *node) {
  wf__order_node **link = &order->root;
  while (*link != node) link = wf__order_less(&node->key, &(*link)->key) ? &(*link)->left : &(*link)->right;
  wf__order_node *low = node->left, *high = node->right; /* join the two sides in its place */
  while (low && high) {
    if (low->weight >= high->weight) {
      *link = low;
      link = &low->right;
      low = low->right;
    } else {
      *link = high;
      link = &high->left;
      high = high->left;
    }
  }
  *link = low ? low : high;
}

wf__order_node *wf__order_at_least(const wf__order *order, const wf__order_key *key) {
  wf__order_node *found = NULL, *node = order->root;
  while (node) {
    if (wf__order_less(&node->key, key)) {
      node = node->right;
    } else {
      found = node;
      node = node->left;
    }
  }
  return found;
}

wf__order_node *wf__order_after(const wf__order *order, const wf__order_key *key) {
  wf__order_node *found = NULL, *node = order->root;
  while (node) {
    if (wf__order_less(key, &node->key)) {
      found = node;
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return found;
}

wf__order_node *wf__order_before(const wf__order *order, const wf__order_key *key) {
  wf__order_node *found = NULL, *node = order->root;
  while (node) {
    if (wf__order_less(&node->key, key)) {
      found = node;
      node = node->right;
    } else {
      node = node->left;
    }
  }
  return found;
}
