/* Groups: see sf.h. Any thread. */
#include "client/core/group.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/sort.h"

static int find_spread(const sf_group_t *group)
{
  const sf_context_t *context = group->context;
  int32_t other = -1;
  for (int32_t rank = 0; rank < group->size && context->rank_nodes != NULL; rank++) {
    int32_t node = sfc_group_node_of(group, rank);
    if (node == context->node || node == other)
      continue;
    if (other >= 0)
      return 3;
    other = node;
  }
  return other < 0 ? 1 : 2;
}

void sfc_group_init_world(sf_context_t *context)
{
  context->world =
      (sf_group_t){.context = context, .number = context->job, .rank = context->rank, .size = context->size};
  context->world.spread = find_spread(&context->world);
}

sf_group_t *sf_group_world(sf_context_t *context)
{
  return context == NULL ? NULL : &context->world;
}

/* Checks the list; *rank_p: position of the caller. */
static sf_status_t check_ranks(const sf_context_t *context, int32_t size, const int32_t ranks[], int32_t *rank_p)
{
  *rank_p = -1;
  for (int32_t i = 0; i < size; i++) {
    if (ranks[i] < 0 || ranks[i] >= context->size)
      return sfshm_error(SF_ERR_ARG, "sf_group_create: ranks[%d] is %d; 0..%d expected", i, ranks[i],
                         context->size - 1);
    if (ranks[i] == context->rank)
      *rank_p = i;
  }
  if (*rank_p < 0)
    return sfshm_error(SF_ERR_ARG, "sf_group_create: the caller, rank %d, is not in the list", context->rank);
  int32_t *sorted = malloc((size_t)size * sizeof *sorted);
  if (sorted == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_group_create: list of %d ranks", size);
  memcpy(sorted, ranks, (size_t)size * sizeof *sorted);
  qsort(sorted, (size_t)size, sizeof *sorted, sfshm_compare_int32);
  sf_status_t status = SF_OK;
  for (int32_t i = 1; i < size && status == SF_OK; i++)
    if (sorted[i] == sorted[i - 1])
      status = sfshm_error(SF_ERR_ARG, "sf_group_create: rank %d is listed twice", sorted[i]);
  free(sorted);
  return status;
}

/* Fills in the request. All members agree on whether it is too long. */
static sf_status_t describe(int32_t size, const int32_t ranks[], int32_t tag, Sfproto__GroupCreate *create)
{
  *create = (Sfproto__GroupCreate)SFPROTO_BODY(group_create, .n_ranks = (size_t)size,
                                               .ranks = (int32_t *)(uintptr_t)ranks /* only read */, .tag = tag);
  size_t length = sfproto__group_create__get_packed_size(create);
  if (length > SFPROTO_MAX_GROUP_LENGTH)
    return sfshm_error(SF_ERR_LIMIT, "sf_group_create: a list of %d ranks takes %zu bytes; at most %u expected", size,
                       length, SFPROTO_MAX_GROUP_LENGTH);
  return SF_OK;
}

static sf_status_t ask_daemon(sf_context_t *context, Sfproto__GroupCreate *create, uint64_t *number_p)
{
  Sfproto__Message message = SFPROTO_MESSAGE(GROUP_CREATE, group_create, create);
  sfproto_incoming_t incoming;
  sf_status_t status = sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_GROUP, &incoming);
  if (status != SF_OK)
    return status;
  *number_p = incoming.message->group->group;
  sfproto_incoming_free(&incoming);
  return SF_OK;
}

sf_status_t sf_group_create(sf_context_t *context, int32_t size, const int32_t ranks[], int32_t tag,
                            sf_group_t **group_p)
{
  int32_t rank;
  Sfproto__GroupCreate create;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (size < 1 || ranks == NULL || group_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_group_create: size %d, ranks %p, group_p %p", size, (const void *)ranks,
                       (void *)group_p);
  status = check_ranks(context, size, ranks, &rank);
  if (status != SF_OK)
    return status == SF_ERR_NOMEM ? sfc_daemon_give_up(&context->control, status) : status;
  status = describe(size, ranks, tag, &create);
  if (status != SF_OK)
    return status;
  sf_group_t *group = calloc(1, sizeof *group);
  int32_t *copy = malloc((size_t)size * sizeof *copy);
  if (group == NULL || copy == NULL) {
    status = sfshm_error(SF_ERR_NOMEM, "sf_group_create: group of %d ranks", size);
    (void)sfc_daemon_give_up(&context->control, status);
    goto err_free;
  }
  memcpy(copy, ranks, (size_t)size * sizeof *copy);
  *group = (sf_group_t){.context = context, .rank = rank, .size = size, .ranks = copy, .nholders = 1};
  group->spread = find_spread(group);
  sfc_counters_block(&context->counters, SFSHM_BLOCKED_IN_GROUP, NULL);
  status = ask_daemon(context, &create, &group->number);
  sfc_counters_unblock(&context->counters);
  if (status != SF_OK)
    goto err_free;
  pthread_mutex_lock(&context->lock);
  group->next = context->groups;
  context->groups = group;
  pthread_mutex_unlock(&context->lock);
  *group_p = group;
  return SF_OK;

err_free:
  free(copy);
  free(group);
  return status;
}

static void free_group(sf_group_t *group)
{
  free(group->ranks);
  free(group);
}

sf_group_t *sfc_group_hold(sf_group_t *group)
{
  pthread_mutex_lock(&group->context->lock);
  group->nholders++;
  pthread_mutex_unlock(&group->context->lock);
  return group;
}

static void unlink_group(sf_group_t *group)
{
  sf_group_t **link = &group->context->groups;
  while (*link != NULL && *link != group)
    link = &(*link)->next;
  if (*link != NULL)
    *link = group->next;
}

static void tell_destroyed(sf_group_t *group)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(GROUP_DESTROY, group_destroy, .group = group->number);
  (void)sfc_daemon_tell(&group->context->control, &message, NULL, 0); /* a lost daemon has forgotten the group */
}

void sfc_group_release(sf_group_t *group)
{
  sf_context_t *context = group->context;
  pthread_mutex_lock(&context->lock);
  bool last = --group->nholders == 0 && group != &context->world;
  if (last)
    unlink_group(group);
  pthread_mutex_unlock(&context->lock);
  if (!last)
    return;
  if (group->on_end != NULL)
    group->on_end(group);
  tell_destroyed(group);
  free_group(group);
}

sf_status_t sf_group_destroy(sf_group_t *group)
{
  if (group == NULL)
    return SF_OK;
  sf_status_t status = sfc_context_check(group->context, __func__);
  if (status != SF_OK)
    return status;
  if (group == &group->context->world)
    return sfshm_error(SF_ERR_ARG, "sf_group_destroy: the group of all ranks belongs to the context");
  sfc_group_release(group);
  return SF_OK;
}

void sfc_groups_free(sf_context_t *context)
{
  while (context->groups != NULL) {
    sf_group_t *group = context->groups;
    context->groups = group->next;
    free_group(group);
  }
}

int32_t sf_group_rank(const sf_group_t *group)
{
  return group == NULL ? -1 : group->rank;
}

int32_t sf_group_size(const sf_group_t *group)
{
  return group == NULL ? -1 : group->size;
}
