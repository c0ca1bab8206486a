/* Agreements: see tree_agreement.h. The daemon's thread. */
#include "daemon/jobs/tree_agreement.h"

#include <stdio.h>
#include <string.h>

#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"
#include "daemon/jobs/life.h"
#include "daemon/jobs/node_tree.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* ---- What was said ----------------------------------------------------------------------------------------------- */

/* Total order of errors, the same on all nodes. */
static bool comes_before(const sfd_agreement_error_t *a, const sfd_agreement_error_t *b)
{
  if (a->rank != b->rank)
    return a->rank < b->rank;
  if (a->leaf != b->leaf)
    return a->leaf < b->leaf;
  return a->status != b->status ? a->status < b->status : strcmp(a->detail, b->detail) < 0;
}

void sfd_agreement_error_note(sfd_agreement_error_t *error, sf_status_t status, int32_t rank, int64_t leaf,
                              const char *detail)
{
  sfd_agreement_error_t other = {.status = status, .rank = rank, .leaf = leaf};
  sfd_text_printable(other.detail, sizeof other.detail, detail);
  if (error->status == SF_OK || comes_before(&other, error))
    *error = other;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void note_odd(sfd_agreement_t *agreement, int32_t member, uint32_t flags)
{
  if (agreement->differ && agreement->odd <= member)
    return;
  agreement->differ = true;
  agreement->odd = member;
  agreement->odd_flags = flags;
}

void sfd_agreement_add_flags(sfd_agreement_t *agreement, int32_t member, uint32_t flags)
{
  int32_t lowest = agreement->lowest;
  uint32_t said = agreement->flags;
  if (lowest >= 0 && lowest <= member) {
    if (flags != said)
      note_odd(agreement, member, flags);
    return;
  }
  agreement->lowest = member;
  agreement->flags = flags;
  if (lowest < 0 || said == flags)
    return; /* odd is still right */
  agreement->differ = false;
  note_odd(agreement, lowest, said);
}

/* Two members stand for the subtree's flags. */
static void add_subtree_flags(sfd_agreement_t *agreement, const Sfpeer__Arrive *arrive)
{
  sfd_agreement_add_flags(agreement, arrive->lowest, arrive->flags);
  if (arrive->has_odd)
    sfd_agreement_add_flags(agreement, arrive->odd, arrive->odd_flags);
}

/* Comes after every error that a rank found in its edges. */
static void judge_flags(sfd_agreement_t *agreement)
{
  char text[SFD_TEXT_SIZE];
  if (!agreement->differ)
    return;
  snprintf(text, sizeof text, "graph flags differ: 0x%x on group rank %d, 0x%x on group rank %d", agreement->flags,
           agreement->lowest, agreement->odd_flags, agreement->odd);
  sfd_agreement_error_note(&agreement->error, SF_ERR_MISMATCH, INT32_MAX, -1, text);
}

void sfd_agreement_add_counts(sfd_agreement_t *agreement, int64_t nroots, int64_t nleaves, int64_t npairs)
{
  agreement->nroots = add_saturating(agreement->nroots, nroots);
  agreement->nleaves = add_saturating(agreement->nleaves, nleaves);
  agreement->npairs = add_saturating(agreement->npairs, npairs);
}

void sfd_agreement_add_again(sfd_agreement_t *agreement, uint64_t again)
{
  if (agreement->again == 0)
    agreement->again = again;
  else if (agreement->again != again)
    sfd_agreement_error_note(&agreement->error, SF_ERR_NOT_FOUND, -1, -1, "ranks name different earlier graphs");
}

/* ---- The tree ---------------------------------------------------------------------------------------------------- */

bool sfd_agreement_is_pair(const sfd_group_t *group)
{
  return group->nnodes == 2;
}

/* Each of two nodes counts as the other's child. */
static int32_t other_of_pair(const sfd_group_t *group)
{
  return group->nodes[1 - group->node_position];
}

/* As bits. */
static uint8_t all_children(const sfd_group_t *group)
{
  return sfd_agreement_is_pair(group) ? 1 : sfd_tree_all_children(group);
}

/* The sender's bit among the children; 0: no child. */
static uint8_t child_bit(const sfd_group_t *group, int32_t node)
{
  if (sfd_agreement_is_pair(group))
    return node == other_of_pair(group);
  int32_t child = sfd_tree_child(group, node);
  return (uint8_t)(child < 0 ? 0 : 1u << child);
}

bool sfd_agreement_has_arrived(const sfd_group_t *group, const sfd_agreement_t *agreement, int32_t node)
{
  uint8_t bit = child_bit(group, node);
  return bit == 0 || (agreement->children & bit) != 0;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

Sfpeer__SetupError *sfd_agreement_error_fill(Sfpeer__SetupError *to, sfd_agreement_error_t *from)
{
  if (from->status == SF_OK)
    return NULL;
  *to = (Sfpeer__SetupError)SFPEER_BODY(setup_error, .status = from->status, .rank = from->rank, .leaf = from->leaf,
                                        .detail = from->detail);
  return to;
}

static int32_t *list_ranks(const sfd_group_t *group, Sfpeer__Arrive__Kind kind)
{
  return kind == SFPEER__ARRIVE__KIND__GROUP ? sfd_group_ranks(group) : NULL;
}

/* To the parent, or to the other of two nodes. */
static void send_arrive(sfd_group_t *group, int32_t node, Sfpeer__Arrive__Kind kind, uint64_t number,
                        sfd_agreement_t *agreement)
{
  Sfpeer__SetupError error;
  int32_t *ranks = list_ranks(group, kind);
  Sfpeer__Message message = SFPEER_MESSAGE_OF(
      ARRIVE, arrive, .kind = kind, .job = group->job->id, SFPROTO_HAS(group, group->id), SFPROTO_HAS(number, number),
      SFPROTO_HAS(tag, group->tag), .ranks = ranks, .n_ranks = ranks != NULL ? (size_t)group->size : 0,
      SFPROTO_HAS(lowest, agreement->lowest), SFPROTO_HAS(flags, agreement->flags), .has_odd = agreement->differ,
      .odd = agreement->odd, .has_odd_flags = agreement->differ, .odd_flags = agreement->odd_flags,
      SFPROTO_HAS(nroots, agreement->nroots), SFPROTO_HAS(nleaves, agreement->nleaves),
      SFPROTO_HAS(npairs, agreement->npairs), .has_again = kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN,
      .again = agreement->again, .has_id = agreement->id != 0, .id = agreement->id,
      .has_both = sfd_agreement_is_pair(group), .both = agreement->children != 0,
      .has_two_rounds = agreement->two_rounds, .two_rounds = agreement->two_rounds,
      .error = sfd_agreement_error_fill(&error, &agreement->error));
  sfd_network_send(group->job->server, node, &message);
  sfd_group_free_ranks(ranks);
}

/* The decision, to children or other nodes. */
static void send_release(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, uint64_t id,
                         sfd_agreement_t *agreement, const int32_t nodes[], int32_t n)
{
  Sfpeer__SetupError error;
  int32_t *ranks = list_ranks(group, kind);
  Sfpeer__Message message = SFPEER_MESSAGE_OF(
      RELEASE, release, .kind = kind, .job = group->job->id,
      SFPROTO_HAS(group, kind == SFPEER__ARRIVE__KIND__GROUP ? 0 : group->id), SFPROTO_HAS(number, number),
      SFPROTO_HAS(tag, group->tag), .ranks = ranks, .n_ranks = ranks != NULL ? (size_t)group->size : 0,
      SFPROTO_HAS(id, id), SFPROTO_HAS(nroots, agreement->nroots), SFPROTO_HAS(nleaves, agreement->nleaves),
      SFPROTO_HAS(npairs, agreement->npairs), .has_two_rounds = agreement->two_rounds,
      .two_rounds = agreement->two_rounds, .error = sfd_agreement_error_fill(&error, &agreement->error));
  for (int32_t i = 0; i < n; i++)
    sfd_network_send(group->job->server, nodes[i], &message);
  sfd_group_free_ranks(ranks);
}

static void release_children(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, uint64_t id,
                             sfd_agreement_t *agreement)
{
  int32_t n = sfd_tree_nchildren(group);
  if (n > 0 && !sfd_agreement_is_pair(group))
    send_release(group, kind, number, id, agreement, &group->nodes[sfd_tree_first_child(group)], n);
}

/* Refuses one child. */
static void release_to(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, int32_t node)
{
  sfd_agreement_t refused = {
      .error = {.status = SF_ERR_NOT_FOUND, .rank = -1, .leaf = -1, .detail = "the edges are needed"}};
  send_release(group, kind, number, 0, &refused, &node, 1);
}

void sfd_agreement_refuse(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number,
                          const sfd_agreement_t *agreement)
{
  int32_t first = sfd_tree_first_child(group);
  for (int32_t i = 0; i < SFD_TREE_CHILDREN; i++)
    if ((agreement->children >> i & 1) != 0)
      release_to(group, kind, number, sfd_agreement_is_pair(group) ? other_of_pair(group) : group->nodes[first + i]);
}

/* ---- Going up and down ------------------------------------------------------------------------------------------- */

/* Next may come data, for which no rank here waits. After reuse of a plan the next creation may follow soon. */
static void expect_no_more(const sfd_group_t *group, Sfpeer__Arrive__Kind kind)
{
  bool again = kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN;
  if (group->nnodes > 1)
    sfd_idle_expect(&group->job->server->idle, again ? SFD_EXPECT_RANKS_NS : 0);
}

/* NULL: unknown kind. */
static const sfd_agreement_ops_t *ops_of(const sfd_server_t *server, Sfpeer__Arrive__Kind kind)
{
  return (size_t)kind < SFD_AGREEMENT_KINDS ? server->life->agreements[kind] : NULL;
}

/* The decision: to the children, and to the members here. */
static void release_here(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, uint64_t id,
                         sfd_agreement_t *agreement)
{
  expect_no_more(group, kind);
  release_children(group, kind, number, id, agreement);
  ops_of(group->job->server, kind)->agreed(group, number, id);
}

static bool needs_id(Sfpeer__Arrive__Kind kind)
{
  return kind != SFPEER__ARRIVE__KIND__GRAPH_LANES;
}

/* Two nodes: sends this node's part once, decides when both parts are here. */
static void advance_pair(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, sfd_agreement_t *agreement)
{
  if (agreement->here && !agreement->reported) {
    agreement->reported = true;
    if (group->node_position == 0 && needs_id(kind))
      agreement->id = sfd_network_new_id(group->job->server);
    send_arrive(group, other_of_pair(group), kind, number, agreement);
  }
  if (!agreement->reported || agreement->children == 0)
    return;
  sfd_network_gather(group->job->server, false); /* now: the rest takes time, and the other node waits */
  judge_flags(agreement);
  release_here(group, kind, number, agreement->id, agreement);
}

static void advance(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, sfd_agreement_t *agreement)
{
  if (sfd_agreement_is_pair(group)) {
    advance_pair(group, kind, number, agreement);
    return;
  }
  if (agreement->reported || !agreement->here || agreement->children != all_children(group))
    return;
  agreement->reported = true;
  if (group->node_position > 0) {
    send_arrive(group, sfd_tree_parent(group), kind, number, agreement);
    return;
  }
  uint64_t id = kind == SFPEER__ARRIVE__KIND__GRAPH_LANES ? 0 : sfd_network_new_id(group->job->server);
  judge_flags(agreement);
  release_here(group, kind, number, id, agreement);
}

void sfd_agreement_arrive(sfd_group_t *group, Sfpeer__Arrive__Kind kind, uint64_t number, sfd_agreement_t *agreement)
{
  agreement->here = true;
  if (group->nnodes > 1)
    sfd_idle_expect(&group->job->server->idle, SFD_EXPECT_NODES_NS);
  advance(group, kind, number, agreement);
}

static void add_subtree(sfd_agreement_t *agreement, const Sfpeer__Arrive *arrive)
{
  if (arrive->kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN)
    sfd_agreement_add_again(agreement, arrive->again);
  if (arrive->kind == SFPEER__ARRIVE__KIND__GRAPH_EDGES || arrive->kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN) {
    add_subtree_flags(agreement, arrive);
    sfd_agreement_add_counts(agreement, arrive->nroots, arrive->nleaves, arrive->npairs);
  }
  agreement->two_rounds |= arrive->two_rounds;
  if (arrive->error != NULL)
    sfd_agreement_error_note(&agreement->error, arrive->error->status, arrive->error->rank, arrive->error->leaf,
                             arrive->error->detail);
}

/* Two nodes: adds the other part. arrive->both: that part includes this one; otherwise both nodes add the same two
 * parts, in any order. */
static void add_other(const sfd_group_t *group, sfd_agreement_t *agreement, const Sfpeer__Arrive *arrive)
{
  if (arrive->both)
    *agreement = (sfd_agreement_t){
        .here = true, .reported = true, .children = agreement->children, .lowest = -1, .id = agreement->id};
  if (group->node_position > 0)
    agreement->id = arrive->id;
  add_subtree(agreement, arrive);
}

/* The part of a child, or of the other of two nodes, has arrived. */
static sf_status_t add(sfd_group_t *group, sfd_agreement_t *agreement, int32_t node, const Sfpeer__Arrive *arrive)
{
  uint8_t bit = child_bit(group, node);
  if (bit == 0 || (agreement->children & bit) != 0)
    return sfshm_error(SF_ERR_PROTO, "node %d reports its part of an agreement twice, or to the wrong node", node);
  bool pair = sfd_agreement_is_pair(group);
  bool lacks_id = group->node_position > 0 && !arrive->has_id && needs_id(arrive->kind);
  if (pair && (lacks_id || (arrive->both && !agreement->reported)))
    return sfshm_error(SF_ERR_PROTO, "node %d speaks for this one in an agreement, or proposes no id", node);
  agreement->children |= bit;
  if (pair)
    add_other(group, agreement, arrive);
  else
    add_subtree(agreement, arrive);
  return SF_OK;
}

sf_status_t sfd_agreement_handle_arrive(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__Arrive *arrive = message->arrive;
  const sfd_agreement_ops_t *ops = ops_of(server, arrive->kind);
  sfd_job_t *job = sfd_job_find_id(server, arrive->job);
  sfd_group_t *group;
  sfd_agreement_t *agreement = NULL;
  if (ops == NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d reports its part of an agreement of kind %d", node, (int)arrive->kind);
  if (job == NULL)
    return sfd_ended_jobs_status(&server->jobs->ended, arrive->job);
  if (job->state != SFD_JOB_RUNNING)
    return SF_OK; /* the other nodes hear of the failure */
  sf_status_t status = ops->find(job, node, arrive, &group, &agreement);
  if (agreement == NULL)
    return status; /* SF_OK: a member here has left, and the other nodes were told */
  status = add(group, agreement, node, arrive);
  if (status != SF_OK)
    return status;
  if (ops->added != NULL && !ops->added(group, arrive->number))
    release_to(group, arrive->kind, arrive->number, node);
  else
    advance(group, arrive->kind, arrive->number, agreement);
  return SF_OK;
}

sf_status_t sfd_agreement_handle_release(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__Release *release = message->release;
  const sfd_agreement_ops_t *ops = ops_of(server, release->kind);
  sfd_job_t *job = sfd_job_find_id(server, release->job);
  sfd_group_t *group;
  if (ops == NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d answers an agreement of kind %d", node, (int)release->kind);
  if (job == NULL || job->state != SFD_JOB_RUNNING)
    return SF_OK;
  sfd_agreement_t *agreement = ops->find_reported(job, release, &group);
  if (agreement == NULL)
    return SF_OK; /* two nodes: a late refusal of what the other one has ended */
  bool refusal = sfd_agreement_is_pair(group) && release->kind == SFPEER__ARRIVE__KIND__GRAPH_AGAIN &&
                 release->error != NULL && node == other_of_pair(group);
  bool answer = !sfd_agreement_is_pair(group) && node == sfd_tree_parent(group);
  if (!agreement->reported || (!refusal && !answer))
    return sfshm_error(SF_ERR_PROTO, "node %d answers an agreement that is not its business", node);
  agreement->nroots = release->nroots;
  agreement->nleaves = release->nleaves;
  agreement->npairs = release->npairs;
  agreement->two_rounds = release->two_rounds;
  agreement->error.status = SF_OK;
  if (release->error != NULL)
    sfd_agreement_error_note(&agreement->error, release->error->status, release->error->rank, release->error->leaf,
                             release->error->detail);
  release_here(group, release->kind, release->number, release->id, agreement);
  return SF_OK;
}
