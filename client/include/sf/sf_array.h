/* One-sided arrays: arrays distributed over the ranks of a group. Any rank reads, writes and updates any patch at any
 * time, while the owner of the elements computes. Applications include sf.h. docs/onesided.md has the memory model, and
 * compares these functions with Global Arrays and Elemental.
 *
 * The model follows Global Arrays, and the RMAInterface and EL::DA of S. Ghosh et al., "One-Sided Interface for
 * Matrix Operations using MPI-3 RMA" (ICPP 2016), cited as [RMA]. An array is created once and used until it is
 * destroyed: there are no epochs.
 *
 * Conventions, besides those of sf.h
 *  - Arrays have 1 to 4 dimensions and are row-major: the last index is the fastest. An array of Elemental or Fortran
 *    has its dimensions in reverse order here.
 *  - A patch has the indices lo[d] .. lo[d] + extent[d] - 1 along each dimension. If an extent is 0 the patch is empty:
 *    lo, ld and the buffer, which may be NULL, are not looked at. The caller's buffer is in any memory of the host:
 *    element (i0, i1, i2, i3) of the patch is at ((i0 * ld[0] + i1) * ld[1] + i2) * ld[2] + i3, with
 *    ld[d] >= extent[d + 1]. ld has ndims - 1 elements; NULL: the buffer has no gaps.
 *  - Operations are complete *locally* when the caller may use its buffer again, and *remotely* when their effect is
 *    in the array. Blocking functions return when they are complete locally.
 *  - The caller accesses elements of ranks on its node directly: such operations are complete remotely, too, when the
 *    function returns. The daemons carry out operations on elements of other nodes.
 *  - Operations of one thread that concern elements of the same rank take effect in the order of the calls.
 *  - Accumulation, fetch_op and compare_swap are atomic for each element (for each part of a complex number) with
 *    respect to each other. An element that is put while another rank accesses it has an undefined value, unless it is
 *    an aligned integer or real number of at most 8 bytes on the reader's node.
 *  - Threads: any threads may call the blocking one-sided functions on an array at the same time. Collective functions
 *    and functions with requests follow the rule of graphs: one thread at a time. No thread waits for another one to go
 *    on: a thread that needs room reads the answers to all requests of the process, so the library writes to buffers of
 *    sf_array_get_begin from any thread that is in a function of this header.
 *  - Errors of all one-sided operations: SF_ERR_ARG: a required pointer is NULL. SF_ERR_RANGE: the patch or an index
 *    is not within the array, or ld is too small; nothing has been accessed. SF_ERR_RANK_FAILED, SF_ERR_DAEMON_LOST:
 *    the job has failed; the detail names the rank. SF_ERR_STATE: all ranks of the element's node have left the job. */
#ifndef SF_ARRAY_H
#define SF_ARRAY_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sf_array sf_array_t; /* array distributed over a group */

/* Most dimensions of an array. */
#define SF_ARRAY_MAX_DIMS 4

/* In place of a rank: all ranks of the array. */
#define SF_ARRAY_ALL_RANKS (-1)

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

/* Distribution of the elements over the ranks, by dimension. All fields 0: the library chooses a grid, and gives each
 * rank one block. The ranks of the group form a grid in row-major order: rank (c0 * grid[1] + c1) * grid[2] + c2 ...
 * has the coordinates (c0, c1, c2, ...). */
typedef struct sf_array_distribution {
  int32_t grid[SF_ARRAY_MAX_DIMS]; /* ranks along the dimension. Their product is the size of the group. 0: chosen so
                                      that the blocks become as even as possible */

  /* Indices in a block: block k of the dimension belongs to coordinate k % grid. 0: one block for each coordinate, of
   * extent / grid indices, rounded up. 1 along all dimensions: Elemental's distribution MC x MR. */
  int64_t block[SF_ARRAY_MAX_DIMS];

  /* Irregular blocks: coordinate c has the indices bounds[d][c] .. bounds[d][c + 1] - 1. grid[d] + 1 ascending numbers
   * from 0 to the extent; requires grid[d] > 0. Read by sf_array_create only. NULL: by block. */
  const int64_t *bounds[SF_ARRAY_MAX_DIMS];
} sf_array_distribution_t;

/* Creates an array of ndims dimensions with extent[d] >= 1 indices each, whose elements are zero. unit: a predefined
 * number (SF_INT8 to SF_DOUBLE_COMPLEX). distribution: NULL, or see above. All arguments are the same on all ranks;
 * they are not needed after the call. Each rank allocates the memory of its own elements, which other ranks of its node
 * map. Collective and blocking over the group. The caller owns the array; sf_finalize frees arrays that remain. Errors
 * are agreed: all ranks return the same one. SF_ERR_ARG: an argument is out of range. SF_ERR_MISMATCH: arguments differ
 * between ranks; the detail has both values. SF_ERR_NOMEM: a rank has no memory. SF_ERR_LIMIT: a rank has no more
 * segments (the daemon's option max-segments). */
SF_CHECK_RESULT sf_status_t sf_array_create(sf_group_t *group, const sf_type_t *unit, int32_t ndims,
                                            const int64_t extent[], const sf_array_distribution_t *distribution,
                                            sf_array_t **array_p);

/* Completes this rank's operations, waits until all ranks have called the function, and frees the array. Collective and
 * blocking. array == NULL is accepted. SF_ERR_STATE: requests of the array have not been ended. If the job has failed,
 * the function frees the array and returns the job's error. */
sf_status_t sf_array_destroy(sf_array_t *array);

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

/* Writes the buffer to the patch [RMA: Put; GA: NGA_Put]. Completes locally. */
SF_CHECK_RESULT sf_status_t sf_array_put(sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                         const void *buffer, const int64_t ld[]);

/* Reads the patch into the buffer [RMA: Get; GA: NGA_Get]. Blocks until the values are in the buffer. */
SF_CHECK_RESULT sf_status_t sf_array_get(sf_array_t *array, const int64_t lo[], const int64_t extent[], void *buffer,
                                         const int64_t ld[]);

/* Adds alpha times the buffer to the patch, atomically for each element [RMA: Acc; GA: NGA_Acc]. alpha: one element of
 * the array's unit; NULL: 1. Integers wrap around. Completes locally. Where all ranks of the array are on one node,
 * calls that accumulate floating-point numbers on the same page of a part, also begin and lists, wait for each other.
 */
SF_CHECK_RESULT sf_status_t sf_array_acc(sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                         const void *buffer, const int64_t ld[], const void *alpha);

/* Begin a put, get or acc, and do not block [RMA: IPut, IGet, IAcc]. The caller must not change the buffer (get: access
 * it) until sf_wait or sf_test has ended the request. A request is complete when its operation is complete locally. If
 * the operation is complete at return, *request_p is NULL, which sf_wait, sf_test and sf_wait_all accept. */
SF_CHECK_RESULT sf_status_t sf_array_put_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                               const void *buffer, const int64_t ld[], sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_array_get_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                               void *buffer, const int64_t ld[], sf_request_t **request_p);
SF_CHECK_RESULT sf_status_t sf_array_acc_begin(sf_array_t *array, const int64_t lo[], const int64_t extent[],
                                               const void *buffer, const int64_t ld[], const void *alpha,
                                               sf_request_t **request_p);

/* ---- Lists of elements ------------------------------------------------------------------------------------------- */

/* Element i of the list has the index (index[i * ndims], ..., index[i * ndims + ndims - 1]) in the array and is
 * values[i]. n >= 0. An element may occur several times: scatter_acc then adds each of its values, scatter leaves one
 * of them. All indices are checked before any element is accessed: SF_ERR_RANGE names the first wrong one. */

/* values[i] = element i [GA: NGA_Gather]. Blocks until all values are there. */
SF_CHECK_RESULT sf_status_t sf_array_gather(sf_array_t *array, int64_t n, const int64_t index[], void *values);

/* Element i = values[i] [GA: NGA_Scatter]. Completes locally. */
SF_CHECK_RESULT sf_status_t sf_array_scatter(sf_array_t *array, int64_t n, const int64_t index[], const void *values);

/* Element i += alpha * values[i], atomically [GA: NGA_Scatter_acc]. alpha: as in sf_array_acc. Completes locally. */
SF_CHECK_RESULT sf_status_t sf_array_scatter_acc(sf_array_t *array, int64_t n, const int64_t index[],
                                                 const void *values, const void *alpha);

/* ---- Atomic operations on one element ---------------------------------------------------------------------------- */

/* *previous = element, element = element op *operand, as one atomic step, ordered like an acquire and a release of C11.
 * Units: SF_INT32, SF_UINT32, SF_INT64, SF_UINT64. op: SF_SUM, SF_REPLACE, SF_MAX, SF_MIN, SF_BAND, SF_BOR, SF_BXOR.
 * previous may be operand. Blocks until *previous is written; not collective. SF_ERR_ARG: another unit or op. */
SF_CHECK_RESULT sf_status_t sf_array_fetch_op(sf_array_t *array, const int64_t index[], const void *operand,
                                              void *previous, const sf_op_t *op);

/* *previous = element; if the element equals *compare, element = *value; as one atomic step. Units, order, blocking and
 * errors: as sf_array_fetch_op. */
SF_CHECK_RESULT sf_status_t sf_array_compare_swap(sf_array_t *array, const int64_t index[], const void *compare,
                                                  const void *value, void *previous);

/* sf_array_fetch_op with SF_SUM, for counters of any of its four units [GA: NGA_Read_inc]. *previous_p is the previous
 * value, converted to int64_t. */
SF_CHECK_RESULT sf_status_t sf_array_read_inc(sf_array_t *array, const int64_t index[], int64_t increment,
                                              int64_t *previous_p);

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/* Blocks until this rank's operations on elements of the rank (SF_ARRAY_ALL_RANKS: of all ranks) are complete remotely:
 * a get of any rank that is ordered after the flush sees them [RMA: Flush]. Not collective. SF_ERR_RANGE: no such
 * rank. */
SF_CHECK_RESULT sf_status_t sf_array_flush(sf_array_t *array, int32_t rank);

/* Blocks until this rank's operations are complete locally [RMA: LocalFlush]. The caller must still end its requests.
 * Not collective. SF_ERR_RANGE: no such rank. */
SF_CHECK_RESULT sf_status_t sf_array_flush_local(sf_array_t *array, int32_t rank);

/* Completes this rank's operations remotely and waits until all ranks have called the function. Afterwards all ranks
 * see all operations and local stores that preceded it on any rank [GA: GA_Sync]. Collective and blocking. */
SF_CHECK_RESULT sf_status_t sf_array_sync(sf_array_t *array);

/* ---- Whole arrays ------------------------------------------------------------------------------------------------ */

/* These functions are collective and blocking: they begin and end like sf_array_sync. Arrays of one call belong to the
 * same group, and have the same unit and shape. Their distributions may differ; functions on arrays with the same
 * distribution access local elements only. Factors are elements of the unit. SF_ERR_ARG: units, shapes or groups
 * differ. SF_ERR_NOMEM, on one rank: no memory for tiles; the result is incomplete. */

/* All elements = *value [GA: GA_Fill]. */
SF_CHECK_RESULT sf_status_t sf_array_fill(sf_array_t *array, const void *value);

/* All elements *= *alpha [GA: GA_Scale]. */
SF_CHECK_RESULT sf_status_t sf_array_scale(sf_array_t *array, const void *alpha);

/* to = from [GA: GA_Copy]. */
SF_CHECK_RESULT sf_status_t sf_array_copy(sf_array_t *from, sf_array_t *to);

/* c = *alpha * a + *beta * b [GA: GA_Add]. c may be a or b. */
SF_CHECK_RESULT sf_status_t sf_array_add(const void *alpha, sf_array_t *a, const void *beta, sf_array_t *b,
                                         sf_array_t *c);

/* to[j][i] = from[i][j] [GA: GA_Transpose]. Arrays of two dimensions; from is not to. */
SF_CHECK_RESULT sf_status_t sf_array_transpose(sf_array_t *from, sf_array_t *to);

/* *result = sum of a[i] * b[i] over all elements, an element of the unit, on all ranks [GA: GA_Ddot, ...]. Complex
 * numbers are not conjugated. */
SF_CHECK_RESULT sf_status_t sf_array_dot(sf_array_t *a, sf_array_t *b, void *result);

/* ---- The elements of a rank -------------------------------------------------------------------------------------- */

/* Elements of one rank. Along dimension d the rank has extent[d] indices, which may be 0. Local index l is index
 * first[d] + l / block[d] * stride[d] + l % block[d] of the array. */
typedef struct sf_array_part {
  int64_t first[SF_ARRAY_MAX_DIMS];  /* index of the first element */
  int64_t extent[SF_ARRAY_MAX_DIMS]; /* number of indices */
  int64_t block[SF_ARRAY_MAX_DIMS];  /* consecutive indices, >= 1 */
  int64_t stride[SF_ARRAY_MAX_DIMS]; /* indices between the begins of two successive blocks of the rank */
} sf_array_part_t;

/* Describes the elements of a rank of the group [GA: NGA_Distribution]. Local. SF_ERR_RANGE: no such rank. */
SF_CHECK_RESULT sf_status_t sf_array_distribution(const sf_array_t *array, int32_t rank, sf_array_part_t *part_p);

/* *rank_p: the rank of the group that owns the element [GA: NGA_Locate]. Local. */
SF_CHECK_RESULT sf_status_t sf_array_owner(const sf_array_t *array, const int64_t index[], int32_t *rank_p);

/* Gives access to this rank's own elements: *part_p describes them, *data_p points to the first one. They are row-major
 * in the order of their local indices, without gaps [GA: NGA_Access]. The array owns the memory, which is valid until
 * sf_array_destroy and aligned to a page. The caller may read and write it directly, and must order its accesses with
 * operations of other ranks. Local. */
SF_CHECK_RESULT sf_status_t sf_array_local(sf_array_t *array, sf_array_part_t *part_p, void **data_p);

/* Publishes stores to the own elements: operations of other ranks that are ordered after the call, by a message or a
 * flag, see them [GA: NGA_Release_update]. sf_array_sync includes it. Local. */
SF_CHECK_RESULT sf_status_t sf_array_release(sf_array_t *array);

#ifdef __cplusplus
}
#endif

/* Records the call site, as for graphs: see sf_place.h. */
#ifndef SF_NO_PLACES
#define sf_array_create(...) (sf_at(SF_HERE), (sf_array_create)(__VA_ARGS__))
#endif

#endif
