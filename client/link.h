/* A link: the edges between this rank and one other (or itself), in one direction, ready for the kernels. */
#ifndef SFC_LINK_H
#define SFC_LINK_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges.h"
#include "shm/kernels.h"

typedef struct sfc_link {
  int64_t nvalues;            /* distinct roots; 0: no edges */
  int64_t nedges;             /* leaves */
  sfshm_pattern_t value_root; /* root of each value, all different */
  sfshm_pattern_t edge_root;  /* root of each edge */
  sfshm_pattern_t edge_value; /* value of each edge; n == 0: edges and values are the same */
  sfshm_pattern_t leaf;       /* leaf of each edge */
  int64_t root_max;           /* highest indices */
  int64_t leaf_max;
  int64_t root_runs; /* pieces of consecutive roots, and of consecutive leaves: what packing one by one would cost */
  int64_t leaf_runs;
  void *own_index; /* edge_root's array if edges and values differ */
} sfc_link_t;

/* Makes a link from checked edges, whose memory stays in use. */
sf_status_t sfc_link_init(sfc_link_t *link, const sfshm_edges_t *edges);
void sfc_link_destroy(sfc_link_t *link);

/* The link's edges that carry values first .. first + n - 1: *edge_p the first, returns their number. */
int64_t sfc_link_edges_of(const sfc_link_t *link, int64_t first, int64_t n, int64_t *edge_p);

#endif
