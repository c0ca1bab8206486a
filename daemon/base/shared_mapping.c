/* Counted mappings: see shared_mapping.h. The daemon's thread. */
#include "daemon/base/shared_mapping.h"

#include <stdlib.h>

sfd_shared_mapping_t *sfd_shared_mapping_create(const sfshm_region_t *region)
{
  sfd_shared_mapping_t *mapping = malloc(sizeof *mapping);
  if (mapping != NULL)
    *mapping = (sfd_shared_mapping_t){.uses = 1, .region = *region};
  return mapping;
}

sfd_shared_mapping_t *sfd_shared_mapping_hold(sfd_shared_mapping_t *mapping)
{
  if (mapping != NULL)
    mapping->uses++;
  return mapping;
}

void sfd_shared_mapping_release(sfd_shared_mapping_t *mapping)
{
  if (mapping == NULL || --mapping->uses > 0)
    return;
  sfshm_region_destroy(&mapping->region);
  free(mapping);
}
