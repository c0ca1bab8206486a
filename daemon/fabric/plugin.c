/* Loading of libraries: see plugin.h. */
#include "daemon/fabric/plugin.h"

#include <dlfcn.h>
#include <stdio.h>

#include "shm/error.h"
#include "shm/plugin.h"

#define MPI_LIBRARY "libsfd_mpi.so"
#define MUNGE_LIBRARY "libsfd_munge.so"

typedef sf_status_t create_t(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p);
typedef const char *detail_t(void);

/* The library's path, even if it is not there. */
static void find_library(const char *dir, const char *name, char path[PATH_MAX])
{
  if (dir != NULL && dir[0] != '\0')
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
  else
    (void)sfshm_plugin_find(name, (const void *)find_library, path);
}

/* Global, because MPI libraries load components that find the library's own functions that way only. */
static sf_status_t load(const char *path, create_t **create_p, detail_t **detail_p)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "cannot load the mpi fabric: %s", dlerror());
  *create_p = (create_t *)dlsym(library, "sfd_mpi_fabric_create");
  *detail_p = (detail_t *)dlsym(library, "sfd_mpi_fabric_detail");
  if (*create_p == NULL || *detail_p == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s is no mpi fabric of this sfd: %s", path, dlerror());
  return SF_OK;
}

sf_status_t sfd_plugin_mpi_fabric(const char *dir, uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p)
{
  char path[PATH_MAX];
  create_t *create = NULL;
  detail_t *detail = NULL;
  find_library(dir, MPI_LIBRARY, path);
  sf_status_t status = load(path, &create, &detail);
  if (status != SF_OK)
    return status;
  status = create(loop, argc, argv, fabric_p);
  return status == SF_OK ? SF_OK : sfshm_error(status, "mpi fabric: %s", detail()); /* it has its own shm/error.c */
}

sf_status_t sfd_plugin_munge(const char *dir, const sfd_munge_t **munge_p)
{
  char path[PATH_MAX];
  find_library(dir, MUNGE_LIBRARY, path);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "cannot load what asks MUNGE: %s", dlerror());
  const sfd_munge_t *munge = dlsym(library, "sfd_munge");
  if (munge == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "%s does not ask MUNGE for this sfd: %s", path, dlerror());
  *munge_p = munge;
  return SF_OK;
}
