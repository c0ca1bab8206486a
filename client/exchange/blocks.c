/* Requests of exchanges, and what is common to blocks of all lanes: see blocks.h. The thread that uses the graph. */
#include "client/exchange/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/graph.h"
#include "shm/base/error.h"
#include "shm/kernels/kernels_dense.h"

/* ---- Arriving blocks --------------------------------------------------------------------------------------------- */

size_t sfc_blocks_room(sfc_blocks_t *blocks, int64_t leaf, uint64_t block_bytes, uint64_t offset, size_t bytes)
{
  const sf_block_t *block = &blocks->leaf[leaf];
  size_t room = block->data != NULL ? block->bytes : 0;
  if (block_bytes > room && !blocks->was_short) {
    blocks->was_short = true;
    blocks->short_leaf = leaf;
    blocks->short_bytes = (size_t)block_bytes;
    blocks->short_room = room;
  }
  if (offset >= room)
    return 0;
  return bytes < room - offset ? bytes : room - (size_t)offset;
}

void sfc_blocks_put(sfc_blocks_t *blocks, int64_t leaf, uint64_t block_bytes, uint64_t offset, const void *from,
                    size_t bytes)
{
  size_t some = sfc_blocks_room(blocks, leaf, block_bytes, offset, bytes);
  char *to = some > 0 ? (char *)blocks->leaf[leaf].data + offset : NULL;
  if (some == 0 || to == from)
    return;
  if (some == sizeof(uint64_t))
    memcpy(to, from, sizeof(uint64_t));
  else
    sfshm_dense_copy(to, from, some);
}

static size_t do_edge(sfc_blocks_t *blocks, int64_t root, int64_t leaf)
{
  const sf_block_t *from = &blocks->root[root];
  sfc_blocks_tell(blocks, leaf, from->bytes);
  if (blocks->lacks_memory)
    return 0;
  sfc_blocks_put(blocks, leaf, from->bytes, 0, from->data, from->bytes);
  return from->bytes;
}

/* Copies along the edges within the rank, or only tells the sizes if there is no memory yet. */
static void do_self(sf_request_t *request)
{
  const sfc_link_t *self = &request->graph->plan.self;
  sfc_blocks_t *blocks = sfc_blocks_of(request);
  size_t bytes = 0;
  for (int64_t i = 0; i < self->nvalues; i++)
    bytes += do_edge(blocks, sfshm_pattern_at(&self->value_root, i), sfshm_pattern_at(&self->leaf, i));
  for (int64_t e = 0; e < self->extra_value.n; e++)
    bytes += do_edge(blocks, sfshm_pattern_at(&self->extra_root, e), sfshm_pattern_at(&self->extra_leaf, e));
  sfshm_count(&request->graph->counts->bytes_self, bytes);
}

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

/* Elements of leaf that no leaf uses may be anything, so only devices matter there: no memory is no room. */
static __attribute__((noinline)) sf_status_t check_all(const sf_block_t blocks[], int64_t n, bool roots)
{
  const char *what = roots ? "root" : "leaf";
  bool devices = sfshm_device_loaded() != NULL;
  for (int64_t i = 0; i < n; i++) {
    const sf_block_t *block = &blocks[i];
    if (roots && block->bytes > SFC_BLOCK_BYTES_MAX)
      return sfshm_error(SF_ERR_LIMIT, "exchange: %s %lld: %zu bytes; at most 2^40 expected", what, (long long)i,
                         block->bytes);
    if (roots && block->bytes > 0 && block->data == NULL)
      return sfshm_error(SF_ERR_ARG, "exchange: %s %lld: data is NULL, but there are %zu bytes", what, (long long)i,
                         block->bytes);
    if (devices && block->bytes > 0 && block->data != NULL && sfc_device_holds(block->data))
      return sfshm_error(SF_ERR_UNSUPPORTED, "exchange: %s %lld: block at %p is on a device", what, (long long)i,
                         block->data);
  }
  return SF_OK;
}

/* Most blocks are plain: there is nothing to check further, unless there are devices. */
static sf_status_t check_roots(const sf_graph_t *graph, const sf_block_t root[], bool devices)
{
  int64_t n = graph->plan.root_max + 1;
  bool plain = !devices;
  if (root == NULL && n > 0)
    return sfshm_error(SF_ERR_ARG, "exchange: root is NULL, but root %lld has leaves", (long long)n - 1);
  for (int64_t i = 0; i < n && plain; i++)
    plain = root[i].bytes == 0 || (root[i].data != NULL && root[i].bytes <= SFC_BLOCK_BYTES_MAX);
  return plain ? SF_OK : check_all(root, n, true);
}

static sf_status_t check_leaves(const sf_graph_t *graph, const sf_block_t leaf[], bool devices)
{
  return leaf == NULL || !devices ? SF_OK : check_all(leaf, graph->plan.leaf_max + 1, false);
}

/* Waiting would never end without the memory that the application has not supplied. */
static sf_status_t check_memory(const sf_request_t *request)
{
  if (!sfc_blocks_of(request)->lacks_memory || !request->in_flight || sfc_graph_is_failed(request->graph))
    return SF_OK;
  return sfshm_error(SF_ERR_STATE, "exchange: operation %llu of graph %llu waits for memory: sf_exchange_receive",
                     (unsigned long long)request->sequence, (unsigned long long)request->graph->number);
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

/* What exchanges keep for a graph. */
typedef struct sfc_exchanges {
  sfc_attachment_t attachment;
  sfc_blocks_t *unused;
  sfc_blocks_t *all;
  uint64_t *sizes; /* rx_sizes of all lanes */
} exchanges_t;

static void give_blocks(sfc_blocks_t *blocks)
{
  blocks->next = blocks->owner->unused;
  blocks->owner->unused = blocks;
}

/* Reads the arguments anew: those of a persistent request may have changed. */
static sf_status_t set_leaves(const sf_graph_t *graph, sfc_blocks_t *blocks)
{
  blocks->leaf = blocks->given_leaf;
  blocks->lacks_memory = blocks->leaf == NULL && graph->plan.leaf_max >= 0;
  blocks->was_short = false;
  size_t bytes = ((size_t)graph->plan.leaf_max + 1) * sizeof *blocks->own_bytes;
  if (!blocks->lacks_memory || blocks->own_bytes != NULL)
    return SF_OK;
  blocks->own_bytes = malloc(bytes);
  if (blocks->own_bytes == NULL)
    return sfshm_error(SF_ERR_NOMEM, "exchange: sizes of leaves");
  memset(blocks->own_bytes, 0xff, bytes); /* SFC_NO_BYTES */
  return SF_OK;
}

sf_status_t sfc_blocks_begin(sf_request_t *request, sfc_thread_t *thread, bool split)
{
  sf_graph_t *graph = request->graph;
  sfc_blocks_t *blocks = sfc_blocks_of(request);
  bool devices = sfshm_device_loaded() != NULL;
  sf_status_t status = sfc_graph_prepare(graph, thread, 1);
  if (status == SF_OK)
    status = check_roots(graph, blocks->root, devices);
  if (status == SF_OK)
    status = check_leaves(graph, blocks->given_leaf, devices);
  if (status == SF_OK)
    status = set_leaves(graph, blocks);
  if (status != SF_OK)
    return status;
  blocks->sizes.receives_left = graph->routes.nreceivers[SFSHM_BCAST];
  sfc_start(request, thread, false);
  request->receives_left += blocks->lacks_memory;
  if (split && graph->progress.nstalled > 0)
    (void)sfc_graph_send_eagerly(graph);
  return SF_OK;
}

sf_status_t sfc_blocks_supply(sf_request_t *request, const sf_block_t leaf[])
{
  sf_graph_t *graph = request->graph;
  sfc_blocks_t *blocks = sfc_blocks_of(request);
  sf_status_t status = check_leaves(graph, leaf, sfshm_device_loaded() != NULL);
  if (status != SF_OK || !blocks->lacks_memory)
    return status;
  blocks->leaf = leaf;
  blocks->lacks_memory = false;
  if (graph->plan.self.nedges > 0)
    do_self(request);
  request->receives_left--;
  return SF_OK;
}

static sf_status_t begin_split(sf_request_t *request, sfc_thread_t *thread)
{
  return sfc_blocks_begin(request, thread, true);
}

static sf_status_t end(sf_request_t *request, sf_status_t status)
{
  sfc_blocks_t *blocks = sfc_blocks_of(request);
  if (status == SF_OK && blocks->was_short)
    status = sfshm_error(SF_ERR_RANGE, "exchange: leaf %lld: %zu bytes arrived, but there is room for %zu",
                         (long long)blocks->short_leaf, blocks->short_bytes, blocks->short_room);
  sfc_finish(request);
  if (!request->persistent)
    give_blocks(blocks);
  return status;
}

sf_status_t sfc_blocks_wait(sf_request_t *request, sfc_thread_t *thread)
{
  return end(request, sfc_thread_wait(thread, request, -1));
}

static void free_request(sf_request_t *request)
{
  give_blocks(sfc_blocks_of(request));
}

const sfc_payload_ops_t sfc_blocks_payload = {.send = sfc_blocks_send,
                                              .send_eagerly = sfc_blocks_send_eagerly,
                                              .take = sfc_blocks_take,
                                              .take_short = sfc_blocks_take_short,
                                              .do_self = do_self,
                                              .send_to_node = sfc_blocks_send_to_node,
                                              .take_from_node = sfc_blocks_take_from_node};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Operations of a failed graph may be in flight. */
static void free_exchanges(sfc_attachment_t *attachment)
{
  exchanges_t *exchanges = (exchanges_t *)attachment;
  sfc_in_flight_t *flight = &attachment->graph->flight;
  while (exchanges->all != NULL) {
    sfc_blocks_t *blocks = exchanges->all;
    if (blocks->request.in_flight)
      flight->table[blocks->request.sequence & flight->table_mask] = NULL;
    exchanges->all = blocks->sibling;
    free(blocks->own_bytes);
    free(blocks);
  }
  free(exchanges->sizes);
  free(exchanges);
}

static const sfc_attachment_ops_t exchanges_ops = {.free = free_exchanges};

/* Room for the sizes that arrive on each lane. */
static bool make_sizes(sf_graph_t *graph, exchanges_t *exchanges)
{
  int32_t n = graph->routes.nreceivers[SFSHM_BCAST];
  size_t nvalues = 0;
  for (int32_t i = 0; i < n; i++)
    nvalues += (size_t)graph->routes.receivers[SFSHM_BCAST][i]->as_leaf.nvalues;
  uint64_t *sizes = exchanges->sizes = calloc(nvalues + 1, sizeof *sizes);
  for (int32_t i = 0; sizes != NULL && i < n; i++) {
    sfc_lane_t *lane = graph->routes.receivers[SFSHM_BCAST][i];
    lane->rx_sizes = sizes;
    sizes += lane->as_leaf.nvalues;
  }
  return sizes != NULL;
}

static exchanges_t *find_exchanges(sf_graph_t *graph)
{
  exchanges_t *exchanges = sfc_graph_attachment(graph, &exchanges_ops);
  if (exchanges != NULL || (exchanges = calloc(1, sizeof *exchanges)) == NULL)
    return exchanges;
  if (!make_sizes(graph, exchanges)) {
    free(exchanges);
    return NULL;
  }
  sfc_graph_begin_operations(graph);
  sfc_graph_attach(graph, &exchanges->attachment, &exchanges_ops);
  return exchanges;
}

static void init_blocks(sf_graph_t *graph, sfc_blocks_t *blocks)
{
  static const sfc_request_ops_t ops = {begin_split, end, free_request, check_memory};
  uint64_t signature = sfshm_desc_of_exchange();
  sf_request_t *request = &blocks->request;
  *request = (sf_request_t){.graph = graph,
                            .ops = &ops,
                            .payload = &sfc_blocks_payload,
                            .whole = blocks,
                            .awaited = request,
                            .carrier = request,
                            .kind = (uint8_t)sfshm_desc_kind(signature),
                            .operation = SFSHM_BCAST,
                            .signature = signature,
                            .fields = &request->first,
                            .first = {.combine = {.unit = SFC_UNIT_OF_SEVERAL}}};
  blocks->sizes = (sf_request_t){.graph = graph, .awaited = request};
}

/* NULL: no memory. */
static sfc_blocks_t *take_blocks(sf_graph_t *graph)
{
  exchanges_t *exchanges = find_exchanges(graph);
  sfc_blocks_t *blocks = exchanges != NULL ? exchanges->unused : NULL;
  if (blocks != NULL) {
    exchanges->unused = blocks->next;
  } else if (exchanges != NULL && (blocks = calloc(1, sizeof *blocks)) != NULL) {
    init_blocks(graph, blocks);
    blocks->owner = exchanges;
    blocks->sibling = exchanges->all;
    exchanges->all = blocks;
  }
  return blocks;
}

sf_status_t sfc_blocks_make(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[],
                            bool persistent, sf_request_t **request_p)
{
  sfc_blocks_t *blocks = take_blocks(graph);
  if (blocks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "exchange: request");
  blocks->request.persistent = persistent;
  blocks->root = root;
  blocks->given_leaf = leaf;
  blocks->given_bytes = leaf_bytes;
  *request_p = &blocks->request;
  return SF_OK;
}
