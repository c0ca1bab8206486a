/* Error texts and the version, as applications see them. Any thread. */
#include <sf/sf.h>

#include "shm/base/error.h"

#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *sf_strerror(sf_status_t status)
{
  return sfshm_strerror(status);
}

const char *sf_error_detail(void)
{
  return sfshm_error_detail();
}

const char *sf_version(void)
{
  return VERSION_TEXT(SF_VERSION_MAJOR, SF_VERSION_MINOR, SF_VERSION_PATCH);
}
