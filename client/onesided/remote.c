/* Operations on parts of other nodes: see remote.h. The thread that has begun the operation. */
#include "client/onesided/remote.h"

#include <string.h>

#include "shm/array/transfer.h"
#include "shm/base/error.h"

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static const sfc_array_node_t *node_of(const sfc_remote_t *remote)
{
  return &remote->array->nodes[remote->at_node];
}

/* Submits a request that the operation has prepared: a get is kept, others are posted. */
static void submit(sfc_remote_t *remote, int32_t slot, size_t sent_bytes, size_t returned_bytes)
{
  sfc_window_t *window = remote->array->context->window;
  sfc_window_submit(window, remote->array, slot, node_of(remote)->node, sent_bytes, returned_bytes);
  if (remote->access == SFSHM_ARRAY_GET) {
    window->tickets[slot].next = remote->kept;
    remote->kept = slot;
  } else {
    sfc_window_post(window, slot);
  }
}

/* The values of requests to a node are all that is counted, not the places of a list. */
static void count(const sfc_remote_t *remote, size_t value_bytes)
{
  sfc_array_count(remote->array, SFSHM_ARRAY_DAEMON, remote->access, value_bytes);
}

/* Values in the window, times alpha. */
static void scale(const sfc_remote_t *remote, char *values, int64_t n)
{
  if (remote->alpha != NULL)
    sfshm_array_scale(remote->array->shape.base, values, n, remote->alpha);
}

/* ---- Patches ----------------------------------------------------------------------------------------------------- */

/* Moves what a slab has on the node between the caller's buffer and the window; data NULL: only counts. */
static int64_t move_slab(const sfc_remote_t *remote, const sfc_array_node_t *node, const int64_t lo[],
                         const int64_t extent[], char *data, bool is_get)
{
  const sfshm_array_t *shape = &remote->array->shape;
  const int32_t *ranks = remote->array->by_node + node->first;
  char *buffer = remote->buffer;
  int64_t n = 0;
  for (int32_t d = 0; d < shape->ndims; d++)
    buffer += (lo[d] - remote->lo[d]) * remote->step[d] * shape->unit_bytes;
  for (int32_t i = 0; i < node->nranks; i++) {
    sfshm_array_box_t box, alone;
    if (!sfshm_array_box(shape, ranks[i], lo, extent, &box))
      continue;
    if (data != NULL) {
      sfshm_array_box_alone(shape, &box, &alone);
      sfshm_array_move(shape, &alone, data + n * shape->unit_bytes, buffer, remote->step,
                       is_get ? sfshm_array_get_row(shape->unit_bytes) : sfshm_array_put_row(shape->unit_bytes), NULL);
    }
    n += sfshm_array_count(shape->ndims, box.extent);
  }
  return n;
}

static bool find_slab(const sfc_remote_t *remote, int64_t lo[], int64_t extent[])
{
  bool is_there = true;
  for (int32_t d = 0; d < remote->array->shape.ndims; d++) {
    int64_t left = remote->extent[d] - remote->at[d];
    lo[d] = remote->lo[d] + remote->at[d];
    extent[d] = remote->slab[d] < left ? remote->slab[d] : left;
    is_there &= extent[d] > 0;
  }
  return is_there;
}

/* To the next node, and behind the last one to the next slab. */
static void step_on(sfc_remote_t *remote)
{
  if (++remote->at_node < remote->array->nnodes)
    return;
  remote->at_node = 0;
  for (int32_t d = remote->array->shape.ndims - 1; d >= 0; d--) {
    remote->at[d] += remote->slab[d];
    if (remote->at[d] < remote->extent[d])
      return;
    remote->at[d] = 0;
  }
  remote->is_submitted = true;
}

static bool submit_slab(sfc_remote_t *remote)
{
  static const sfshm_array_kind_t kinds[] = {
      [SFSHM_ARRAY_PUT] = SFSHM_ARRAY_PATCH_PUT,
      [SFSHM_ARRAY_GET] = SFSHM_ARRAY_PATCH_GET,
      [SFSHM_ARRAY_ACC] = SFSHM_ARRAY_PATCH_ACC,
  };
  sfc_window_t *window = remote->array->context->window;
  int64_t lo[SFSHM_ARRAY_DIMS], extent[SFSHM_ARRAY_DIMS];
  bool is_get = remote->access == SFSHM_ARRAY_GET;
  if (!find_slab(remote, lo, extent)) {
    remote->is_submitted = true;
    return true;
  }
  int64_t n = move_slab(remote, node_of(remote), lo, extent, NULL, is_get);
  if (n > 0) {
    size_t bytes = (size_t)n * remote->array->shape.unit_bytes;
    int32_t slot = sfc_window_take(window, bytes);
    if (slot < 0)
      return false;
    sfshm_array_request_t *request = sfc_window_request(window, slot);
    sfc_ticket_t *ticket = &window->tickets[slot];
    request->kind = kinds[remote->access];
    for (int32_t d = 0; d < remote->array->shape.ndims; d++) {
      request->first[d] = ticket->lo[d] = lo[d];
      request->extent[d] = ticket->extent[d] = extent[d];
    }
    if (!is_get) {
      (void)move_slab(remote, node_of(remote), lo, extent, sfc_window_data(window, slot), false);
      scale(remote, sfc_window_data(window, slot), n);
    }
    submit(remote, slot, is_get ? 0 : bytes, is_get ? bytes : 0);
    count(remote, bytes);
  }
  step_on(remote);
  return true;
}

static const sfc_array_node_t *find_node(const sf_array_t *array, int32_t number)
{
  const sfc_array_node_t *node = array->nodes;
  while (node->node != number)
    node++;
  return node;
}

static void take_slab(sfc_remote_t *remote, const sfc_ticket_t *ticket, const char *data)
{
  (void)move_slab(remote, find_node(remote->array, ticket->node), ticket->lo, ticket->extent, (char *)(uintptr_t)data,
                  true);
}

static const sfc_remote_ops_t patch_ops = {submit_slab, take_slab};

void sfc_remote_patch(sfc_remote_t *remote, const int64_t lo[], const int64_t extent[], const int64_t step[])
{
  const sfshm_array_t *shape = &remote->array->shape;
  int64_t most = (int64_t)(SFSHM_ARRAY_MAX_DATA / shape->unit_bytes);
  most = most < SFSHM_ARRAY_MAX_PATCH ? most : SFSHM_ARRAY_MAX_PATCH;
  remote->ops = &patch_ops;
  remote->kept = -1;
  for (int32_t d = shape->ndims - 1; d >= 0; d--) {
    remote->lo[d] = lo[d];
    remote->extent[d] = extent[d];
    remote->step[d] = step[d];
    remote->slab[d] = extent[d] < most ? extent[d] : most;
    most = extent[d] == remote->slab[d] && extent[d] > 0 ? most / extent[d] : 1;
  }
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* The values of a request are behind its places, but for those that are returned. */
static bool submit_piece(sfc_remote_t *remote)
{
  static const sfshm_array_kind_t kinds[] = {
      [SFSHM_ARRAY_PUT] = SFSHM_ARRAY_LIST_PUT,
      [SFSHM_ARRAY_GET] = SFSHM_ARRAY_LIST_GET,
      [SFSHM_ARRAY_ACC] = SFSHM_ARRAY_LIST_ACC,
  };
  sf_array_t *array = remote->array;
  sfc_window_t *window = array->context->window;
  const sfc_array_node_t *node = node_of(remote);
  size_t unit = array->shape.unit_bytes;
  int64_t n = 0, element, i;
  for (i = remote->at_element; i < remote->n && n < SFSHM_ARRAY_MAX_LIST; i++)
    n += array->parts[sfc_array_locate(array, remote->index + i * array->shape.ndims, &element)].node == node;
  int64_t end = i;
  if (n > 0) {
    bool is_get = remote->access == SFSHM_ARRAY_GET;
    size_t places_bytes = (size_t)n * sizeof(uint64_t), values_bytes = (size_t)n * unit;
    size_t sent_bytes = places_bytes + (is_get ? 0 : values_bytes);
    int32_t slot = sfc_window_take(window, sent_bytes > values_bytes ? sent_bytes : values_bytes);
    if (slot < 0)
      return false;
    char *places = sfc_window_data(window, slot), *values = places + places_bytes;
    for (i = remote->at_element, n = 0; i < end; i++) {
      const sfc_array_part_t *part =
          &array->parts[sfc_array_locate(array, remote->index + i * array->shape.ndims, &element)];
      if (part->node != node)
        continue;
      uint64_t place = (uint64_t)(part->node_offset + element);
      memcpy(places + (size_t)n * sizeof place, &place, sizeof place);
      if (!is_get)
        memcpy(values + (size_t)n * unit, remote->buffer + (size_t)i * unit, unit);
      n++;
    }
    if (!is_get)
      scale(remote, values, n);
    sfc_window_request(window, slot)->kind = kinds[remote->access];
    sfc_window_request(window, slot)->extent[0] = n;
    window->tickets[slot].lo[0] = remote->at_element;
    window->tickets[slot].extent[0] = end - remote->at_element;
    submit(remote, slot, sent_bytes, is_get ? values_bytes : 0);
    count(remote, values_bytes);
  }
  remote->at_element = end;
  if (end == remote->n) {
    remote->at_element = 0;
    remote->is_submitted = ++remote->at_node == array->nnodes;
  }
  return true;
}

static void take_piece(sfc_remote_t *remote, const sfc_ticket_t *ticket, const char *data)
{
  const sf_array_t *array = remote->array;
  const sfc_array_node_t *node = find_node(array, ticket->node);
  size_t unit = array->shape.unit_bytes;
  int64_t element;
  for (int64_t i = ticket->lo[0]; i < ticket->lo[0] + ticket->extent[0]; i++) {
    if (array->parts[sfc_array_locate(array, remote->index + i * array->shape.ndims, &element)].node != node)
      continue;
    memcpy(remote->buffer + (size_t)i * unit, data, unit);
    data += unit;
  }
}

static const sfc_remote_ops_t list_ops = {submit_piece, take_piece};

void sfc_remote_list(sfc_remote_t *remote, int64_t n, const int64_t index[])
{
  remote->ops = &list_ops;
  remote->kept = -1;
  remote->n = n;
  remote->index = index;
  remote->is_submitted = n == 0;
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

/* Reads the answers that are there. */
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
    sf_status_t status = sfc_window_status(window, slot);
    if (status == SF_OK)
      remote->ops->take(remote, &window->tickets[slot], sfc_window_data(window, slot));
    else if (remote->status == SF_OK)
      remote->status = status;
    *link = window->tickets[slot].next;
    sfc_window_release(window, slot);
    moved = true;
  }
  return moved;
}

bool sfc_remote_advance(sfc_remote_t *remote)
{
  bool moved = take_answers(remote);
  while (!remote->is_submitted && remote->ops->submit(remote))
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
  int32_t slot; /* -1: there was none yet */
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
  sfc_window_submit(single.window, array, single.slot, array->parts[rank].node->node, 0, sizeof *bits_p);
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
