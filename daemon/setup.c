/* The rounds of graph set-up: waiting for all, errors, ranks that leave. The daemon's thread. */
#include "daemon/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/lanes.h"
#include "daemon/log.h"
#include "daemon/peers.h"
#include "shm/error.h"

/* ---- State ---- */

static sf_status_t begin(sfd_group_t *group, uint64_t number, sfd_graph_t **graph_p)
{
  sfd_setup_t *setup = calloc(1, sizeof *setup + (size_t)group->size * sizeof setup->members[0]);
  sfd_graph_t *graph = setup != NULL ? sfd_graph_create(group) : NULL;
  if (graph == NULL) {
    free(setup);
    return sfshm_error(SF_ERR_NOMEM, "no memory for a graph of %d ranks", group->size);
  }
  for (int32_t i = 0; i < group->size; i++)
    setup->members[i].edges_fd = -1;
  graph->setup = setup;
  graph->number = number;
  if (group->job->ngraphs > SFD_MAX_GRAPHS)
    sfd_setup_note_error(setup, SF_ERR_LIMIT, -1, -1, "the job has too many graphs");
  *graph_p = graph;
  return SF_OK;
}

void sfd_setup_free(sfd_graph_t *graph)
{
  if (graph->setup == NULL)
    return;
  for (int32_t i = 0; i < graph->group->size; i++) {
    sfd_peers_free(graph->group->job, &graph->setup->members[i]);
    free(graph->setup->members[i].lanes);
  }
  free(graph->setup);
  graph->setup = NULL;
}

void sfd_setup_note_error(sfd_setup_t *setup, sf_status_t status, int32_t rank, int64_t leaf, const char *detail)
{
  sfd_setup_error_t *error = &setup->error;
  if (error->status != SF_OK && (error->rank < rank || (error->rank == rank && error->leaf <= leaf)))
    return;
  error->status = status;
  error->rank = rank;
  error->leaf = leaf;
  sfd_text_printable(error->detail, sizeof error->detail, detail);
}

/* ---- Answering ---- */

/* The member has said its part of this round and waits for the others. */
static void arrive(sfd_graph_t *graph, int32_t place, uint64_t request)
{
  sfd_setup_member_t *member = &graph->setup->members[place];
  member->here = true;
  member->waiting = true;
  member->request = request;
  graph->setup->nhere++;
  sfd_group_member(graph->group, place)->npending++;
}

sfd_session_t *sfd_setup_answered(const sfd_graph_t *graph, int32_t place)
{
  sfd_rank_t *rank = sfd_group_member(graph->group, place);
  if (!graph->setup->members[place].waiting)
    return NULL;
  graph->setup->members[place].waiting = false;
  rank->npending--;
  return sfd_rank_connected(rank) ? rank->session : NULL;
}

/* Gives all who wait the error. */
static void answer_error(const sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  for (int32_t i = 0; i < graph->group->size; i++) {
    sfd_session_t *session = sfd_setup_answered(graph, i);
    if (session != NULL)
      sfd_session_send_error(session, graph->setup->members[i].request, status, detail);
  }
}

static void end_with_error(sfd_graph_t *graph)
{
  const sfd_setup_error_t *error = &graph->setup->error;
  sfd_log(SFD_LOG_GRAPH, SFD_INFO, "graph %" PRIu64 " of job \"%s\" is not set up: %s", graph->id,
          graph->group->job->name, error->detail);
  answer_error(graph, error->status, error->detail);
  sfd_graph_free(graph);
}

/* What a rank found wrong; false: it is malformed. */
static bool take_error(sfd_graph_t *graph, const Sfproto__SetupError *error)
{
  if (error == NULL)
    return true;
  if (error->status >= SF_OK || error->rank < 0 || error->rank >= graph->group->size)
    return false;
  sfd_setup_note_error(graph->setup, error->status, error->rank, error->leaf, error->detail);
  return true;
}

/* ---- Round 1 ---- */

static void compare_flags(const sfd_graph_t *graph)
{
  const sfd_setup_member_t *members = graph->setup->members;
  for (int32_t i = 1; i < graph->group->size; i++) {
    if (members[i].flags == members[0].flags)
      continue;
    char text[SFD_TEXT_SIZE];
    snprintf(text, sizeof text, "graph flags differ: 0x%x on group rank 0, 0x%x on group rank %d", members[0].flags,
             members[i].flags, i);
    sfd_setup_note_error(graph->setup, SF_ERR_MISMATCH, 0, -1, text);
    return;
  }
}

static void begin_round_2(sfd_graph_t *graph)
{
  graph->setup->nhere = 0;
  for (int32_t i = 0; i < graph->group->size; i++) {
    graph->setup->members[i].here = false;
    sfd_peers_free(graph->group->job, &graph->setup->members[i]);
  }
}

static void finish_round_1(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  TAILQ_REMOVE(&graph->group->gathering, graph, gathering_entry);
  graph->state = SFD_GRAPH_COMMITTING;
  if (setup->error.status == SF_OK)
    compare_flags(graph);
  if (setup->error.status == SF_OK && sfd_peers_send(graph) != SF_OK)
    sfd_setup_note_error(setup, SF_ERR_NOMEM, -1, -1, sfshm_error_detail());
  if (setup->error.status == SF_OK)
    begin_round_2(graph);
  else
    end_with_error(graph);
}

static int64_t add_saturating(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Takes over the edge list's descriptor. */
static sf_status_t store_edges(sfd_graph_t *graph, int32_t place, const Sfproto__GraphCreate *create, int fds[],
                               int nfds)
{
  sfd_setup_member_t *member = &graph->setup->members[place];
  sf_status_t status = sfd_peers_store(create, member);
  if (status != SF_OK)
    return status;
  member->flags = create->flags;
  graph->npairs += member->nblocks;
  if (create->error == NULL) {
    graph->nroots = add_saturating(graph->nroots, create->nroots);
    graph->nleaves = add_saturating(graph->nleaves, create->nleaves);
  }
  if (nfds == 0)
    return SF_OK;
  status = sfd_job_hold_fd(graph->group->job);
  if (status != SF_OK)
    return status;
  member->edges_fd = fds[0];
  fds[0] = -1;
  return SF_OK;
}

/* The graph that the member's next creation belongs to. */
static sf_status_t find_gathering(sfd_group_t *group, int32_t place, sfd_graph_t **graph_p)
{
  uint64_t number = group->members[place].ngraphs;
  sfd_graph_t *graph;
  TAILQ_FOREACH(graph, &group->gathering, gathering_entry)
  {
    if (graph->number != number)
      continue;
    *graph_p = graph;
    return SF_OK;
  }
  return begin(group, number, graph_p);
}

static sf_status_t verify_edges(const Sfproto__GraphCreate *create, int32_t size, int32_t place, int fds[], int nfds)
{
  sf_status_t status = sfd_peers_check(create, size, place, nfds);
  if (status != SF_OK || nfds == 0)
    return status;
  size_t length;
  status = sfshm_region_verify(fds[0], SFSHM_REGION_EDGES, SFD_MAX_REGION_BYTES, &length);
  for (size_t i = 0; i < create->n_blocks && status == SF_OK; i++)
    if (create->blocks[i]->offset >= length)
      status = sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: block at %" PRIu64 " of %zu bytes", place,
                           create->blocks[i]->offset, length);
  return status;
}

static sf_status_t enter_round_1(sfd_group_t *group, int32_t place, const Sfproto__Message *message, int fds[],
                                 int nfds)
{
  const Sfproto__GraphCreate *create = message->graph_create;
  sfd_graph_t *graph = NULL;
  sf_status_t status = verify_edges(create, group->size, place, fds, nfds);
  if (status == SF_OK)
    status = find_gathering(group, place, &graph);
  if (status == SF_OK && !take_error(graph, create->error))
    status = sfshm_error(SF_ERR_PROTO, "GraphCreate of group rank %d: malformed error", place);
  if (status == SF_OK)
    status = store_edges(graph, place, create, fds, nfds);
  if (status != SF_OK)
    return status;
  group->members[place].ngraphs++;
  arrive(graph, place, message->request);
  if (graph->setup->nhere == group->size)
    finish_round_1(graph);
  return SF_OK;
}

void sfd_setup_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_create->group;
  if (sfd_job_answer_failed(rank, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  sfd_group_t *group = sfd_group_find(rank->job, id);
  int32_t place = group != NULL ? sfd_group_rank_of(group, rank->number) : -1;
  if (place < 0) {
    sfd_session_answer(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no group %" PRIu64, rank->number, id);
    return;
  }
  if (!sfd_group_complete(group, rank, message->request))
    return;
  sf_status_t status = enter_round_1(group, place, message, fds, nfds);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- Round 2 ---- */

static void finish_round_2(sfd_graph_t *graph)
{
  sfd_setup_t *setup = graph->setup;
  if (setup->error.status == SF_OK && sfd_lanes_agree(graph) != SF_OK)
    sfd_setup_note_error(setup, SF_ERR_PROTO, -1, -1, sfshm_error_detail());
  if (setup->error.status == SF_OK && sfd_lanes_send(graph) != SF_OK)
    sfd_setup_note_error(setup, SF_ERR_NOMEM, -1, -1, sfshm_error_detail());
  if (setup->error.status != SF_OK) {
    end_with_error(graph);
    return;
  }
  graph->state = SFD_GRAPH_READY;
  sfd_setup_free(graph);
}

/* Answers all who are here; who comes later gets the same; when all came the graph is forgotten. */
static void settle_doomed(sfd_graph_t *graph)
{
  const sfd_setup_t *setup = graph->setup;
  if (setup->nhere == graph->group->size)
    end_with_error(graph);
  else
    answer_error(graph, setup->error.status, setup->error.detail);
}

static sf_status_t enter_round_2(sfd_graph_t *graph, int32_t place, const sfd_rank_t *rank,
                                 const Sfproto__Message *message)
{
  const Sfproto__GraphCommit *commit = message->graph_commit;
  sf_status_t status = sfd_lanes_check(commit, rank, graph->group->size, place);
  if (status == SF_OK)
    status = sfd_lanes_store(commit, &graph->setup->members[place]);
  if (status != SF_OK)
    return status;
  if (!graph->setup->doomed && !take_error(graph, commit->error))
    return sfshm_error(SF_ERR_PROTO, "GraphCommit of group rank %d: malformed error", place);
  arrive(graph, place, message->request);
  if (graph->setup->doomed)
    settle_doomed(graph);
  else if (graph->setup->nhere == graph->group->size)
    finish_round_2(graph);
  return SF_OK;
}

void sfd_setup_handle_commit(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->graph_commit->graph;
  (void)fds;
  (void)nfds;
  if (sfd_job_answer_failed(rank, message->request))
    return;
  sfd_graph_t *graph = sfd_graph_find(rank->job, id);
  int32_t place = graph != NULL ? sfd_group_rank_of(graph->group, rank->number) : -1;
  if (place < 0 || graph->state != SFD_GRAPH_COMMITTING || graph->setup->members[place].here) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO,
                       "GraphCommit of rank %d for graph %" PRIu64 ", which does not wait for it", rank->number, id);
    return;
  }
  sf_status_t status = enter_round_2(graph, place, rank, message);
  if (status != SF_OK)
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
}

/* ---- Leaving and failing ---- */

void sfd_setups_member_gone(sfd_group_t *group, int32_t place, const char *text)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&group->gathering), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, gathering_entry);
    if (graph->setup->members[place].here)
      continue;
    graph->setup->error.status = SF_OK; /* that it can't be set up comes before what is wrong with it */
    sfd_setup_note_error(graph->setup, SF_ERR_STATE, -1, -1, text);
    end_with_error(graph);
  }
}

static void doom(sfd_graph_t *graph, int32_t place, const char *text)
{
  sfd_setup_t *setup = graph->setup;
  setup->members[place].here = true;
  setup->nhere++;
  if (!setup->doomed) {
    setup->doomed = true;
    setup->error.status = SF_OK; /* as in sfd_setups_member_gone */
    sfd_setup_note_error(setup, SF_ERR_STATE, -1, -1, text);
  }
  settle_doomed(graph);
}

void sfd_setups_leave(sfd_rank_t *rank, const char *text)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&rank->job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    if (graph->state != SFD_GRAPH_COMMITTING)
      continue;
    int32_t place = sfd_group_rank_of(graph->group, rank->number);
    if (place >= 0 && !graph->setup->members[place].here)
      doom(graph, place, text);
  }
}

void sfd_setups_fail(sfd_job_t *job, sf_status_t status, const char *detail)
{
  for (sfd_graph_t *graph = TAILQ_FIRST(&job->graphs), *next; graph != NULL; graph = next) {
    next = TAILQ_NEXT(graph, entry);
    if (graph->setup == NULL)
      continue;
    answer_error(graph, status, detail);
    sfd_graph_free(graph);
  }
}
