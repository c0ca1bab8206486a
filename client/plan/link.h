/* Link: the edges between this rank and one other rank, or itself, in one direction, as patterns for kernels. Extra
 * edges: see shm/edges/edges.h. */
#ifndef SFC_PLAN_LINK_H
#define SFC_PLAN_LINK_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/edges.h"
#include "shm/kernels/kernels.h"
#include "shm/kernels/paths.h"
#include "shm/lane/message.h"

typedef struct sfc_link {
  int64_t nvalues;             /* distinct roots; 0: no edges */
  int64_t nedges;              /* leaves; nedges - nvalues are extra */
  sfshm_pattern_t value_root;  /* root of each value, and of the edge with the same number */
  sfshm_pattern_t leaf;        /* leaf of each edge */
  sfshm_pattern_t extra_value; /* of each extra edge: value, root, leaf */
  sfshm_pattern_t extra_root;
  sfshm_pattern_t extra_leaf;
  int64_t root_max;  /* highest indices */
  int64_t leaf_max;  /* SFSHM_EDGES_UNKNOWN if in another rank's list */
  int64_t root_runs; /* runs of consecutive roots, and of leaves: the cost of packing */
  int64_t leaf_runs;
  void *memory[2]; /* of patterns outside a mapped edge list; NULL: none */
} sfc_link_t;

/* A unit, and kernels that combine it with present values. */
typedef struct sfc_combine {
  sfshm_unit_t unit;
  size_t unit_bytes;
  const sfshm_kernels_t *kernels;
} sfc_combine_t;

/* Makes a link from open edges. The edge list stays in use. The link takes over the edges' memory, and list, if the
 * list was malloc'ed (else NULL). */
void sfc_link_init(sfc_link_t *link, sfshm_edges_t *edges, void *list);
void sfc_link_destroy(sfc_link_t *link);

/* Makes the link of n arrays as if they were one: array k begins offsets[k] units behind it. A message has the values
 * of array after array, as n messages of the link one behind the other. The result serves to pack (sends) or to unpack
 * messages of that operation, and for nothing else. The caller destroys it. false: no memory. */
bool sfc_link_flatten(const sfc_link_t *link, sfshm_operation_t operation, bool sends, const int64_t offsets[],
                      int32_t n, sfc_link_t *flat_p);

/* Whether that is one contiguous range. */
bool sfc_link_adjoins(const sfc_link_t *link, sfshm_operation_t operation, bool sends, const int64_t offsets[],
                      int32_t n);

/* Number of values in a message: distinct roots in a bcast, all leaves in a reduce. */
static inline int64_t sfc_link_count(const sfc_link_t *link, sfshm_operation_t operation)
{
  return operation == SFSHM_BCAST ? link->nvalues : link->nedges;
}

/* Combines n packed values, from value number first of the message, into the target (leaves or roots). */
void sfc_link_unpack(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *combine, int64_t first,
                     int64_t n, const void *packed, void *target);

/* The same for bytes at offset in value number value, for units larger than a piece. Both are multiples of the base
 * type's size. part: unit and kernels of that many bytes. */
void sfc_link_unpack_part(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *part,
                          size_t unit_bytes, int64_t value, size_t offset, const void *packed, void *target);

/* The edges as paths from source buffer to target. */
sfshm_paths_t sfc_link_paths(const sfc_link_t *link, sfshm_operation_t operation);

/* Combines from the source buffer (roots or leaves) directly into the target. */
void sfc_link_apply(const sfc_link_t *link, sfshm_operation_t operation, const sfc_combine_t *combine,
                    const void *source, void *target);

#endif
