/* Header of a rank's inbox, its segment 0. */
#ifndef SFSHM_REGION_INBOX_H
#define SFSHM_REGION_INBOX_H

#include "shm/region/region.h"
#include "shm/region/wait.h"

typedef struct sfshm_inbox {
  sfshm_region_header_t header;
  sfshm_wake_t wake;
} sfshm_inbox_t;
_Static_assert(sizeof(sfshm_inbox_t) == 256, "layout version 1");

#endif
