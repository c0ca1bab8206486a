/* Operations on elements of other nodes: see remote.h. Runs on the thread that began the operation. */
#include "client/onesided/remote.h"

#include <string.h>

#include "shm/base/error.h"

/* Copies rows of values between the caller's buffer and the window. */
static sfshm_array_row_t *row_of(const sfc_remote_t *remote)
{
  bool is_get = remote->access == SFSHM_ARRAY_GET;
  return sfc_array_row(remote->array, is_get ? SFSHM_ARRAY_GET : SFSHM_ARRAY_PUT);
}

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

static int64_t move_patch(const sfc_remote_t *remote, const sfc_array_node_t *node, const int64_t lo[],
                          const int64_t extent[], char *places, char *values)
{
  const sfshm_array_t *shape = &remote->array->shape;
  const int32_t *ranks = remote->array->by_node + node->first;
  char *buffer = remote->buffer;
  int64_t n = 0;
  (void)places;
  for (int32_t d = 0; d < shape->ndims; d++)
    buffer += (lo[d] - remote->tiles.lo[d]) * remote->step[d] * shape->unit_bytes;
  for (int32_t i = 0; i < node->nranks; i++) {
    sfshm_array_box_t box, alone;
    if (!sfshm_array_box(shape, ranks[i], lo, extent, &box))
      continue;
    if (values != NULL) {
      sfshm_array_box_alone(shape, &box, &alone);
      sfshm_array_move(shape, &alone, values + n * shape->unit_bytes, buffer, remote->step, row_of(remote), NULL);
    }
    n += sfshm_array_count(shape->ndims, box.extent);
  }
  return n;
}

void sfc_remote_patch(sfc_remote_t *remote, const int64_t lo[], const int64_t extent[], const int64_t step[])
{
  static const sfc_remote_ops_t patch_ops = {SFSHM_ARRAY_PATCH_PUT, 0, move_patch};
  const sfshm_array_t *shape = &remote->array->shape;
  int64_t max_count = (int64_t)(SFSHM_ARRAY_MAX_DATA / shape->unit_bytes);
  max_count = max_count < SFSHM_ARRAY_MAX_PATCH ? max_count : SFSHM_ARRAY_MAX_PATCH;
  remote->ops = &patch_ops;
  remote->kept = -1;
  memcpy(remote->step, step, (size_t)shape->ndims * sizeof step[0]);
  remote->is_submitted = !sfc_tiles_start(&remote->tiles, shape->ndims, lo, extent, max_count, INT64_MAX);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static int64_t move_list(const sfc_remote_t *remote, const sfc_array_node_t *node, const int64_t lo[],
                         const int64_t extent[], char *places, char *values)
{
  const sf_array_t *array = remote->array;
  sfshm_array_row_t *row = row_of(remote);
  int64_t n = 0, element, unit = array->shape.unit_bytes;
  for (int64_t i = lo[0]; i < lo[0] + extent[0]; i++) {
    int32_t rank = sfc_array_locate(array, remote->index + i * array->shape.ndims, &element);
    if (array->parts[rank].node != node)
      continue;
    uint64_t place = (uint64_t)(array->parts[rank].node_offset + element);
    if (places != NULL)
      memcpy(places + n * (int64_t)sizeof place, &place, sizeof place);
    if (values != NULL)
      row(values + n * unit, remote->buffer + i * unit, 1, 1, NULL);
    n++;
  }
  return n;
}

void sfc_remote_list(sfc_remote_t *remote, int64_t n, const int64_t index[])
{
  static const sfc_remote_ops_t list_ops = {SFSHM_ARRAY_LIST_PUT, sizeof(uint64_t), move_list};
  static const int64_t first;
  remote->ops = &list_ops;
  remote->kept = -1;
  remote->index = index;
  remote->is_submitted = !sfc_tiles_start(&remote->tiles, 1, &first, &n, SFSHM_ARRAY_MAX_LIST, INT64_MAX);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

_Static_assert((int)SFSHM_ARRAY_PUT == 0 &&
                   (int)SFSHM_ARRAY_PATCH_GET == (int)SFSHM_ARRAY_PATCH_PUT + SFSHM_ARRAY_GET &&
                   (int)SFSHM_ARRAY_PATCH_ACC == (int)SFSHM_ARRAY_PATCH_PUT + SFSHM_ARRAY_ACC &&
                   (int)SFSHM_ARRAY_LIST_GET == (int)SFSHM_ARRAY_LIST_PUT + SFSHM_ARRAY_GET &&
                   (int)SFSHM_ARRAY_LIST_ACC == (int)SFSHM_ARRAY_LIST_PUT + SFSHM_ARRAY_ACC,
               "kinds of requests are in the order of accesses");

/* Writes a request for n values of the current tile. The operation keeps a get; puts and accs are posted. */
static bool submit_values(sfc_remote_t *remote, const int64_t lo[], const int64_t extent[], int64_t n)
{
  sf_array_t *array = remote->array;
  sfc_window_t *window = array->context->window;
  const sfc_array_node_t *node = &array->nodes[remote->at_node];
  bool is_get = remote->access == SFSHM_ARRAY_GET, is_list = remote->ops->place_bytes > 0;
  size_t place_bytes = (size_t)n * remote->ops->place_bytes, value_bytes = (size_t)n * array->shape.unit_bytes;
  size_t sent_bytes = place_bytes + (is_get ? 0 : value_bytes),
         index_bytes = (size_t)remote->tiles.ndims * sizeof lo[0];
  int32_t slot = sfc_window_take(window, sent_bytes > value_bytes ? sent_bytes : value_bytes);
  if (slot < 0)
    return false;
  char *data = sfc_window_data(window, slot), *values = data + place_bytes;
  sfshm_array_request_t *request = sfc_window_request(window, slot);
  sfc_ticket_t *ticket = &window->tickets[slot];
  request->kind = remote->ops->put_kind + remote->access;
  memcpy(ticket->lo, lo, index_bytes);
  memcpy(ticket->extent, extent, index_bytes);
  if (is_list) {
    request->extent[0] = n;
  } else {
    memcpy(request->first, lo, index_bytes);
    memcpy(request->extent, extent, index_bytes);
  }
  if (is_list || !is_get)
    (void)remote->ops->move(remote, node, lo, extent, data, is_get ? NULL : values);
  if (!is_get && remote->alpha != NULL)
    sfshm_array_arithmetic[array->shape.base].scale(values, n, remote->alpha);
  sfc_window_submit(window, array, slot, node, sent_bytes, is_get ? value_bytes : 0);
  if (is_get) {
    ticket->next = remote->kept;
    remote->kept = slot;
  } else {
    sfc_window_post(window, slot);
  }
  sfc_array_count(array, SFSHM_ARRAY_DAEMON, remote->access, value_bytes);
  return true;
}

/* Submits the request for the current tile and node, unless the node has no element of the tile. false: no room. */
static bool submit(sfc_remote_t *remote)
{
  int64_t lo[SFSHM_ARRAY_DIMS], extent[SFSHM_ARRAY_DIMS];
  sfc_tiles_get(&remote->tiles, lo, extent);
  int64_t n = remote->ops->move(remote, &remote->array->nodes[remote->at_node], lo, extent, NULL, NULL);
  if (n > 0 && !submit_values(remote, lo, extent, n))
    return false;
  if (++remote->at_node == remote->array->nnodes) {
    remote->at_node = 0;
    remote->is_submitted = !sfc_tiles_next(&remote->tiles);
  }
  return true;
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

/* Reads the answers that have arrived. */
static bool take_answers(sfc_remote_t *remote)
{
  sfc_window_t *window = remote->array->context->window;
  bool moved = false;
  for (int32_t *link = &remote->kept; *link >= 0;) {
    int32_t slot = *link;
    if (!sfc_window_is_done(window, slot)) {
      link = &window->tickets[slot].next;
      continue;
    }
    const sfc_ticket_t *ticket = &window->tickets[slot];
    sf_status_t status = sfc_window_status(window, slot);
    if (status == SF_OK)
      (void)remote->ops->move(remote, ticket->target, ticket->lo, ticket->extent, NULL, sfc_window_data(window, slot));
    else if (remote->status == SF_OK)
      remote->status = status;
    *link = ticket->next;
    sfc_window_release(window, slot);
    moved = true;
  }
  return moved;
}

bool sfc_remote_advance(sfc_remote_t *remote)
{
  bool moved = take_answers(remote);
  while (!remote->is_submitted && submit(remote))
    moved = true;
  return moved;
}

static bool is_over(void *argument)
{
  sfc_remote_t *remote = argument;
  (void)sfc_remote_advance(remote);
  return sfc_remote_is_complete(remote);
}

sf_status_t sfc_remote_finish(sfc_remote_t *remote)
{
  sf_status_t status = is_over(remote) ? SF_OK : sfc_window_wait(remote->array, is_over, remote);
  if (status != SF_OK)
    sfc_remote_abandon(remote);
  return status == SF_OK ? remote->status : status;
}

void sfc_remote_abandon(sfc_remote_t *remote)
{
  sfc_window_t *window = remote->array->context->window;
  remote->is_submitted = true;
  while (remote->kept >= 0) {
    int32_t slot = remote->kept;
    remote->kept = window->tickets[slot].next;
    sfc_window_post(window, slot);
  }
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

typedef struct single {
  sfc_window_t *window;
  int32_t slot; /* -1: none taken yet */
} single_t;

static bool has_slot(void *argument)
{
  single_t *single = argument;
  single->slot = sfc_window_take(single->window, sizeof(uint64_t));
  return single->slot >= 0;
}

static bool is_answered(void *argument)
{
  const single_t *single = argument;
  return sfc_window_is_done(single->window, single->slot);
}

sf_status_t sfc_remote_atomic(sf_array_t *array, int32_t rank, const int64_t index[], sfshm_array_request_t *request,
                              uint64_t *bits_p)
{
  single_t single = {array->context->window, -1};
  sf_status_t status = has_slot(&single) ? SF_OK : sfc_window_wait(array, has_slot, &single);
  if (status != SF_OK)
    return status;
  memcpy(request->first, index, (size_t)array->shape.ndims * sizeof index[0]);
  *sfc_window_request(single.window, single.slot) = *request;
  sfc_window_submit(single.window, array, single.slot, array->parts[rank].node, 0, sizeof *bits_p);
  status = sfc_window_wait(array, is_answered, &single);
  if (status != SF_OK) {
    sfc_window_post(single.window, single.slot);
    return status;
  }
  status = sfc_window_status(single.window, single.slot);
  if (status == SF_OK)
    memcpy(bits_p, sfc_window_data(single.window, single.slot), sizeof *bits_p);
  sfc_window_release(single.window, single.slot);
  return status;
}
