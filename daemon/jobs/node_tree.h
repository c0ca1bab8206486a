/* Tree of a group's nodes. Every node but the root, the first one, has a parent; a node has at most SFD_TREE_CHILDREN
 * children. */
#ifndef SFD_JOBS_NODE_TREE_H
#define SFD_JOBS_NODE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs/group.h"

static inline int32_t sfd_tree_first_child(const sfd_group_t *group)
{
  return SFD_TREE_CHILDREN * group->node_position + 1;
}

/* Children of this node: nodes[sfd_tree_first_child] and those after it. */
static inline int32_t sfd_tree_nchildren(const sfd_group_t *group)
{
  int32_t n = group->nnodes - sfd_tree_first_child(group);
  return n < 0 ? 0 : n < SFD_TREE_CHILDREN ? n : SFD_TREE_CHILDREN;
}

static inline uint8_t sfd_tree_all_children(const sfd_group_t *group)
{
  return (uint8_t)((1u << sfd_tree_nchildren(group)) - 1);
}

/* Index of the child that is that node; -1: none. */
static inline int32_t sfd_tree_child(const sfd_group_t *group, int32_t node)
{
  for (int32_t i = 0; i < sfd_tree_nchildren(group); i++)
    if (group->nodes[sfd_tree_first_child(group) + i] == node)
      return i;
  return -1;
}

/* -1: this node is the root. */
static inline int32_t sfd_tree_parent(const sfd_group_t *group)
{
  return group->node_position > 0 ? group->nodes[(group->node_position - 1) / SFD_TREE_CHILDREN] : -1;
}

#endif
