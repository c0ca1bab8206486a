/* What the daemon told: the messages of one answer, with the counters that belong to them. */
#ifndef SFCTL_LIST_H
#define SFCTL_LIST_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"
#include "tools/sfctl/counters.h"

typedef struct sfctl_item {
  Sfproto__Message *message;
  /* Ranks and graphs: of how many ranks counts are the sum; 0: counts and sleeps are unknown. */
  int32_t ncounted;
  sfctl_counts_t counts;
  uint64_t sleeps; /* ranks only */
} sfctl_item_t;

/* Start with {0}. */
typedef struct sfctl_list {
  sfctl_item_t *items;
  size_t count, capacity;
} sfctl_list_t;

/* Appends; the message is then the list's. SF_ERR_NOMEM: it stays the caller's. */
sf_status_t sfctl_list_add(sfctl_list_t *list, Sfproto__Message *message, sfctl_item_t **item_p);
void sfctl_list_clear(sfctl_list_t *list);

#endif
