/* Call sites: see sf_place.h. Any thread. */
#include "client/core/call_site.h"

#include <stddef.h>

#include <sf/sf.h>

static _Thread_local const char *next_place;

void sf_at(const char *place)
{
  next_place = place;
}

const char *sfc_call_site_next(void)
{
  return next_place;
}

const char *sfc_call_site_take(void)
{
  const char *place = next_place;
  next_place = NULL;
  return place;
}
