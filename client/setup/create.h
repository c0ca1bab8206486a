/* Creation of graphs for functions that compute the edges and may fail in doing so. */
#ifndef SFC_SETUP_CREATE_H
#define SFC_SETUP_CREATE_H

#include <stdint.h>

#include <sf/sf.h>

#include "client/plan.h"

/* The calling function, and this rank's error so far: status SF_OK, or an error that all ranks will return, with its
 * leaf (-1: none in particular) and its text. */
typedef struct sfc_setup_caller {
  const char *caller;
  sf_status_t status;
  int64_t leaf;
  const char *detail;
  uint32_t own_flags; /* of the graph, that applications cannot give */
} sfc_setup_caller_t;

/* As sf_graph_create; this rank's error becomes the error of all ranks. */
sf_status_t sfc_graph_create(sf_group_t *group, const sfc_edge_input_t *input, uint32_t flags,
                             const sfc_setup_caller_t *finding, sf_graph_t **graph_p);

#endif
