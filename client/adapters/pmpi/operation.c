/* Operations: see operation.h. Any thread that may call MPI; one at a time uses an operation. */
#include "client/adapters/pmpi/operation.h"

#include <stdint.h>
#include <stdlib.h>

#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/request.h"
#include "client/adapters/pmpi/threads.h"
#include "client/core.h"
#include "client/engine.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static void free_operation(sfpmpi_operation_t *operation)
{
  sfpmpi_request_free(operation);
  free(operation->root);
  free(operation->leaf);
  free(operation->leaf_bytes);
  free(operation->moves);
  free(operation->scratch);
  free(operation);
}

void sfpmpi_operations_free(sfpmpi_star_t *star)
{
  for (sfpmpi_operation_t *operation; (operation = star->idle) != NULL;) {
    star->idle = operation->next;
    free_operation(operation); /* its request ends with the graph */
  }
}

static __attribute__((noinline)) int new_operation(sfpmpi_star_t *star, sfpmpi_operation_t **operation_p)
{
  size_t nroots = (size_t)star->nroots, nleaves = (size_t)star->nleaves;
  sfpmpi_operation_t *operation = calloc(1, sizeof *operation);
  if (operation == NULL)
    return MPI_ERR_NO_MEM;
  operation->star = star;
  operation->token = MPI_REQUEST_NULL;
  operation->root = calloc(nroots + 1, sizeof *operation->root);
  operation->leaf = calloc(nleaves + 1, sizeof *operation->leaf);
  operation->leaf_bytes = calloc(nleaves + 1, sizeof *operation->leaf_bytes);
  operation->moves = calloc(nroots + nleaves + 1, sizeof *operation->moves);
  int code = MPI_ERR_NO_MEM;
  sfpmpi_enter();
  if (operation->root != NULL && operation->leaf != NULL && operation->leaf_bytes != NULL && operation->moves != NULL)
    code = sfpmpi_error_code(
        sf_exchange_init(star->graph, operation->root, operation->leaf, operation->leaf_bytes, &operation->request));
  sfpmpi_leave();
  if (code == MPI_SUCCESS)
    *operation_p = operation;
  else
    free_operation(operation);
  return code;
}

static int take(sfpmpi_star_t *star, sfpmpi_operation_t **operation_p)
{
  sfpmpi_lock();
  sfpmpi_operation_t *operation = star->idle;
  if (operation != NULL)
    star->idle = operation->next;
  star->topology->users++;
  sfpmpi_unlock();
  int code = operation == NULL ? new_operation(star, &operation) : MPI_SUCCESS;
  if (code == MPI_SUCCESS)
    *operation_p = operation;
  else
    sfpmpi_topology_release(star->topology);
  return code;
}

void sfpmpi_operation_give_back(sfpmpi_operation_t *operation)
{
  sfpmpi_star_t *star = operation->star;
  for (int i = 0; i < operation->nmoves; i++)
    sfpmpi_datatype_release(operation->moves[i].datatype);
  operation->nmoves = operation->npacked = 0;
  sfpmpi_lock();
  if (!operation->lost) {
    operation->next = star->idle;
    star->idle = operation;
  }
  sfpmpi_unlock();
  sfpmpi_topology_release(star->topology);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

#define LOWEST_ADDRESS ((uintptr_t)4096) /* nothing is mapped below */

static void add_move(sfpmpi_operation_t *operation, const sfpmpi_datatype_t *datatype, char *memory, size_t count,
                     sf_block_t *block, bool on_device, size_t *scratch_p)
{
  sfpmpi_datatype_hold(datatype);
  operation->moves[operation->nmoves++] = (sfpmpi_move_t){datatype, memory, count, *scratch_p, block, on_device};
  *scratch_p += (block->bytes + 15) / 16 * 16;
}

/* Fills in the block of count values. Returns false if MPI will refuse the memory. */
static bool fill_block(sfpmpi_operation_t *operation, const sfpmpi_datatype_t *datatype, char *memory, size_t count,
                       sf_block_t *block, size_t *scratch_p)
{
  *block = (sf_block_t){NULL, count * datatype->size};
  if (block->bytes == 0)
    return true;
  bool on_device = sfpmpi_job.devices && !datatype->opaque && sfc_device_holds(memory + datatype->first);
  if (on_device || !sfpmpi_datatype_is_block(datatype, count)) {
    add_move(operation, datatype, memory, count, block, on_device, scratch_p);
    return true;
  }
  block->data = memory + datatype->first;
  return (uintptr_t)block->data >= LOWEST_ADDRESS;
}

/* The description of a datatype, whose values are to move. SFPMPI_TO_MPI: MPI will refuse it. */
static int find_datatype(MPI_Datatype handle, const sfpmpi_datatype_t **datatype_p)
{
  *datatype_p = sfpmpi_datatype_find(handle);
  if (*datatype_p != NULL)
    return MPI_SUCCESS;
  return sfpmpi_datatype_is_valid(handle) ? MPI_ERR_NO_MEM : SFPMPI_TO_MPI;
}

/* Fills in n blocks, which have these numbers, of one direction. Other processes may carry the call already: only what
 * MPI will refuse is left to MPI, and what has no effect may be anything: arrays for no neighbours, the datatype of no
 * values, what is said of a neighbour that is not there. *datatype_p: of all
 * of them, if known already; or NULL. */
static int fill_side(sfpmpi_operation_t *operation, const sfpmpi_side_t *side, const sfpmpi_datatype_t **datatype_p,
                     int n, const int *numbers, sf_block_t *blocks, size_t *scratch_p)
{
  const sfpmpi_datatype_t *datatype = *datatype_p;
  int code = MPI_SUCCESS;
  if (side->buffer == MPI_IN_PLACE)
    return SFPMPI_TO_MPI;
  if (n > 0 && side->count < 0 && (side->counts == NULL || (side->displs == NULL && side->offsets == NULL)))
    return SFPMPI_TO_MPI;
  for (int i = 0; i < n; i++) {
    if (numbers[i] < 0)
      continue;
    int count = side->counts != NULL ? side->counts[i] : side->count;
    sf_block_t *block = &blocks[numbers[i]];
    *block = (sf_block_t){NULL, 0};
    if (count == 0)
      continue;
    if (side->types != NULL || datatype == NULL)
      code = find_datatype(side->types != NULL ? side->types[i] : side->type, &datatype);
    if (code != MPI_SUCCESS)
      return code;
    ptrdiff_t offset = side->offsets != NULL  ? side->offsets[i]
                       : side->displs != NULL ? side->displs[i] * datatype->extent
                                              : (ptrdiff_t)i * count * datatype->extent;
    char *memory = (char *)((uintptr_t)side->buffer + (uintptr_t)offset);
    if (count < 0 || !fill_block(operation, datatype, memory, (size_t)count, block, scratch_p))
      return SFPMPI_TO_MPI;
  }
  *datatype_p = side->types == NULL ? datatype : NULL;
  return MPI_SUCCESS;
}

/* Gives the packed blocks memory. */
static bool place_moves(sfpmpi_operation_t *operation, size_t bytes)
{
  if (bytes > operation->scratch_bytes) {
    free(operation->scratch);
    operation->scratch = malloc(bytes);
    operation->scratch_bytes = operation->scratch != NULL ? bytes : 0;
  }
  if (bytes > operation->scratch_bytes)
    return false;
  for (int i = 0; i < operation->nmoves; i++)
    operation->moves[i].block->data = operation->scratch + operation->moves[i].offset;
  return true;
}

static int fill(sfpmpi_operation_t *operation, const sfpmpi_call_t *call, sfpmpi_form_t form)
{
  const sfpmpi_star_t *star = operation->star;
  const sfpmpi_side_t *send = &call->send, *receive = &call->receive;
  const sfpmpi_datatype_t *sent = NULL;
  size_t scratch = 0;
  int code = fill_side(operation, send, &sent, star->nout, star->root, operation->root, &scratch);
  operation->npacked = operation->nmoves;
  if (receive->type != send->type)
    sent = NULL;
  const int *leaves = star->leaf[sfpmpi_neighbors_order[form][call->kind]];
  if (code == MPI_SUCCESS)
    code = fill_side(operation, receive, &sent, star->nin, leaves, operation->leaf, &scratch);
  if (code != MPI_SUCCESS)
    return code;
  return operation->nmoves == 0 || place_moves(operation, scratch) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Makes an operation with the arguments of a call; it does not begin. */
static int make(sfpmpi_star_t *star, const sfpmpi_call_t *call, sfpmpi_form_t form, sfpmpi_operation_t **operation_p)
{
  sfpmpi_operation_t *operation;
  int code = take(star, &operation);
  if (code != MPI_SUCCESS)
    return code;
  operation->persistent = form == SFPMPI_PERSISTENT_FORM;
  operation->error = MPI_SUCCESS;
  code = fill(operation, call, form);
  if (code == MPI_SUCCESS && form != SFPMPI_BLOCKING)
    code = sfpmpi_request_make(operation);
  if (code == MPI_SUCCESS)
    *operation_p = operation;
  else
    sfpmpi_operation_give_back(operation);
  return code;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

/* Run by run: sfd touches no bytes of a device between them. */
static sf_status_t copy_runs(const sfpmpi_move_t *move, bool packs, size_t bytes)
{
  const sfpmpi_datatype_t *datatype = move->datatype;
  const sfmpi_run_t block = {.offset = datatype->first, .count = (int64_t)bytes};
  bool is_block = sfpmpi_datatype_is_block(datatype, move->count);
  const sfmpi_run_t *run = is_block ? &block : datatype->runs.runs, *end = run + (is_block ? 1 : datatype->runs.n);
  sf_status_t status = SF_OK;
  char *memory = move->memory, *packed = move->block->data;
  for (const sfmpi_run_t *first = run; bytes > 0 && status == SF_OK; run = first, memory += datatype->extent)
    for (; run < end && bytes > 0 && status == SF_OK; run++) {
      size_t some = bytes < (size_t)run->count ? bytes : (size_t)run->count;
      char *place = memory + run->offset;
      status = sfc_device_copy(packs ? packed : place, packs ? place : packed, some);
      packed += some;
      bytes -= some;
    }
  return status;
}

static sf_status_t pack(const sfpmpi_operation_t *operation)
{
  sf_status_t status = SF_OK;
  for (int i = 0; i < operation->npacked && status == SF_OK; i++) {
    const sfpmpi_move_t *move = &operation->moves[i];
    if (move->on_device)
      status = copy_runs(move, true, move->block->bytes);
    else
      sfpmpi_pack(move->datatype, move->memory, move->count, move->block->data);
  }
  return status;
}

static sf_status_t unpack(const sfpmpi_operation_t *operation)
{
  sf_status_t status = SF_OK;
  for (int i = operation->npacked; i < operation->nmoves; i++) {
    const sfpmpi_move_t *move = &operation->moves[i];
    size_t arrived = operation->leaf_bytes[move->block - operation->leaf], room = move->block->bytes;
    size_t bytes = arrived < room ? arrived : room;
    if (!move->on_device)
      sfpmpi_unpack(move->datatype, move->block->data, bytes, move->memory);
    else if (status == SF_OK)
      status = copy_runs(move, false, bytes);
  }
  return status;
}

int sfpmpi_operation_begin(sfpmpi_operation_t *operation)
{
  const sfpmpi_star_t *star = operation->star;
  sf_status_t status = pack(operation);
  operation->started = status == SF_OK && star->nroots == 0 && star->nleaves == 0; /* and ended */
  if (operation->started || status != SF_OK)
    return sfpmpi_error_code(status);
  sfpmpi_enter();
  status = sf_start(operation->request);
  bool crowded = sfc_pool_is_crowded(star->graph);
  sfpmpi_leave();
  if (__builtin_expect(crowded, false))
    sfpmpi_start_helper();
  int code = sfpmpi_error_code(status);
  operation->started = operation->active = code == MPI_SUCCESS;
  return code;
}

static void end(sfpmpi_operation_t *operation, sf_status_t status)
{
  operation->active = false;
  operation->lost = status == SF_ERR_STATE; /* in flight still: the program has promised to call MPI in one thread */
  operation->error = sfpmpi_error_code(status);
  if (status != SF_OK && status != SF_ERR_RANGE)
    return;
  sf_status_t unpacked = unpack(operation);
  if (status == SF_OK)
    operation->error = sfpmpi_error_code(unpacked);
}

/* Other processes may need progress of this one's MPI before they come to the operation. MPICH makes none when it looks
 * for messages of a process from itself. */
static void progress_mpi(void)
{
  int complete;
  (void)PMPI_Request_get_status(sfpmpi_job.pending, &complete, MPI_STATUS_IGNORE);
}

/* Longest times without progress of MPI: at first, when the operation is probably about to end, and later. */
#define SHORT_NS 20000
#define LONG_NS 400000

/* Looks for the end of the operation, at most that long, and not longer than other threads let it. */
static sf_status_t look(sfpmpi_operation_t *operation, int64_t timeout_ns, bool *done_p)
{
  sfpmpi_enter();
  sf_status_t status = timeout_ns == 0 || sfpmpi_is_contended() ? sf_test(&operation->request, done_p)
                                                                : sf_wait_for(&operation->request, timeout_ns, done_p);
  sfpmpi_leave();
  return status;
}

bool sfpmpi_operation_wait(sfpmpi_operation_t *operation, int64_t timeout_ns)
{
  int64_t slice = timeout_ns >= 0 && timeout_ns < SHORT_NS ? timeout_ns : SHORT_NS;
  bool done = false;
  while (operation->active) {
    sf_status_t status = look(operation, slice, &done);
    if (status != SF_OK || done) {
      end(operation, status);
      break;
    }
    progress_mpi();
    if (timeout_ns >= 0 && (timeout_ns -= slice) <= 0)
      return false;
    slice = slice < LONG_NS ? 2 * slice : LONG_NS;
  }
  return true;
}

/* Flattened: a short operation takes little longer than a cache line between two cores, so calls show. */
__attribute__((flatten)) int sfpmpi_operation_carry(sfpmpi_star_t *star, const sfpmpi_call_t *call, sfpmpi_form_t form,
                                                    MPI_Request *request_p)
{
  sfpmpi_operation_t *operation;
  MPI_Comm comm = star->topology->comm;
  if (form != SFPMPI_BLOCKING && request_p == NULL)
    return SFPMPI_TO_MPI;
  int code = make(star, call, form, &operation);
  if (code == SFPMPI_TO_MPI)
    return code;
  if (code != MPI_SUCCESS)
    return sfpmpi_raise(comm, code);
  if (form != SFPMPI_PERSISTENT_FORM)
    code = sfpmpi_operation_begin(operation);
  if (code == MPI_SUCCESS && form != SFPMPI_BLOCKING) {
    *request_p = operation->token;
    return MPI_SUCCESS;
  }
  if (code == MPI_SUCCESS) {
    (void)sfpmpi_operation_wait(operation, -1);
    code = operation->error;
  }
  operation->started = false;
  sfpmpi_operation_give_back(operation);
  return code == MPI_SUCCESS ? code : sfpmpi_raise(comm, code);
}
