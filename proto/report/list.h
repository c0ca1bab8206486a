/* What the daemon told: the messages of one answer, with the counters that belong to them. */
#ifndef SFREPORT_LIST_H
#define SFREPORT_LIST_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "proto/report/counters.h"
#include "proto/sf_control.pb-c.h"

typedef struct sfreport_item {
  Sfproto__Message *message;
  /* Ranks and graphs: of how many ranks counts are the sum; 0: counts and sleeps are unknown. */
  int32_t ncounted;
  sfreport_counts_t counts;
  sfreport_latency_t latency; /* graphs only */
  uint64_t multi_of;          /* graphs only: of which it is the multi-graph; 0: it is none */
  sfreport_shape_t shape;     /* graphs only */
  uint64_t sleeps;            /* ranks only */
  uint64_t oldest_wait_ns;    /* how long the rank, or some rank on the graph, has waited by now; 0: none does */
  uint64_t waited_for_ns;     /* ranks only: time that other ranks of the node have waited for it, added up, */
  uint64_t waited_far_ns;     /* and its part of that for which ranks of other nodes have waited for its node */
  size_t place;               /* for sorting */
} sfreport_item_t;

/* Start with {0}. */
typedef struct sfreport_list {
  sfreport_item_t *items;
  size_t count, capacity;
} sfreport_list_t;

/* Appends; the message is then the list's. SF_ERR_NOMEM: it stays the caller's. */
sf_status_t sfreport_list_add(sfreport_list_t *list, Sfproto__Message *message, sfreport_item_t **item_p);

/* By the node that tells; what one node tells stays in its order. */
void sfreport_list_sort(sfreport_list_t *list);
void sfreport_list_clear(sfreport_list_t *list);

#endif
