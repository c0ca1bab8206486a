/* Groups: forming, finding, freeing. The daemon's thread. */
#include "daemon/jobs/group_internal.h"
#include "daemon/jobs/life.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/jobs/graph.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/base/sort.h"

/* ---- Making and finding ---- */

static uint32_t hash_of(int32_t tag, const int32_t ranks[], size_t n)
{
  uint32_t hash = 2166136261u ^ (uint32_t)tag; /* FNV-1a by words */
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (uint32_t)ranks[i]) * 16777619u;
  return hash;
}

/* Lists nodes and local members. */
static bool place_members(sfd_group_t *group)
{
  int32_t here = sfd_network_node(group->job->server);
  group->nodes = malloc((size_t)group->size * sizeof *group->nodes);
  group->locals = malloc((size_t)group->size * sizeof *group->locals);
  if (group->nodes == NULL || group->locals == NULL)
    return false;
  for (int32_t i = 0; i < group->size; i++) {
    group->nodes[i] = sfd_job_node_of(group->job, group->members[i].rank);
    if (group->nodes[i] == here)
      group->locals[group->nlocals++] = i;
  }
  qsort(group->nodes, (size_t)group->size, sizeof *group->nodes, sfshm_compare_int32);
  for (int32_t i = 0; i < group->size; i++)
    if (i == 0 || group->nodes[i] != group->nodes[i - 1])
      group->nodes[group->nnodes++] = group->nodes[i];
  while (group->nodes[group->node_position] < here && group->node_position < group->nnodes - 1)
    group->node_position++;
  return true;
}

static void free_group(sfd_group_t *group)
{
  SFD_CALL_LISTENERS(group->job->server->life->group_freed, group);
  free(group->nodes);
  free(group->locals);
  free(group);
}

/* ranks NULL: all of the job. */
static sfd_group_t *new_group(sfd_job_t *job, int32_t tag, const int32_t ranks[], int32_t size)
{
  sfd_group_t *group = calloc(1, sizeof *group + (size_t)size * sizeof group->members[0]);
  if (group == NULL)
    return NULL;
  group->job = job;
  group->tag = tag;
  group->size = size;
  group->references = 1;
  group->forming.lowest = -1;
  TAILQ_INIT(&group->setups);
  TAILQ_INIT(&group->kept);
  TAILQ_INIT(&group->barriers);
  for (int32_t i = 0; i < size; i++)
    group->members[i].rank = ranks != NULL ? ranks[i] : i;
  if (!place_members(group)) {
    free_group(group);
    return NULL;
  }
  return group;
}

static void complete(sfd_group_t *group)
{
  group->nhere = group->size;
  for (int32_t i = 0; i < group->size; i++)
    group->members[i].here = true;
}

sf_status_t sfd_group_create_world(sfd_job_t *job)
{
  sfd_group_t *group = new_group(job, 0, NULL, job->size);
  if (group == NULL)
    return SF_ERR_NOMEM;
  group->id = job->id;
  complete(group);
  if (!sfd_id_map_insert(&job->groups_by_id, group)) {
    free_group(group);
    return SF_ERR_NOMEM;
  }
  TAILQ_INSERT_TAIL(&job->groups, group, entry);
  job->ngroups++;
  job->world = group;
  return SF_OK;
}

sfd_group_t *sfd_group_find(const sfd_job_t *job, uint64_t id)
{
  return sfd_id_map_find(job->groups_by_id, id);
}

int32_t sfd_group_rank_of(const sfd_group_t *group, int32_t job_rank)
{
  if (group == group->job->world)
    return job_rank;
  for (int32_t i = 0; i < group->size; i++)
    if (group->members[i].rank == job_rank)
      return i;
  return -1;
}

sfd_rank_t *sfd_group_member(const sfd_group_t *group, int32_t group_rank)
{
  return group->job->ranks[group->members[group_rank].rank];
}

int32_t sfd_group_local(const sfd_group_t *group, int32_t group_rank)
{
  const int32_t *found =
      bsearch(&group_rank, group->locals, (size_t)group->nlocals, sizeof *group->locals, sfshm_compare_int32);
  return found != NULL ? (int32_t)(found - group->locals) : -1;
}

int32_t *sfd_group_ranks(const sfd_group_t *group)
{
  int32_t *ranks = malloc((size_t)group->size * sizeof *ranks);
  for (int32_t i = 0; ranks != NULL && i < group->size; i++)
    ranks[i] = group->members[i].rank;
  return ranks;
}

void sfd_group_free_ranks(int32_t *ranks)
{
  free(ranks);
}

void sfd_group_retain(sfd_group_t *group)
{
  group->references++;
}

void sfd_group_release(sfd_group_t *group)
{
  if (--group->references == 0)
    free_group(group);
}

void sfd_group_unlist(sfd_group_t *group)
{
  sfd_job_t *job = group->job;
  sfd_id_map_remove(&job->groups_by_id, group);
  TAILQ_REMOVE(&job->groups, group, entry);
  job->ngroups--;
  if (group == job->world)
    job->world = NULL;
  sfd_group_release(group);
}

bool sfd_group_complete(const sfd_group_t *group, sfd_rank_t *rank, uint64_t request)
{
  if (group->nhere == group->size)
    return true;
  int32_t i = 0;
  while (group->members[i].here)
    i++;
  char text[SFD_TEXT_SIZE];
  sfd_job_describe_rank(group->job, group->members[i].rank, text, sizeof text);
  sfd_session_send_errorf(rank->session, request, SF_ERR_STATE, "%.400s has %s", text,
                          group->job->left[group->members[i].rank] ? "left" : "destroyed the group");
  return false;
}

/* ---- Forming ---- */

/* Checks for ranks out of range, duplicates, and the sender. */
static sf_status_t check_list(const sfd_rank_t *rank, const Sfproto__GroupCreate *create)
{
  int32_t size = rank->job->size;
  if (create->n_ranks < 1 || create->n_ranks > (size_t)size)
    return sfshm_error(SF_ERR_ARG, "group of %zu ranks in a job of %d", create->n_ranks, size);
  if (sfproto__group_create__get_packed_size(create) > SFPROTO_MAX_GROUP_LENGTH)
    return sfshm_error(SF_ERR_LIMIT, "a list of %zu ranks is too long to be told to other nodes", create->n_ranks);
  uint8_t *seen = calloc((size_t)size / 8 + 1, 1);
  if (seen == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a group of %zu ranks", create->n_ranks);
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < create->n_ranks && status == SF_OK; i++) {
    int32_t r = create->ranks[i];
    if (r < 0 || r >= size)
      status = sfshm_error(SF_ERR_ARG, "member %zu of the group is rank %d, the job has ranks 0 to %d", i, r, size - 1);
    else if (seen[r / 8] & (1 << r % 8))
      status = sfshm_error(SF_ERR_ARG, "rank %d is in the group's list twice, the second time as member %zu", r, i);
    else
      seen[r / 8] |= (uint8_t)(1 << r % 8);
  }
  if (status == SF_OK && !(seen[rank->number / 8] & (1 << rank->number % 8)))
    status = sfshm_error(SF_ERR_ARG, "rank %d is not in the list of the group that it asks for", rank->number);
  free(seen);
  return status;
}

/* Identifies a forming group. */
typedef struct sfd_group_list_key {
  uint32_t hash;
  int32_t tag;
  const int32_t *ranks;
  size_t n;
} sfd_group_key_t;

static sfd_group_key_t make_key(int32_t tag, const int32_t ranks[], size_t n)
{
  return (sfd_group_key_t){.hash = hash_of(tag, ranks, n), .tag = tag, .ranks = ranks, .n = n};
}

static bool is_formed_by(const sfd_group_t *group, const sfd_group_key_t *key)
{
  if (group->hash != key->hash || group->tag != key->tag || (size_t)group->size != key->n)
    return false;
  for (int32_t i = 0; i < group->size; i++)
    if (group->members[i].rank != key->ranks[i])
      return false;
  return true;
}

/* The first forming group of that key that the rank has not asked for; its group rank in *group_rank_p. */
static sfd_group_t *find_forming(const sfd_rank_t *rank, const sfd_group_key_t *key, int32_t *group_rank_p)
{
  sfd_group_t *group;
  TAILQ_FOREACH (group, &rank->job->forming, entry) {
    if (!is_formed_by(group, key))
      continue;
    *group_rank_p = sfd_group_rank_of(group, rank->number);
    if (!group->members[*group_rank_p].here)
      return group;
  }
  return NULL;
}

static sfd_group_t *begin_forming(sfd_job_t *job, const sfd_group_key_t *key)
{
  sfd_group_t *group = new_group(job, key->tag, key->ranks, (int32_t)key->n);
  if (group == NULL)
    return NULL;
  group->hash = key->hash;
  if (job->ngroups >= SFD_MAX_GROUPS)
    sfd_agreement_error_note(&group->forming.error, SF_ERR_LIMIT, -1, -1, "the job has too many groups");
  TAILQ_INSERT_TAIL(&job->forming, group, entry);
  job->ngroups++;
  return group;
}

void sfd_group_end_forming(sfd_group_t *group)
{
  TAILQ_REMOVE(&group->job->forming, group, entry);
  group->job->ngroups--;
}

void sfd_group_fail_forming(sfd_group_t *group, sf_status_t status, const char *detail)
{
  sfd_group_end_forming(group);
  for (int32_t k = 0; k < group->nlocals; k++) {
    int32_t i = group->locals[k];
    sfd_rank_t *rank = sfd_group_member(group, i);
    if (!group->members[i].here)
      continue;
    rank->npending--;
    if (sfd_rank_connected(rank))
      sfd_session_send_error(rank->session, group->members[i].request, status, detail);
  }
  sfd_group_release(group);
}

static void announce(const sfd_group_t *group)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(GROUP, group, .group = group->id);
  for (int32_t k = 0; k < group->nlocals; k++) {
    int32_t i = group->locals[k];
    sfd_rank_t *rank = sfd_group_member(group, i);
    rank->npending--;
    message.request = group->members[i].request;
    if (sfd_rank_connected(rank))
      sfd_session_send(rank->session, &message, NULL, 0);
  }
}

void sfd_group_mark_gone(sfd_group_t *group, int32_t group_rank)
{
  group->members[group_rank].here = false;
  if (--group->nhere == 0)
    sfd_group_unlist(group);
}

/* Marks members that left while the group was forming. */
static void forget_left(sfd_group_t *group)
{
  int32_t nhere = group->nhere;
  for (int32_t i = 0; i < group->size && nhere > 0; i++)
    if (group->job->left[group->members[i].rank]) {
      nhere--;
      sfd_group_mark_gone(group, i);
    }
}

/* All nodes have agreed: the group gets its id, or its members the error. */
static void formed(sfd_group_t *group, uint64_t number, uint64_t id)
{
  (void)number;
  sfd_job_t *job = group->job;
  sfd_agreement_error_t *error = &group->forming.error;
  group->id = id;
  if (error->status == SF_OK && !sfd_id_map_insert(&job->groups_by_id, group))
    sfd_agreement_error_note(error, SF_ERR_NOMEM, -1, -1, "no memory for the group");
  if (error->status != SF_OK) {
    sfd_group_fail_forming(group, error->status, error->detail);
    return;
  }
  sfd_group_end_forming(group);
  TAILQ_INSERT_TAIL(&job->groups, group, entry);
  job->ngroups++;
  announce(group);
  complete(group);
  forget_left(group);
  sfd_network_begun(job->server);
}

static bool nobody_left(const sfd_job_t *job, const int32_t ranks[], size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (ranks[i] < 0 || ranks[i] >= job->size || job->left[ranks[i]])
      return false;
  return true;
}

/* The first forming group of that list of which the node has not reported. */
static sf_status_t find_unreported(sfd_job_t *job, int32_t node, const Sfpeer__Arrive *arrive, sfd_group_t **group_p,
                                   sfd_agreement_t **agreement_p)
{
  size_t n = arrive->n_ranks;
  sfd_group_key_t key = make_key(arrive->tag, arrive->ranks, n);
  sfd_group_t *group;
  *agreement_p = NULL;
  if (n == 0 || n > (size_t)job->size || !nobody_left(job, arrive->ranks, n))
    return SF_OK;
  TAILQ_FOREACH (group, &job->forming, entry)
    if (is_formed_by(group, &key) && !sfd_agreement_has_arrived(group, &group->forming, node))
      break;
  if (group == NULL)
    group = begin_forming(job, &key);
  if (group == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a group of %zu ranks", n);
  *group_p = group;
  *agreement_p = &group->forming;
  return SF_OK;
}

/* The first one that has been reported to the parent. */
static sfd_agreement_t *find_reported(sfd_job_t *job, const Sfpeer__Release *release, sfd_group_t **group_p)
{
  sfd_group_key_t key = make_key(release->tag, release->ranks, release->n_ranks);
  sfd_group_t *group;
  TAILQ_FOREACH (group, &job->forming, entry)
    if (is_formed_by(group, &key) && group->forming.reported)
      break;
  *group_p = group;
  return group != NULL ? &group->forming : NULL;
}

const sfd_agreement_ops_t sfd_group_agreement = {
    .find = find_unreported, .find_reported = find_reported, .agreed = formed};

/* Whether no rank of the list has left; else the request has been answered. */
static bool all_present(sfd_rank_t *rank, const Sfproto__GroupCreate *create, uint64_t request)
{
  for (size_t i = 0; i < create->n_ranks; i++) {
    if (!rank->job->left[create->ranks[i]])
      continue;
    char text[SFD_TEXT_SIZE];
    sfd_job_describe_rank(rank->job, create->ranks[i], text, sizeof text);
    sfd_session_send_errorf(rank->session, request, SF_ERR_STATE, "%.400s has left", text);
    return false;
  }
  return true;
}

void sfd_group_handle_create(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__GroupCreate *create = message->group_create;
  sfd_rank_t *rank = session->rank;
  if (sfd_job_answer_failed(rank, message->request))
    return;
  sf_status_t status = check_list(rank, create);
  if (status != SF_OK) {
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
    return;
  }
  if (!all_present(rank, create, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  sfd_group_key_t key = make_key(create->tag, create->ranks, create->n_ranks);
  int32_t group_rank;
  sfd_group_t *group = find_forming(rank, &key, &group_rank);
  if (group == NULL)
    group = begin_forming(rank->job, &key);
  if (group == NULL) {
    sfd_session_refuse(session, message->request, SF_ERR_NOMEM, "no memory for a group of %zu ranks", create->n_ranks);
    return;
  }
  group_rank = sfd_group_rank_of(group, rank->number);
  group->members[group_rank].here = true;
  group->members[group_rank].request = message->request;
  rank->npending++;
  if (++group->nhere == group->nlocals)
    sfd_agreement_arrive(group, SFPEER__ARRIVE__KIND__GROUP, 0, &group->forming);
}
