/* Plugins: see plugin.h. */
#include "daemon/net/fabric/plugin.h"

#include <dlfcn.h>
#include <stdio.h>

#include "shm/base/error.h"
#include "shm/base/plugin.h"

#define MPI_LIBRARY "libsfd_mpi.so"
#define MUNGE_LIBRARY "libsfd_munge.so"

typedef sf_status_t create_t(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p);
typedef const char *detail_t(void);

/* what: name of the library in errors; scope: RTLD_LOCAL or RTLD_GLOBAL. */
static sf_status_t open_library(const char *dir, const char *name, int scope, const char *what, char path[PATH_MAX],
                                void **library_p)
{
  if (dir != NULL && dir[0] != '\0')
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
  else
    (void)sfshm_plugin_find(name, (const void *)open_library, path);
  *library_p = dlopen(path, RTLD_NOW | scope);
  return *library_p != NULL ? SF_OK : sfshm_error(SF_ERR_UNSUPPORTED, "cannot load %s: %s", what, dlerror());
}

sf_status_t sfd_plugin_mpi_fabric(const char *dir, uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p)
{
  char path[PATH_MAX];
  void *library;
  /* Global, as components of MPI libraries need the library's symbols. */
  sf_status_t status = open_library(dir, MPI_LIBRARY, RTLD_GLOBAL, "the mpi fabric", path, &library);
  if (status != SF_OK)
    return status;
  create_t *create = (create_t *)dlsym(library, "sfd_mpi_fabric_create");
  detail_t *detail = (detail_t *)dlsym(library, "sfd_mpi_fabric_detail");
  if (create == NULL || detail == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s is no mpi fabric of this sfd: %s", path, dlerror());
  status = create(loop, argc, argv, fabric_p);
  return status == SF_OK ? SF_OK
                         : sfshm_error(status, "mpi fabric: %s", detail()); /* the library has its own sfshm_error */
}

sf_status_t sfd_plugin_munge(const char *dir, const sfd_munge_t **munge_p)
{
  char path[PATH_MAX];
  void *library;
  sf_status_t status = open_library(dir, MUNGE_LIBRARY, RTLD_LOCAL, "what asks MUNGE", path, &library);
  if (status != SF_OK)
    return status;
  const sfd_munge_t *munge = dlsym(library, "sfd_munge");
  if (munge == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s does not ask MUNGE for this sfd: %s", path, dlerror());
  *munge_p = munge;
  return SF_OK;
}
