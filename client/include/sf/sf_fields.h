/* Operations with several fields: bcast and reduce of n fields over one graph, such as all fields of a stencil code.
 * The fields travel together: one message to each neighbour and between two nodes, one wake-up, one acknowledgement, in
 * place of n. Applications include sf.h. */
#ifndef SF_FIELDS_H
#define SF_FIELDS_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SF_FIELDS_MAX 255 /* fields of one operation */

/* One field: rootdata and leafdata are buffers of units, as in sf_bcast_begin. A bcast reads rootdata and updates
 * leafdata; a reduce reads leafdata and updates rootdata. Fields may have different units and different ops. */
typedef struct sf_field {
  const sf_type_t *unit; /* of each vertex */
  void *rootdata;        /* nroots units */
  void *leafdata;        /* units up to the largest leaf index */
  const sf_op_t *op;     /* SF_REPLACE, one that applies to the unit, or one of the application */
} sf_field_t;

/* Begin one bcast or reduce of 1 <= n <= SF_FIELDS_MAX fields. The operation is matched, counted and ended as one.
 * Collective; does not block, as sf_bcast_begin and sf_reduce_begin. n, units and ops are the same on all ranks, in the
 * same order. A call with n == 1 equals sf_bcast_begin or sf_reduce_begin, which other ranks may call instead. fields
 * is only read, and may be freed at return. The buffers stay in use until the operation ends.
 *
 * Results are bitwise equal to n operations, but for the signs of NaNs. If an op is the application's, all fields of a
 * reduce are combined as on a graph with SF_GRAPH_REPRODUCIBLE, and the first such call on a graph may block: see
 * sf_op_create. The buffers follow the rule of operations in flight at the same time: no field may update memory that
 * another field reads or updates.
 * All kinds of host memory may be mixed. Large payloads are zero-copy if all buffers that a rank sends are in sf_alloc
 * memory, or all are registered. The daemon's workers do not copy for such an operation. Buffers of devices are packed
 * by kernels and staged in host memory. Small payloads of fields with one unit and op take as long as one field of the
 * same size if the request is persistent, or if the graph's last call in this direction had the same arguments.
 *
 * Errors of sf_bcast_begin, with the number of the field in the detail. SF_ERR_ARG: n is out of range, or the units
 * together exceed 2^40 bytes. SF_ERR_MISMATCH: ranks called with different n, units or ops; these are compared by a
 * digest of 21 bits, in which all ops of the application are alike. */
SF_CHECK_RESULT sf_status_t sf_bcast_begin_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                             sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce_begin_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                              sf_request_t **request_p);

/* The same operations, blocking until they have ended. */
SF_CHECK_RESULT sf_status_t sf_bcast_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[]);
SF_CHECK_RESULT sf_status_t sf_reduce_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[]);

/* Create persistent requests for operations with several fields, as sf_bcast_init and sf_reduce_init do for one field.
 * fields is copied. sf_start_all starts several persistent requests on graphs with SF_GRAPH_TOGETHER as one
 * operation. */
SF_CHECK_RESULT sf_status_t sf_bcast_init_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                            sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_reduce_init_v(sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                             sf_request_t **request_p);

#ifdef __cplusplus
}
#endif

#endif
