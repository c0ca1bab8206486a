/* Operations in flight. */
#ifndef SFC_ENGINE_OPERATION_H
#define SFC_ENGINE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph.h"
#include "shm/device/device.h"
#include "shm/kernels/kernels.h"

/* Consecutive values that fit into a slot or a small cell, and the one lane that they take; lane is NULL where it is
 * not as simple. */
typedef struct sfc_fast_path {
  sfc_lane_t *lane;
  char *values; /* in the application's buffer */
  size_t bytes;
} sfc_fast_path_t;

/* What of an operation may be offered to the daemon's workers: see offload.h. */
#define SFC_OFFER_SOURCE 1u
#define SFC_OFFER_TARGET 2u

/* What differs between requests that lanes carry out (operation.c) and requests made of several of these. Waiting and
 * testing do not differ: a request is done when nothing is left to send and to receive. */
typedef struct sfc_request_ops {
  sf_status_t (*begin)(sf_request_t *request, sfc_thread_t *thread); /* wakes are left to the caller */
  sf_status_t (*end)(sf_request_t *request, sf_status_t status);     /* takes it out of flight; returns its status */
  void (*free)(sf_request_t *request);                               /* not in flight */
} sfc_request_ops_t;

extern const sfc_request_ops_t sfc_plain_request_ops;

/* One field of an operation: a unit at each vertex, how units are combined, and the buffers. */
typedef struct sfc_field {
  sfshm_op_t op;
  sfc_combine_t combine;             /* unit, and the kernels for unpacking with the op */
  size_t before_bytes;               /* bytes of one value that the fields before this one have */
  const sfshm_kernels_t *move;       /* for packing */
  const sfshm_device_ops_t *devices; /* if the root's or the leaf's data are on one; NULL: they are not */
  const char *root;
  const char *leaf;
  const char *source; /* root or leaf: what is sent */
  char *target;       /* the other one */
  sfc_memory_ref_t source_ref;
  sfc_memory_ref_t target_ref;
} sfc_field_t;

/* Unit of a request's first field if the request has several: that of no call. */
#define SFC_UNIT_OF_SEVERAL ((sfshm_unit_t){SFSHM_BASE_COUNT, 0})

/* A message of n values has n * value_bytes bytes: the units of the first field, then those of the second, and so on.
 * Pieces of a message are laid out in the same way. Nearly all operations have one field, which is in the request. */
struct sf_request {
  sf_graph_t *graph;
  sf_request_t *next; /* in the graph's list of free or of persistent requests */
  const sfc_request_ops_t *ops;
  void *whole;                 /* what the request is a part of; NULL: an operation by itself */
  const sf_request_t *awaited; /* the part whose messages are missing: this request unless it has others */
  bool persistent;
  bool in_flight;
  bool held;    /* its sends have to wait until this is lifted */
  uint8_t kind; /* as it is counted: sfshm_kind_t */
  sfshm_operation_t operation;
  bool ordered;          /* contributions must be combined in the order of the graph's turns */
  int32_t turn;          /* the next one */
  int32_t sends_left;    /* lanes that have not posted everything, or whose reader is not done in place */
  int32_t receives_left; /* lanes from which something is still to come */
  uint64_t sequence;     /* number of the operation on the graph, from 1 */
  uint64_t match;        /* descriptor of its messages, but for the method */
  uint64_t signature;
  size_t value_bytes;  /* of one value in messages: a unit of each field */
  int32_t nfields;     /* 1 as a rule */
  sfc_field_t *fields; /* &first, or in room */
  sfc_field_t first;   /* of an operation with one field */
  sfc_field_t *room;   /* memory for several fields, kept for the next operation; NULL: none */
  int32_t nroom;
  bool replaces;                     /* an field has the op replace */
  sfc_memory_class_t source_class;   /* where all fields' sources are; UNKNOWN also if they differ */
  const sfshm_device_ops_t *devices; /* if an field has some */
  uint64_t failures;                 /* of devices, when it was begun */
  struct sfc_stage *stage;           /* values of a device on their way to others: see device_staging.h; NULL: none */
  uint32_t may_offer;                /* parts that could be offered: SFC_OFFER_*; 0 as a rule */
  uint32_t offers;                   /* that are, of the operation in flight */
  uint32_t trace;                    /* SFC_SAMPLED, SFC_TRACED: see op_trace.h */
  uint64_t began_ns;                 /* if it is watched */
  uint64_t traced_ns;                /* when the last thing happened to it */
  uint64_t memory_epoch;             /* when the buffers were looked up */
  sfc_fast_path_t send;              /* all that is to be sent, and to be received */
  sfc_fast_path_t receive;
};

/* Kernels of devices for combining contributions to the graph's vertices: in their order, unless the graph does not
 * care. */
static inline const sfshm_kernels_t *sfc_devices_combine(const sf_graph_t *graph, const sfshm_device_ops_t *devices,
                                                         sfshm_unit_t unit, sfshm_op_t op)
{
  return (graph->flags & SF_GRAPH_UNORDERED) != 0 ? devices->unordered(unit, op) : devices->kernels(unit, op);
}

/* Kernels for data on devices; devices is NULL if there are none. */
static inline const sfshm_kernels_t *sfc_kernels_find(const sfshm_device_ops_t *devices, sfshm_unit_t unit,
                                                      sfshm_op_t op)
{
  return devices == NULL ? sfshm_kernels_find(unit, op) : devices->kernels(unit, op);
}

static inline bool sfc_request_is_complete(const sf_request_t *request)
{
  return request->sends_left == 0 && request->receives_left == 0;
}

/* What has to be checked and made ready before a graph takes noperations more; start.h begins them. */
sf_status_t sfc_graph_prepare(sf_graph_t *graph, const sfc_thread_t *thread, uint64_t noperations);

/* Lets the sends of a request go that was held when it began. */
void sfc_request_lift(sf_request_t *request);

#endif
