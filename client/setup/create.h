/* Making graphs on behalf of functions that have computed the edges, and may have found an error in doing so. */
#ifndef SFC_SETUP_CREATE_H
#define SFC_SETUP_CREATE_H

#include <stdint.h>

#include <sf/sf.h>

#include "client/plan.h"

/* Who makes the graph, and what it has found so far: status SF_OK, or an error to be agreed by all ranks, with the leaf
 * that it concerns (-1: none in particular) and its text. */
typedef struct sfc_setup_caller {
  const char *caller;
  sf_status_t status;
  int64_t leaf;
  const char *detail;
  uint32_t own_flags; /* of the graph, that applications cannot give */
} sfc_setup_caller_t;

/* As sf_graph_create; an error that was found becomes the error of all ranks. */
sf_status_t sfc_graph_create(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags,
                             const sfc_setup_caller_t *finding, sf_graph_t **graph_p);

#endif
