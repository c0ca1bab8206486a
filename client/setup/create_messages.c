/* Messages of a set-up: GraphCreate, GraphCommit, and their answers. The thread that creates the graph. */
#include <stdlib.h>

#include "client/core.h"
#include "client/setup/create_internal.h"
#include "shm/base/error.h"

#define LOOK_OVER_NODES_NS INT64_C(2000000)

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void fill_error(const sfc_setup_t *setup, Sfproto__SetupError *error)
{
  *error = (Sfproto__SetupError)SFPROTO_BODY(setup_error, .status = setup->error.status, .rank = setup->error.rank,
                                             .leaf = setup->error.leaf,
                                             .detail = (char *)(uintptr_t)setup->error.detail /* only read */);
}

/* Adds the edges, and lanes if offered. The caller frees create->blocks. */
static sf_status_t fill_edges(const sfc_setup_t *setup, Sfproto__GraphCreate *create)
{
  size_t n = (size_t)setup->lists.own.nparts + 1;
  create->blocks = calloc(n, sizeof(Sfproto__EdgeBlock *) + sizeof(Sfproto__EdgeBlock));
  if (create->blocks == NULL)
    return sfshm_error(SF_ERR_NOMEM, "message about %zu root ranks", n - 1);
  create->n_blocks =
      sfc_edge_exchange_describe(&setup->lists, (Sfproto__EdgeBlock *)(create->blocks + n), create->blocks);
  create->has_proposes = create->proposes = setup->offered.ends != NULL;
  create->lanes = setup->offered.pointers;
  create->n_lanes = setup->offered.n;
  return SF_OK;
}

/* Adds the earlier graph whose plan is applied, and its lanes. */
static void fill_name(const sfc_setup_t *setup, Sfproto__GraphCreate *create)
{
  create->has_again = create->has_nroot_ranks = true;
  create->again = sfc_plan_number(setup->plan);
  create->nroot_ranks = sfc_plan_nroot_ranks(setup->plan);
  create->lanes = setup->offered.pointers;
  create->n_lanes = setup->offered.n;
}

/* Sends a message with the result so far, or with the error if there is one. */
typedef sf_status_t send_fn_t(sfc_setup_t *setup, uint64_t *request_p);

static sf_status_t send_create(sfc_setup_t *setup, uint64_t *request_p)
{
  const sfc_edge_input_t *input = setup->input;
  const Sfproto__GraphReply *asked = setup->reply.message != NULL ? sfc_setup_reply(setup) : NULL;
  sf_status_t status = SF_OK;
  Sfproto__SetupError error;
  Sfproto__GraphCreate create = SFPROTO_BODY(
      graph_create, .group = setup->group->number, .nroots = input->nroots < 0 ? 0 : input->nroots,
      .nleaves = input->nleaves < 0 ? 0 : input->nleaves, .flags = setup->graph->flags,
      .has_number = asked != NULL /* answers the request for edges */, .number = asked != NULL ? asked->edges_of : 0);
  Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_CREATE, graph_create, &create);
  if (setup->error.status != SF_OK) {
    fill_error(setup, &error);
    create.error = &error;
  } else if (setup->plan != NULL) {
    fill_name(setup, &create);
  } else {
    status = fill_edges(setup, &create);
  }
  if (status == SF_OK)
    status = sfc_daemon_send(&setup->group->context->control, &message, &setup->lists.own.region.fd,
                             create.n_blocks > 0 && !create.blocks[0]->has_segment ? 1 : 0);
  free(create.blocks);
  *request_p = message.request;
  return status;
}

static sf_status_t send_commit(sfc_setup_t *setup, uint64_t *request_p)
{
  Sfproto__SetupError error;
  Sfproto__GraphCommit commit = SFPROTO_BODY(graph_commit, .graph = setup->graph->number);
  Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_COMMIT, graph_commit, &commit);
  if (setup->error.status == SF_OK) {
    commit.n_lanes = setup->offered.n;
    commit.lanes = setup->offered.pointers;
  } else {
    fill_error(setup, &error);
    commit.error = &error;
  }
  sf_status_t status = sfc_daemon_send(&setup->group->context->control, &message, NULL, 0);
  *request_p = message.request;
  return status;
}

/* If sending fails, sends the shorter message with an error. */
static sf_status_t send_or_error(sfc_setup_t *setup, send_fn_t *send, uint64_t *request_p)
{
  bool good = setup->error.status == SF_OK;
  sf_status_t status = send(setup, request_p);
  if (status == SF_OK || !good)
    return status;
  sfc_setup_note(setup, status);
  return send(setup, request_p);
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Ends the set-up with an error of all ranks, whose text is the thread's. */
static bool end_with(sfc_setup_t *setup, sf_status_t status)
{
  if (status != SF_OK)
    setup->error = (sfc_setup_error_t){.status = status, .agreed = true};
  return status == SF_OK;
}

/* Whether ranks of the node share cores. */
static bool shares_cores(const sf_context_t *context)
{
  return atomic_load_explicit(&context->board->participants, memory_order_relaxed) >
         atomic_load_explicit(&context->board->cores, memory_order_relaxed);
}

/* How long to look for an answer that depends on all ranks. Over nodes it takes longer than one of the daemon alone,
 * and being woken would add to it. But if ranks share cores, looking would take time from ranks that are still working.
 */
static int64_t look_ns(const sfc_setup_t *setup)
{
  if (sfc_group_is_local(setup->group))
    return SFC_DAEMON_LOOK_NS;
  return shares_cores(setup->group->context) ? 0 : LOOK_OVER_NODES_NS;
}

static sf_status_t receive(sfc_setup_t *setup, uint64_t request)
{
  sfproto_incoming_free(&setup->reply);
  return sfc_daemon_receive(&setup->group->context->control, request, look_ns(setup),
                            SFPROTO__MESSAGE__BODY_GRAPH_REPLY, &setup->reply);
}

static void take_lists(sfc_setup_t *setup)
{
  int32_t rank;
  sf_status_t status = sfc_edge_exchange_receive(&setup->lists, &setup->reply, &rank);
  if (status != SF_OK)
    sfc_setup_note_error(setup, status, rank, -1);
}

/* The daemon has failed the graph, which other ranks have: this rank fails it too. */
static void take_failure(sfc_setup_t *setup)
{
  const Sfproto__SetupError *error = sfc_setup_reply(setup)->error;
  if (error != NULL)
    sfc_setup_note(setup, sfshm_error((sf_status_t)error->status, "%s", error->detail));
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

bool sfc_setup_create(sfc_setup_t *setup)
{
  uint64_t request;
  if (!end_with(setup, send_or_error(setup, send_create, &request)))
    return false;
  if (setup->error.status == SF_OK && setup->plan == NULL)
    setup->snapshot = sfc_edge_snapshot_make(setup->input); /* while other ranks are busy too */
  do {
    if (!end_with(setup, receive(setup, request)))
      return false;
    setup->graph->number = sfc_setup_reply(setup)->graph;
    take_lists(setup);
    take_failure(setup);
  } while (sfc_setup_reply(setup)->more);
  sfc_edge_exchange_sort(&setup->lists);
  return true;
}

bool sfc_setup_commit(sfc_setup_t *setup)
{
  uint64_t request;
  if (!end_with(setup, send_or_error(setup, send_commit, &request)) || !end_with(setup, receive(setup, request)))
    return false;
  take_failure(setup);
  return true;
}
