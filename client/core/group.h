/* Groups of ranks. */
#ifndef SFC_CORE_GROUP_H
#define SFC_CORE_GROUP_H

#include "client/core/context.h"

/* Fills in context->world. */
void sfc_group_init_world(sf_context_t *context);

/* Frees the groups that the application did not destroy. */
void sfc_groups_free(sf_context_t *context);

/* References to a group. A graph keeps its group until it ends, also if the application destroys the group. */
sf_group_t *sfc_group_hold(sf_group_t *group);
void sfc_group_release(sf_group_t *group);

/* Job rank of the group's member. */
static inline int32_t sfc_group_job_rank(const sf_group_t *group, int32_t rank)
{
  return group->ranks == NULL ? rank : group->ranks[rank];
}

/* The node of the group's member. */
static inline int32_t sfc_group_node_of(const sf_group_t *group, int32_t rank)
{
  return sfc_context_node_of(group->context, sfc_group_job_rank(group, rank));
}

/* Whether all ranks are on this node; all ranks agree. */
static inline bool sfc_group_is_local(const sf_group_t *group)
{
  return group->spread == 1;
}

#endif
