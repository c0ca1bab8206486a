/* Loading of fabrics: see plugin.h. */
#include "daemon/fabric/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/error.h"

#define MPI_LIBRARY "libsfd_mpi.so"

typedef sf_status_t create_t(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p);
typedef const char *detail_t(void);

/* Where the executable lies; "." if that can't be told. */
static void find_own_dir(char dir[PATH_MAX])
{
  ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
  if (len < 0)
    len = 0;
  dir[len] = '\0';
  char *slash = strrchr(dir, '/');
  if (slash != NULL)
    *slash = '\0';
  else
    strcpy(dir, ".");
}

static bool make_path(char path[PATH_MAX], const char *dir, const char *below)
{
  int len = snprintf(path, PATH_MAX, "%s%s/" MPI_LIBRARY, dir, below);
  return len < PATH_MAX && access(path, R_OK) == 0;
}

/* The library's path, even if it is not there. */
static void find_library(const char *dir, char path[PATH_MAX])
{
  char own[PATH_MAX];
  if (dir != NULL && dir[0] != '\0') {
    make_path(path, dir, "");
    return;
  }
  find_own_dir(own);
  if (!make_path(path, own, ""))
    make_path(path, own, "/../lib/sfd");
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
  find_library(dir, path);
  sf_status_t status = load(path, &create, &detail);
  if (status != SF_OK)
    return status;
  status = create(loop, argc, argv, fabric_p);
  return status == SF_OK ? SF_OK : sfshm_error(status, "mpi fabric: %s", detail()); /* it has its own shm/error.c */
}
