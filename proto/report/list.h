/* List of the messages of an answer, with their counters. */
#ifndef SFREPORT_LIST_H
#define SFREPORT_LIST_H

#include <stddef.h>

#include <sf/sf_status.h>

#include "proto/report/counters.h"
#include "proto/sf_control.pb-c.h"

typedef struct sfreport_item {
  Sfproto__Message *message;
  /* ranks, graphs: number of ranks in counts; 0: counts and sleeps are unknown */
  int32_t ncounted;
  sfreport_counts_t counts;
  sfreport_latency_t latency;        /* graphs only */
  uint64_t multi_of;                 /* graphs only: graph of which this is the multi-graph; 0: none */
  sfreport_shape_t shape;            /* graphs only */
  char call_site[SFSHM_PLACE_BYTES]; /* graphs only: of its creation, as the last counted rank has it; "": unknown */
  uint64_t sleeps;                   /* ranks only */
  uint64_t oldest_wait_ns;           /* longest present wait of the rank, or of a rank on the graph; 0: none */
  uint64_t waited_for_ns;            /* ranks only: how long other ranks of the node have waited for it, */
  uint64_t waited_far_ns;            /* and its part of waits of other nodes for its node */
  size_t place;                      /* for sorting */
} sfreport_item_t;

/* Start with {0}. */
typedef struct sfreport_list {
  sfreport_item_t *items;
  size_t count, capacity;
} sfreport_list_t;

/* Appends a message, which the list owns then. SF_ERR_NOMEM: it stays the caller's. */
sf_status_t sfreport_list_add(sfreport_list_t *list, Sfproto__Message *message, sfreport_item_t **item_p);

/* By node; stable. */
void sfreport_list_sort(sfreport_list_t *list);
void sfreport_list_clear(sfreport_list_t *list);

/* Drops graphs in set-up, which have no number to tell them apart. */
void sfreport_list_drop_unnumbered(sfreport_list_t *graphs);

#endif
