/* Groups: forming, finding and forgetting them. The daemon's thread. */
#include "daemon/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/graph.h"
#include "daemon/key.h"
#include "daemon/log.h"
#include "daemon/setup.h"
#include "shm/error.h"

/* ---- Making and finding ---- */

static uint32_t hash_of(int32_t tag, const int32_t ranks[], size_t n)
{
  uint32_t hash = 2166136261u ^ (uint32_t)tag; /* FNV-1a by words */
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (uint32_t)ranks[i]) * 16777619u;
  return hash;
}

/* A group that nobody has asked for yet; ranks NULL: all of the job. */
static sfd_group_t *new_group(sfd_job_t *job, int32_t tag, const int32_t ranks[], int32_t size)
{
  sfd_group_t *group = calloc(1, sizeof *group + (size_t)size * sizeof group->members[0]);
  if (group == NULL)
    return NULL;
  group->job = job;
  group->tag = tag;
  group->size = size;
  group->references = 1;
  TAILQ_INIT(&group->gathering);
  for (int32_t i = 0; i < size; i++)
    group->members[i].rank = ranks != NULL ? ranks[i] : i;
  return group;
}

sf_status_t sfd_group_create_world(sfd_job_t *job)
{
  sfd_group_t *group = new_group(job, 0, NULL, job->size);
  if (group == NULL)
    return SF_ERR_NOMEM;
  group->id = job->id;
  group->nhere = group->size;
  for (int32_t i = 0; i < group->size; i++)
    group->members[i].here = true;
  if (!sfd_key_insert(&job->groups_by_id, group)) {
    free(group);
    return SF_ERR_NOMEM;
  }
  TAILQ_INSERT_TAIL(&job->groups, group, entry);
  job->ngroups++;
  job->world = group;
  return SF_OK;
}

sfd_group_t *sfd_group_find(const sfd_job_t *job, uint64_t id)
{
  return sfd_key_find(job->groups_by_id, id);
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

void sfd_group_retain(sfd_group_t *group)
{
  group->references++;
}

void sfd_group_release(sfd_group_t *group)
{
  if (--group->references == 0)
    free(group);
}

/* Nobody can refer to it any more, except graphs. */
static void unlist(sfd_group_t *group)
{
  sfd_job_t *job = group->job;
  sfd_key_remove(&job->groups_by_id, group);
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
  const sfd_rank_t *absent = sfd_group_member(group, i);
  char text[SFD_TEXT_SIZE];
  sfd_rank_describe(absent, text, sizeof text);
  sfd_session_answer(rank->session, request, SF_ERR_STATE, "%.400s has %s", text,
                     absent->state == SFD_RANK_JOINED ? "destroyed the group" : "left");
  return false;
}

/* ---- Forming ---- */

/* Group lists are bounded by the job's size; a rank out of range, twice, or a list without the sender is refused. */
static sf_status_t check_list(const sfd_rank_t *rank, const Sfproto__GroupCreate *create)
{
  int32_t size = rank->job->size;
  if (create->n_ranks < 1 || create->n_ranks > (size_t)size)
    return sfshm_error(SF_ERR_ARG, "group of %zu ranks in a job of %d", create->n_ranks, size);
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

static bool same_list(const sfd_group_t *group, const Sfproto__GroupCreate *create)
{
  for (int32_t i = 0; i < group->size; i++)
    if (group->members[i].rank != create->ranks[i])
      return false;
  return true;
}

/* The first one that is formed by this list and tag and has not heard of the rank; its place there in *place_p. */
static sfd_group_t *find_forming(sfd_rank_t *rank, const Sfproto__GroupCreate *create, uint32_t hash, int32_t *place_p)
{
  sfd_group_t *group;
  TAILQ_FOREACH(group, &rank->job->forming, entry)
  {
    if (group->hash != hash || group->tag != create->tag || (size_t)group->size != create->n_ranks ||
        !same_list(group, create))
      continue;
    *place_p = sfd_group_rank_of(group, rank->number);
    if (!group->members[*place_p].here)
      return group;
  }
  return NULL;
}

static sfd_group_t *begin_forming(sfd_rank_t *rank, const Sfproto__GroupCreate *create, uint32_t hash, int32_t *place_p)
{
  sfd_job_t *job = rank->job;
  sfd_group_t *group = new_group(job, create->tag, create->ranks, (int32_t)create->n_ranks);
  if (group == NULL)
    return NULL;
  group->hash = hash;
  group->over_limit = job->ngroups >= SFD_MAX_GROUPS;
  TAILQ_INSERT_TAIL(&job->forming, group, entry);
  job->ngroups++;
  *place_p = sfd_group_rank_of(group, rank->number);
  return group;
}

static void end_forming(sfd_group_t *group)
{
  TAILQ_REMOVE(&group->job->forming, group, entry);
  group->job->ngroups--;
}

/* Answers those who wait for a group that is being formed, and forgets it. */
static void fail_forming(sfd_group_t *group, sf_status_t status, const char *detail)
{
  end_forming(group);
  for (int32_t i = 0; i < group->size; i++) {
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
  Sfproto__Group answer = SFPROTO__GROUP__INIT;
  answer.group = group->id;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  message.body_case = SFPROTO__MESSAGE__BODY_GROUP;
  message.group = &answer;
  for (int32_t i = 0; i < group->size; i++) {
    sfd_rank_t *rank = sfd_group_member(group, i);
    rank->npending--;
    message.request = group->members[i].request;
    if (sfd_rank_connected(rank))
      sfd_session_send(rank->session, &message, NULL, 0);
  }
}

static void finish_forming(sfd_group_t *group)
{
  sfd_job_t *job = group->job;
  group->id = sfd_server_new_id(job->server);
  if (group->over_limit) {
    fail_forming(group, SF_ERR_LIMIT, "the job has too many groups");
    return;
  }
  if (!sfd_key_insert(&job->groups_by_id, group)) {
    fail_forming(group, SF_ERR_NOMEM, "no memory for the group");
    return;
  }
  end_forming(group);
  TAILQ_INSERT_TAIL(&job->groups, group, entry);
  job->ngroups++;
  announce(group);
}

/* Whether none of the list has left; if not the request has been answered. */
static bool all_present(sfd_rank_t *rank, const Sfproto__GroupCreate *create, uint64_t request)
{
  for (size_t i = 0; i < create->n_ranks; i++) {
    const sfd_rank_t *other = rank->job->ranks[create->ranks[i]];
    if (other->state == SFD_RANK_JOINED)
      continue;
    char text[SFD_TEXT_SIZE];
    sfd_rank_describe(other, text, sizeof text);
    sfd_session_answer(rank->session, request, SF_ERR_STATE, "%.400s has left", text);
    return false;
  }
  return true;
}

void sfd_group_handle_create(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__GroupCreate *create = message->group_create;
  sfd_rank_t *rank = session->rank;
  (void)fds;
  (void)nfds;
  if (sfd_job_answer_failed(rank, message->request))
    return;
  sf_status_t status = check_list(rank, create);
  if (status != SF_OK) {
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
    return;
  }
  if (!all_present(rank, create, message->request) || !sfd_rank_may_wait(rank, message->request))
    return;
  uint32_t hash = hash_of(create->tag, create->ranks, create->n_ranks);
  int32_t place;
  sfd_group_t *group = find_forming(rank, create, hash, &place);
  if (group == NULL)
    group = begin_forming(rank, create, hash, &place);
  if (group == NULL) {
    sfd_session_refuse(session, message->request, SF_ERR_NOMEM, "no memory for a group of %zu ranks", create->n_ranks);
    return;
  }
  group->members[place].here = true;
  group->members[place].request = message->request;
  rank->npending++;
  if (++group->nhere == group->size)
    finish_forming(group);
}

/* ---- Leaving and failing ---- */

/* The member takes part in nothing new; who waits for that is told so. */
static void remove_member(sfd_group_t *group, int32_t place, const char *text)
{
  if (place < 0 || !group->members[place].here)
    return;
  group->members[place].here = false;
  group->nhere--;
  sfd_setups_member_gone(group, place, text);
  if (group->nhere == 0)
    unlist(group);
}

void sfd_groups_leave(sfd_rank_t *rank, const char *text)
{
  sfd_job_t *job = rank->job;
  for (sfd_group_t *group = TAILQ_FIRST(&job->forming), *next; group != NULL; group = next) {
    next = TAILQ_NEXT(group, entry);
    if (sfd_group_rank_of(group, rank->number) >= 0)
      fail_forming(group, SF_ERR_STATE, text);
  }
  for (sfd_group_t *group = TAILQ_FIRST(&job->groups), *next; group != NULL; group = next) {
    next = TAILQ_NEXT(group, entry);
    remove_member(group, sfd_group_rank_of(group, rank->number), text);
  }
}

void sfd_groups_fail(sfd_job_t *job, sf_status_t status, const char *detail)
{
  while (!TAILQ_EMPTY(&job->forming))
    fail_forming(TAILQ_FIRST(&job->forming), status, detail);
}

void sfd_groups_free(sfd_job_t *job)
{
  for (sfd_group_t *group; (group = TAILQ_FIRST(&job->forming)) != NULL;) {
    end_forming(group);
    sfd_group_release(group);
  }
  while (!TAILQ_EMPTY(&job->groups))
    unlist(TAILQ_FIRST(&job->groups));
}

void sfd_group_handle_destroy(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  sfd_rank_t *rank = session->rank;
  uint64_t id = message->group_destroy->group;
  sfd_group_t *group = sfd_group_find(rank->job, id);
  int32_t place = group != NULL ? sfd_group_rank_of(group, rank->number) : -1;
  (void)fds;
  (void)nfds;
  if (place < 0 || !group->members[place].here) {
    sfd_session_answer(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no group %" PRIu64, rank->number, id);
    return;
  }
  if (group == rank->job->world) {
    sfd_session_answer(session, message->request, SF_ERR_ARG, "the group of all ranks cannot be destroyed");
    return;
  }
  char text[SFD_TEXT_SIZE];
  sfd_rank_describe(rank, text, sizeof text);
  sfd_text_append(text, sizeof text, " has destroyed the group");
  remove_member(group, place, text);
  sfd_session_send_done(session, message->request);
}
