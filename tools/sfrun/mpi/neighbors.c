/* Library to preload into MPI programs: see neighbors.h. Single-threaded. */
#include "tools/sfrun/mpi/neighbors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/error.h"

static const char *library_of(sfrun_mpi_t mpi)
{
  switch (mpi) {
  case SFRUN_MPI_OPEN_MPI:
    return "libsfclient_pmpi.so";
  case SFRUN_MPI_HYDRA:
    return "libsfclient_pmpi_mpich.so";
  case SFRUN_MPI_INTEL:
  case SFRUN_MPI_UNKNOWN:
    break;
  }
  return NULL;
}

/* Whether there is such a file. FOLDER/PLACE/NAME. */
static bool look(const char *folder, const char *place, const char *name, char path_p[PATH_MAX])
{
  char path[3 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s/%s", folder, place, name);
  return realpath(path, path_p) != NULL;
}

bool sfrun_library_find(const char *name, char path_p[PATH_MAX])
{
  char folder[PATH_MAX], lib[PATH_MAX + sizeof "/../lib"];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (length <= 0)
    return false;
  folder[length] = '\0';
  *strrchr(folder, '/') = '\0';
  if (look(folder, ".", name, path_p) || look(folder, "../lib", name, path_p) || look(folder, "../lib64", name, path_p))
    return true;
  snprintf(lib, sizeof lib, "%s/../lib", folder);
  DIR *parts = opendir(lib);
  bool found = false;
  for (struct dirent *part; parts != NULL && !found && (part = readdir(parts)) != NULL;)
    found = part->d_name[0] != '.' && look(lib, part->d_name, name, path_p);
  if (parts != NULL)
    closedir(parts);
  return found;
}

sf_status_t sfrun_neighbors_preload(sfrun_mpi_t mpi, char variable_p[SFRUN_PRELOAD_BYTES])
{
  char path[PATH_MAX];
  const char *name = library_of(mpi), *others = getenv("LD_PRELOAD");
  if (name == NULL)
    return sfshm_error(SF_ERR_UNSUPPORTED, "--neighbors: mpirun is of %s, there are libraries for Open MPI and MPICH",
                       sfrun_mpi_name(mpi));
  if (!sfrun_library_find(name, path))
    return sfshm_error(SF_ERR_NOT_FOUND, "--neighbors: no %s beside sfrun, or in ../lib from there", name);
  bool more = others != NULL && *others != '\0';
  int bytes = snprintf(variable_p, SFRUN_PRELOAD_BYTES, "LD_PRELOAD=%s%s%s", path, more ? ":" : "", more ? others : "");
  if (bytes >= SFRUN_PRELOAD_BYTES)
    return sfshm_error(SF_ERR_ARG, "--neighbors: LD_PRELOAD is too long");
  return SF_OK;
}
