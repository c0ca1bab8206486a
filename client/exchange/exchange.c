/* The public interface of exchanges: sf_exchange.h. The thread that uses the graph. */
#include <string.h>

#include <sf/sf_exchange.h>

#include "client/core.h"
#include "client/engine.h"
#include "client/exchange/blocks.h"
#include "client/graph.h"
#include "shm/base/error.h"

static sf_status_t make(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[],
                        bool persistent, sf_request_t **request_p)
{
  sf_status_t status = sfc_call_check_graph("exchange", graph);
  if (status == SF_OK && request_p == NULL)
    status = sfshm_error(SF_ERR_ARG, "exchange: request_p is NULL");
  return status == SF_OK ? sfc_blocks_make(graph, root, leaf, leaf_bytes, persistent, request_p) : status;
}

sf_status_t sf_exchange_begin(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[],
                              sf_request_t **request_p)
{
  sf_request_t *request;
  sf_status_t status = make(graph, root, leaf, leaf_bytes, false, request_p == NULL ? NULL : &request);
  return status == SF_OK ? sfc_request_begin(request, request_p) : status;
}

sf_status_t sf_exchange(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[])
{
  sfc_thread_t *thread = sfc_thread_self();
  sf_request_t *request;
  sf_status_t status = make(graph, root, leaf, leaf_bytes, false, &request);
  if (status != SF_OK)
    return status;
  if (leaf == NULL && graph->plan.leaf_max >= 0)
    status =
        sfshm_error(SF_ERR_ARG, "exchange: leaf is NULL, but leaf %lld takes part", (long long)graph->plan.leaf_max);
  if (status == SF_OK)
    status = sfc_blocks_begin(request, thread, false);
  sfc_thread_flush(thread);
  if (status != SF_OK) {
    request->ops->free(request);
    return status;
  }
  return sfc_blocks_wait(request, thread);
}

sf_status_t sf_exchange_init(sf_graph_t *graph, const sf_block_t root[], const sf_block_t leaf[], size_t leaf_bytes[],
                             sf_request_t **request_p)
{
  return make(graph, root, leaf, leaf_bytes, true, request_p);
}

/* A request in flight that this thread has begun without memory, or that needs none. */
static sf_status_t check(const char *name, const sf_request_t *request, const void *array)
{
  if (request == NULL || request->payload != &sfc_blocks_payload)
    return sfshm_error(SF_ERR_ARG, "%s: request is %s", name, request == NULL ? "NULL" : "no exchange");
  sf_status_t status = sfc_call_check_graph(name, request->graph);
  if (status != SF_OK)
    return status;
  if (array == NULL && request->graph->plan.leaf_max >= 0)
    return sfshm_error(SF_ERR_ARG, "%s: %s is NULL", name, name);
  if (!request->in_flight || request->graph->user.thread != sfc_thread_self())
    return sfshm_error(SF_ERR_STATE, "%s: the exchange is %s", name,
                       request->in_flight ? "another thread's" : "not in flight");
  if (sfc_blocks_of(request)->leaf != NULL)
    return sfshm_error(SF_ERR_STATE, "%s: the exchange has its memory", name);
  return sfc_graph_failure(request->graph);
}

sf_status_t sf_exchange_probe(sf_request_t *request, size_t leaf_bytes[])
{
  sf_status_t status = check(__func__, request, leaf_bytes);
  if (status == SF_OK)
    status = sfc_thread_wait(sfc_thread_self(), &sfc_blocks_of(request)->sizes, -1);
  if (status != SF_OK)
    return status;
  const sfc_blocks_t *blocks = sfc_blocks_of(request);
  for (int64_t leaf = 0; blocks->lacks_memory && leaf <= request->graph->plan.leaf_max; leaf++)
    if (blocks->own_bytes[leaf] != SFC_NO_BYTES)
      leaf_bytes[leaf] = blocks->own_bytes[leaf];
  return SF_OK;
}

sf_status_t sf_exchange_receive(sf_request_t *request, const sf_block_t leaf[])
{
  sf_status_t status = check(__func__, request, leaf);
  if (status == SF_OK)
    status = sfc_blocks_supply(request, leaf);
  if (status == SF_OK)
    (void)sfc_thread_progress(sfc_thread_self());
  return status;
}
