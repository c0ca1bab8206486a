#include "daemon/base/id_map.h"

#include <search.h>
#include <stddef.h>

static int compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void *sfd_id_map_find(void *root, uint64_t key)
{
  void *const *node = tfind(&key, &root, compare);
  return node != NULL ? *node : NULL;
}

bool sfd_id_map_insert(void **root, void *object)
{
  return tsearch(object, root, compare) != NULL;
}

void sfd_id_map_remove(void **root, void *object)
{
  tdelete(object, root, compare);
}
