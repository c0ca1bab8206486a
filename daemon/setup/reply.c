/* Answers to members in set-up: see reply.h. The daemon's thread. */
#include "daemon/setup/reply.h"

#include <stdlib.h>

#include "daemon/data.h"
#include "daemon/setup/round2_lanes.h"
#include "shm/base/error.h"

#define BLOCKS_IN_MESSAGE 32
_Static_assert(BLOCKS_IN_MESSAGE < SFPROTO_MAX_FDS, "one descriptor for each block, and that of the trunk map");

/* ---- Blocks by root rank ---- */

/* A block that leads to a rank of this node. */
typedef struct incoming {
  int32_t leaf; /* local member */
  const sfd_edge_block_t *block;
} incoming_t;

/* Blocks of all members, sorted: those to local member i are incoming[first[i]] to incoming[first[i + 1] - 1], by
 * ascending leaf rank; and buffers for one answer. */
typedef struct answers {
  int32_t *first;
  incoming_t *incoming;
  uint32_t *sides;
  Sfproto__LaneEnd *ends;
  Sfproto__LaneEnd **pointers;
} answers_t;

static void free_answers(const answers_t *answers)
{
  free(answers->first);
  free(answers->incoming);
  free(answers->sides);
  free(answers->ends);
  free(answers->pointers);
}

static sf_status_t alloc_answers(const sfd_graph_t *graph, answers_t *answers)
{
  size_t n = (size_t)graph->group->nlocals, nblocks = 0;
  for (size_t leaf = 0; leaf < n; leaf++)
    nblocks += (size_t)graph->setup->members[leaf].nblocks;
  *answers = (answers_t){.first = calloc(n + 2, sizeof *answers->first),
                         .incoming = calloc(nblocks + 1, sizeof *answers->incoming),
                         .sides = calloc((graph->trunks != NULL ? sfd_trunks_nsides(graph->trunks) : 0) + (size_t)1,
                                         sizeof *answers->sides),
                         .ends = calloc(n, sizeof *answers->ends),
                         .pointers = calloc(n, sizeof(Sfproto__LaneEnd *))};
  if (answers->first != NULL && answers->incoming != NULL && answers->sides != NULL && answers->ends != NULL &&
      answers->pointers != NULL)
    return SF_OK;
  free_answers(answers);
  return sfshm_error(SF_ERR_NOMEM, "no memory for the answers to %zu ranks, with %zu blocks", n, nblocks);
}

/* Counting sort by root rank. Counts are stored two ahead, so that first has the begins at the end. */
static void sort_blocks(const sfd_graph_t *graph, const answers_t *answers)
{
  const sfd_group_t *group = graph->group;
  const sfd_setup_member_t *members = graph->setup->members;
  for (int32_t leaf = 0; leaf < group->nlocals; leaf++)
    for (int32_t i = 0; i < members[leaf].nblocks; i++) {
      int32_t owner = sfd_group_local(group, members[leaf].blocks[i].rank);
      if (owner >= 0)
        answers->first[owner + 2]++;
    }
  for (int32_t r = 2; r <= group->nlocals; r++)
    answers->first[r] += answers->first[r - 1];
  for (int32_t leaf = 0; leaf < group->nlocals; leaf++)
    for (int32_t i = 0; i < members[leaf].nblocks; i++) {
      const sfd_edge_block_t *block = &members[leaf].blocks[i];
      int32_t owner = sfd_group_local(group, block->rank);
      if (owner >= 0)
        answers->incoming[answers->first[owner + 1]++] = (incoming_t){.leaf = leaf, .block = block};
    }
}

/* ---- One answer ---- */

static void send_reply(sfd_session_t *session, uint64_t request, Sfproto__GraphReply *reply, const int fds[], int nfds)
{
  Sfproto__Message message = SFPROTO_MESSAGE(GRAPH_REPLY, graph_reply, reply);
  message.request = request;
  sfd_session_send(session, &message, fds, nfds);
}

/* Returns the block's descriptor, -1 if it has none. */
static int describe_block(const sfd_graph_t *graph, const incoming_t *incoming, Sfproto__EdgeBlock *to)
{
  const sfd_edge_block_t *block = incoming->block;
  *to = (Sfproto__EdgeBlock)SFPROTO_BODY(edge_block, .rank = graph->group->locals[incoming->leaf],
                                         .offset = block->offset, .nedges = block->nedges, .nvalues = block->nvalues,
                                         .has_segment = block->length > 0, .has_length = block->length > 0,
                                         .segment = block->segment, .length = block->length);
  return block->length > 0 ? -1 : graph->setup->members[incoming->leaf].edges_fd;
}

/* Completes the reply by n blocks and the descriptor of the trunk map (-1: none), and sends it. */
static void send_blocks(sfd_session_t *session, const sfd_graph_t *graph, uint64_t request, const incoming_t incoming[],
                        int32_t n, Sfproto__GraphReply *reply, int map)
{
  Sfproto__EdgeBlock blocks[BLOCKS_IN_MESSAGE];
  Sfproto__EdgeBlock *pointers[BLOCKS_IN_MESSAGE];
  int fds[BLOCKS_IN_MESSAGE + 1], nfds = 0;
  for (int32_t i = 0; i < n; i++) {
    fds[nfds] = describe_block(graph, &incoming[i], &blocks[i]);
    nfds += fds[nfds] >= 0;
    pointers[i] = &blocks[i];
  }
  reply->graph = graph->id;
  reply->blocks = pointers;
  reply->n_blocks = (size_t)n;
  fds[nfds] = map;
  nfds += map >= 0;
  send_reply(session, request, reply, fds, nfds);
}

/* Whether ranks of that job, with these numbers, write to each other past the caches. */
static bool is_nontemporal(const sfd_job_t *job, int32_t a, int32_t b)
{
  uint32_t where = sfd_node_board_costs(job->server->board)->nontemporal;
  const sfd_rank_t *one = job->ranks[a], *other = job->ranks[b];
  return where == SFSHM_NONTEMPORAL_ALL ||
         (where == SFSHM_NONTEMPORAL_APART &&
          (one == NULL || other == NULL || one->cache < 0 || one->cache != other->cache));
}

/* Other ends of the member's lanes. */
static void describe_lanes(const sfd_graph_t *graph, int32_t local, const answers_t *answers,
                           Sfproto__GraphReply *reply)
{
  const sfd_setup_member_t *member = &graph->setup->members[local];
  int32_t group_rank = graph->group->locals[local];
  for (int32_t i = 0; i < member->nlanes; i++) {
    int32_t other = member->lanes[i].rank;
    const sfd_lane_t *lane = sfd_setup_lanes_find(graph, other, group_rank);
    Sfproto__LaneEnd *end = &answers->ends[i];
    *end = (Sfproto__LaneEnd)SFPROTO_BODY(
        lane_end, .rank = other, .job_rank = graph->group->members[other].rank, .segment = lane->segment,
        .slots = lane->slots, .control = lane->control, .can_read = lane->can_read, .has_nontemporal = true,
        .nontemporal = is_nontemporal(graph->group->job, graph->group->members[group_rank].rank,
                                      graph->group->members[other].rank));
    answers->pointers[i] = end;
  }
  reply->lanes = answers->pointers;
  reply->n_lanes = (size_t)member->nlanes;
}

static void describe_ready(const sfd_graph_t *graph, int32_t local, const answers_t *answers,
                           Sfproto__GraphReply *reply)
{
  reply->has_ready = reply->ready = true;
  describe_lanes(graph, local, answers, reply);
  reply->has_board_region = reply->has_board = graph->trunks != NULL;
  if (graph->trunks != NULL)
    sfd_trunks_describe_board(graph->trunks, &reply->board_region, &reply->board);
}

/* Returns the descriptor of the map; -1: none is sent. */
static int describe_trunks(const sfd_graph_t *graph, int32_t local, const answers_t *answers,
                           Sfproto__GraphReply *reply)
{
  if (graph->trunks == NULL)
    return -1;
  reply->n_sides = sfd_trunks_sides_of(graph->trunks, graph->group->locals[local], answers->sides);
  reply->sides = answers->sides;
  return reply->n_sides > 0 ? sfd_trunks_describe_map(graph->trunks, &reply->has_map, &reply->map) : -1;
}

/* ---- All answers ---- */

static void answer(const sfd_graph_t *graph, int32_t local, const answers_t *answers, bool edges, bool ready)
{
  Sfproto__GraphReply last = SFPROTO__GRAPH_REPLY__INIT;
  uint64_t request = graph->setup->members[local].request;
  sfd_session_t *session = sfd_setup_mark_answered(graph, local);
  int32_t i = answers->first[local], end = answers->first[local + 1];
  if (session == NULL)
    return;
  for (; end - i > BLOCKS_IN_MESSAGE; i += BLOCKS_IN_MESSAGE) {
    Sfproto__GraphReply reply = SFPROTO_BODY(graph_reply, .more = true);
    send_blocks(session, graph, request, answers->incoming + i, BLOCKS_IN_MESSAGE, &reply, -1);
  }
  if (ready)
    describe_ready(graph, local, answers, &last);
  int map = edges ? describe_trunks(graph, local, answers, &last) : -1;
  send_blocks(session, graph, request, answers->incoming + i, end - i, &last, map);
}

sf_status_t sfd_reply_send(sfd_graph_t *graph, bool edges, bool ready)
{
  answers_t answers;
  sf_status_t status = alloc_answers(graph, &answers);
  if (status != SF_OK)
    return status;
  sort_blocks(graph, &answers);
  for (int32_t i = 0; i < graph->group->nlocals; i++)
    answer(graph, i, &answers, edges, ready);
  free_answers(&answers);
  return SF_OK;
}

void sfd_reply_send_failed(const sfd_graph_t *graph, sf_status_t status, const char *detail)
{
  Sfproto__SetupError error = SFPROTO_BODY(setup_error, .status = status, .rank = -1, .leaf = -1,
                                           .detail = (char *)(uintptr_t)detail /* only read */);
  Sfproto__GraphReply reply = SFPROTO_BODY(graph_reply, .graph = graph->id, SFPROTO_HAS(ready, true), .error = &error);
  for (int32_t i = 0; i < graph->group->nlocals; i++) {
    sfd_session_t *session = sfd_setup_mark_answered(graph, i);
    if (session != NULL)
      send_reply(session, graph->setup->members[i].request, &reply, NULL, 0);
  }
}

void sfd_reply_ask_edges(sfd_session_t *session, uint64_t request, uint64_t number)
{
  Sfproto__GraphReply reply = SFPROTO_BODY(graph_reply, SFPROTO_HAS(edges_of, number));
  send_reply(session, request, &reply, NULL, 0);
}
