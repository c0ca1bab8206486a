/* Array: shape, distribution, and mappings of the parts on this node. Each array has a graph of its own over the group,
 * in which group rank 0 has one root and each rank has one leaf. The graph gives the array its number, its barrier and
 * its failure: when the graph fails, all ranks of the array fail. */
#ifndef SFC_ONESIDED_ARRAY_H
#define SFC_ONESIDED_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "shm/array/distribution.h"
#include "shm/array/layout.h"
#include "shm/array/transfer.h"
#include "shm/base/error.h"
#include "shm/observe/counters.h"

/* The ranks of an array on one other node. */
typedef struct sfc_array_node {
  int32_t node;
  int32_t first; /* in the list of ranks by node */
  int32_t nranks;
} sfc_array_node_t;

/* The part of one rank. */
typedef struct sfc_array_part {
  char *data; /* first element; NULL: the rank is on another node */
  sfshm_array_way_t way;
  const sfc_array_node_t *node;   /* node of the rank; NULL: this node */
  int64_t node_offset;            /* elements of the ranks before this one on that node */
  int64_t step[SFSHM_ARRAY_DIMS]; /* elements between neighbours along each dimension */
  sfc_pinned_t pinned;            /* mapping, if the part belongs to another rank of the node */
} sfc_array_part_t;

/* Requests of an array: see request.h. */
typedef struct sfc_array_requests {
  sfc_continuation_t continuation; /* of the thread that begins them, while nbegun > 0 */
  int32_t nbegun;                  /* which that thread does not know to be complete */
  _Atomic int32_t nunsubmitted;    /* with requests to submit */
  _Atomic int32_t nincomplete;
  struct sfc_operation *complete; /* what nbegun still counts; the window's lock guards it */
} sfc_array_requests_t;

struct sf_array {
  sfc_attachment_t attachment; /* of the graph: first */
  sf_graph_t *graph;
  sf_context_t *context;
  uint32_t generation;
  const sf_type_t *unit;
  int32_t rank;        /* of the group */
  sfshm_array_t shape; /* dims[].bounds point into bounds */
  int64_t *bounds;
  sfc_array_part_t *parts; /* by rank of the group */
  sfc_array_node_t *nodes; /* other nodes with ranks of the array, ascending; NULL: none */
  int32_t nnodes;
  int32_t *by_node;      /* ranks on other nodes, by node, then ascending */
  sfshm_region_t region; /* own part; base NULL: not created */
  bool is_known;         /* the daemon knows the own part as a segment */
  sfshm_array_counters_t *counters;
  sfc_array_requests_t requests;
};

/* Collective functions. */
typedef enum sfc_array_collective {
  SFC_ARRAY_SYNC,
  SFC_ARRAY_DESTROY,
  SFC_ARRAY_CREATE,
  SFC_ARRAY_FILL,
  SFC_ARRAY_SCALE,
  SFC_ARRAY_COPY,
  SFC_ARRAY_ADD,
  SFC_ARRAY_DOT,
  SFC_ARRAY_TRANSPOSE,
  SFC_ARRAY_COLLECTIVES
} sfc_array_collective_t;

/* Barrier of the array's ranks. SF_ERR_MISMATCH: ranks called different collective functions. */
sf_status_t sfc_array_barrier(sf_array_t *array, sfc_array_collective_t collective);

/* Blocks of a rank, as sf_array_distribution returns them. */
void sfc_array_describe_part(const sf_array_t *array, int32_t rank, sf_array_part_t *part_p);

/* Sets shape and distribution from the arguments of sf_array_create, for a group of the size. *bounds_p: copy of the
 * bounds, which the caller frees, or NULL. */
sf_status_t sfc_array_describe(const sf_type_t *unit, int32_t ndims, const int64_t extent[],
                               const sf_array_distribution_t *distribution, int32_t size, sfshm_array_t *shape_p,
                               int64_t **bounds_p);

/* Shape and distribution as numbers, for comparison; these numbers as text. */
#define SFC_ARRAY_WORDS (2 + 4 * SFSHM_ARRAY_DIMS)
void sfc_array_words(const sfshm_array_t *shape, uint64_t words[SFC_ARRAY_WORDS]);
void sfc_array_text(const uint64_t words[SFC_ARRAY_WORDS], char *text, size_t text_size);

sf_status_t sfc_array_refuse(const sf_array_t *array, const char *function);

/* Whether the array is one that this process created, and has not failed. */
static inline bool sfc_array_is_usable(const sf_array_t *array)
{
  return array != NULL && array->generation == sfc_process_generation && !sfc_graph_is_failed(array->graph);
}

/* Refuses NULL, use in a forked child, and arrays that have failed. */
static inline sf_status_t sfc_array_check(const sf_array_t *array, const char *function)
{
  return __builtin_expect(sfc_array_is_usable(array), true) ? SF_OK : sfc_array_refuse(array, function);
}

/* SF_ERR_ARG if the pointer is NULL. Returns an earlier error as it is. */
static inline sf_status_t sfc_array_require(sf_status_t status, const void *pointer, const char *name,
                                            const char *function)
{
  if (__builtin_expect(status == SF_OK && pointer == NULL, false))
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL", function, name);
  return status;
}

/* Function that copies rows between a part and a buffer. access: put or get. */
static inline sfshm_array_row_t *sfc_array_row(const sf_array_t *array, sfshm_array_access_t access)
{
  return access == SFSHM_ARRAY_PUT ? sfshm_array_put_row(array->shape.unit_bytes)
                                   : sfshm_array_get_row(array->shape.unit_bytes);
}

/* Whether an index is within the array. */
static inline bool sfc_array_has(const sf_array_t *array, const int64_t index[])
{
  bool within = true;
  for (int32_t d = 0; d < array->shape.ndims; d++)
    within &= (uint64_t)index[d] < (uint64_t)array->shape.dims[d].extent;
  return within;
}

/* SF_ERR_RANGE with a detail, for an index that is not within the array. */
sf_status_t sfc_array_refuse_index(const sf_array_t *array, const char *function, const int64_t index[]);

/* Returns the owner of an element within the array. *element_p: number of the element in the owner's part. */
static inline int32_t sfc_array_locate(const sf_array_t *array, const int64_t index[], int64_t *element_p)
{
  sfshm_array_place_t places[SFSHM_ARRAY_DIMS];
  int32_t rank = 0;
  int64_t element = 0;
  for (int32_t d = 0; d < array->shape.ndims; d++) {
    sfshm_array_find(&array->shape.dims[d], index[d], &places[d]);
    rank = rank * array->shape.dims[d].procs + places[d].coordinate;
  }
  for (int32_t d = 0; d < array->shape.ndims; d++)
    element += places[d].local * array->parts[rank].step[d];
  *element_p = element;
  return rank;
}

/* Traces calls on arrays. begin: 0 if events are not collected. */
static inline uint64_t sfc_array_trace_begin(const sf_array_t *array)
{
  return __builtin_expect(sfc_trace_is_on(array->context), false) ? sfshm_trace_now_ns() : 0;
}

void sfc_array_trace_end(const sf_array_t *array, sfshm_trace_call_t call, uint64_t begin_ns, int64_t nelements);

/* Counts operations of the calling rank. */
static inline void sfc_array_count(sf_array_t *array, sfshm_array_way_t way, sfshm_array_access_t access,
                                   uint64_t bytes)
{
  sfshm_array_counters_t *counters = array->counters;
  sfshm_count(&counters->operations[way][access], 1);
  sfshm_count(&counters->bytes[way][access], bytes);
}

#endif
