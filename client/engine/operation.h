/* Requests: operations in flight, and persistent ones. */
#ifndef SFC_ENGINE_OPERATION_H
#define SFC_ENGINE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/graph.h"
#include "shm/device/device.h"
#include "shm/kernels/kernels.h"

/* Fast path: consecutive values that fit into a slot or a small cell, and their only lane; lane NULL: general path. */
typedef struct sfc_fast_path {
  sfc_lane_t *lane;
  char *values;
  size_t bytes;
} sfc_fast_path_t;

/* Parts of an operation that the client may offer to the daemon's workers: see offload.h. */
#define SFC_OFFER_SOURCE 1u
#define SFC_OFFER_TARGET 2u

/* Operations of requests: plain ones, which lanes carry out (operation.c), and those made of several. Waiting and
 * testing are common: a request is done when nothing is left to send and receive. */
typedef struct sfc_request_ops {
  sf_status_t (*begin)(sf_request_t *request, sfc_thread_t *thread); /* the caller flushes wakes */
  sf_status_t (*end)(sf_request_t *request, sf_status_t status);     /* takes it out of flight; returns its status */
  void (*free)(sf_request_t *request);                               /* of a request not in flight */
  sf_status_t (*check_wait)(const sf_request_t *request);            /* error of waiting; NULL: waiting is fine */
} sfc_request_ops_t;

/* Progress of taking a message from another node. */
typedef enum sfc_taking {
  SFC_TAKING_WAITS, /* not this lane's turn, or no memory yet */
  SFC_TAKING_PART,  /* later turns remain; without memory: the sizes are known */
  SFC_TAKING_DONE,
  SFC_TAKING_FAILED
} sfc_taking_t;

/* How messages of operations that move something else than fields are sent and taken on lanes between ranks of a node:
 * as sfc_lane_send_shared, sfc_eager_send, sfc_lane_take (lane_take.h) and sfc_fast_path_receive; the edges within the
 * rank; and this rank's part of messages between nodes. take_from_node sets lane->rx_cursor.bytes to the bytes of the
 * part. */
struct sfc_taken;
typedef struct sfc_payload_ops {
  bool (*send)(sfc_lane_t *lane, sf_request_t *request);
  bool (*send_eagerly)(sfc_lane_t *lane, sf_request_t *request);
  sf_status_t (*take)(sfc_lane_t *lane, sf_request_t *request, const sfc_link_t *link, const sfshm_slot_t *slot,
                      sfshm_method_t method, struct sfc_taken *taken);
  bool (*take_short)(sfc_lane_t *lane, const sfshm_slot_t *slot);
  void (*do_self)(sf_request_t *request);
  bool (*send_to_node)(sfc_lane_t *lane, sf_request_t *request);
  sfc_taking_t (*take_from_node)(sfc_lane_t *lane, sf_request_t *request);
} sfc_payload_ops_t;

extern const sfc_request_ops_t sfc_plain_request_ops;

/* One field of an operation: a unit at each vertex, how units are combined, and the buffers. */
typedef struct sfc_field {
  sfshm_op_t op;
  sfc_combine_t combine;             /* unit, and kernels for unpacking with the op */
  size_t before_bytes;               /* of the units of earlier fields */
  const sfshm_kernels_t *move;       /* kernels for packing */
  const sfshm_device_ops_t *devices; /* if root or leaf data are on a device; else NULL */
  const char *root;
  const char *leaf;
  const char *source; /* root or leaf, as sent */
  char *target;       /* leaf or root */
  sfc_memory_ref_t source_ref;
  sfc_memory_ref_t target_ref;
} sfc_field_t;

/* The fields of a request as one field, for small messages: a kernel for each field would take longer than the copies.
 * Only for fields of one unit and op in memory of the host. Kernels get the lowest addresses, and lists of all values
 * of a message, relative to these. The messages are the same. */
typedef struct sfc_flat {
  sfc_field_t field;
  int32_t nlinks;
  sfc_link_t links[]; /* two of each lane: see sfc_flat_link */
} sfc_flat_t;

/* Stands for the unit of a request with several fields: no call has it. */
#define SFC_UNIT_OF_SEVERAL ((sfshm_unit_t){SFSHM_BASE_COUNT, 0})

/* A message of n values has n * value_bytes bytes: the units of the first field, then those of the second, and so on.
 * Nearly all operations have one field, which is in the request. */
struct sf_request {
  sf_graph_t *graph;
  sf_request_t *next; /* in the graph's list of free or of persistent requests */
  const sfc_request_ops_t *ops;
  const sfc_payload_ops_t *payload; /* of an operation without fields, and a request of another room; NULL: fields */
  void *whole;                      /* the operation of which the request is a part; NULL: itself */
  const sf_request_t *awaited;      /* the part with missing messages: itself, unless it has others */
  sf_request_t *carrier;            /* request that is carried out: itself, or the joined one */
  int32_t nparts;                   /* joined requests that have not ended */
  bool persistent;
  bool in_flight;
  bool held;    /* sends are held back until lifted */
  uint8_t kind; /* counted as this sfshm_kind_t */
  sfshm_operation_t operation;
  bool ordered;          /* contributions are combined in the graph's combine order */
  int32_t turn;          /* next turn */
  int32_t sends_left;    /* lanes with data to post, or to be read in place */
  int32_t receives_left; /* lanes with data to receive */
  uint64_t sequence;     /* number on the graph, from 1 */
  uint64_t match;        /* descriptor of its messages, without protocol */
  uint64_t signature;
  size_t value_bytes;  /* of one value in messages: a unit of each field */
  int32_t nfields;     /* 1 as a rule */
  sfc_field_t *fields; /* &first, or in room */
  sfc_field_t first;   /* of an operation with one field */
  sfc_field_t *room;   /* array for several fields, reused by later operations; NULL: none */
  int32_t nroom;
  struct sfc_flat *flat;             /* NULL: none */
  bool flattened;                    /* whether flat has been tried */
  bool replaces;                     /* a field has the op replace */
  sfc_memory_class_t source_class;   /* where all fields' sources are; UNKNOWN also if they differ */
  const sfshm_device_ops_t *devices; /* if a field has some */
  uint64_t failures;                 /* of devices, when it was begun */
  struct sfc_staging *staging;       /* staged device values: see device_staging.h; NULL: none */
  uint32_t may_offer;                /* parts that may be offered: SFC_OFFER_*; usually 0 */
  uint32_t offers;                   /* parts offered by the operation in flight */
  uint32_t trace;                    /* SFC_SAMPLED, SFC_TRACED: see op_trace.h */
  uint64_t began_ns;                 /* if traced */
  uint64_t traced_ns;                /* time of its last event */
  uint64_t memory_epoch;             /* epoch of the buffers' lookup */
  sfc_fast_path_t send;              /* fast path to send, and to receive */
  sfc_fast_path_t receive;
};

/* Device kernels that combine contributions at vertices: in order, unless the graph is unordered. */
static inline const sfshm_kernels_t *sfc_devices_combine(const sf_graph_t *graph, const sfshm_device_ops_t *devices,
                                                         sfshm_unit_t unit, sfshm_op_t op)
{
  return (graph->flags & SF_GRAPH_UNORDERED) != 0 ? devices->unordered(unit, op) : devices->kernels(unit, op);
}

/* Kernels for data on devices; devices NULL: on the host. */
static inline const sfshm_kernels_t *sfc_kernels_find(const sfshm_device_ops_t *devices, sfshm_unit_t unit,
                                                      sfshm_op_t op)
{
  return devices == NULL ? sfshm_kernels_find(unit, op) : devices->kernels(unit, op);
}

static inline bool sfc_request_is_complete(const sf_request_t *request)
{
  return request->sends_left == 0 && request->receives_left == 0;
}

/* Attaches the engine, before the first request of a graph. */
void sfc_graph_begin_operations(sf_graph_t *graph);

/* Starts n >= 2 requests, which sfc_request_joins accepts, as one operation. */
sf_status_t sfc_request_start_joined(sf_request_t *const parts[], int32_t n, sfc_thread_t *thread);

/* Whether sf_start_all makes one operation of two persistent requests. All ranks come to the same answer. */
bool sfc_request_joins(const sf_request_t *a, const sf_request_t *b);

/* Makes the flat form of a request, where one is worth while: to be used for several operations. */
void sfc_request_flatten(sf_request_t *request);

/* Frees it. */
void sfc_request_unflatten(sf_request_t *request);

/* The link for packing (sends) or unpacking the messages of a lane with the flat field; NULL: none. */
static inline const sfc_link_t *sfc_flat_link(const sf_request_t *request, const sfc_lane_t *lane, bool sends)
{
  if (request->flat == NULL)
    return NULL;
  const sfc_link_t *link = &request->flat->links[2 * (lane - request->graph->lanes) + sends];
  return link->nvalues > 0 ? link : NULL;
}

/* Lets the sends of a held request go. */
void sfc_request_lift(sf_request_t *request);

#endif
