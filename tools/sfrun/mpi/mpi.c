/* MPI of an mpirun: see mpi.h. Single-threaded. */
#include "tools/sfrun/mpi/mpi.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/sfrun/mpi/mpirun_options.h"
#include "tools/sfrun/process/capture.h"
#include "tools/sfrun/process/process.h"

#define VERSION_TEXT_BYTES 4096

sf_status_t sfrun_mpi_find(const sfrun_options_t *options, char path_p[PATH_MAX])
{
  const char *from_environment = getenv("SFRUN_MPIRUN");
  const char *name = options->mpirun                         ? options->mpirun
                     : from_environment && *from_environment ? from_environment
                                                             : NULL;
  sf_status_t status = sfrun_find_program(name ? name : "mpirun", path_p);
  if (status && name)
    return sfshm_error(status, "mpirun named by %s: %s", options->mpirun ? "--mpirun" : "SFRUN_MPIRUN",
                       sfshm_error_detail());
  if (status)
    return sfshm_error(status, "no mpirun found in PATH: install Open MPI or MPICH, name one by --mpirun or "
                               "SFRUN_MPIRUN, or use --launcher local");
  return SF_OK;
}

sfrun_mpi_t sfrun_mpi_recognise(const char *version_text)
{
  if (strstr(version_text, "Intel(R) MPI"))
    return SFRUN_MPI_INTEL;
  if (strstr(version_text, "Open MPI") || strstr(version_text, "OpenRTE") || strstr(version_text, "open-mpi.org"))
    return SFRUN_MPI_OPEN_MPI;
  if (strstr(version_text, "HYDRA"))
    return SFRUN_MPI_HYDRA;
  return SFRUN_MPI_UNKNOWN;
}

const char *sfrun_mpi_name(sfrun_mpi_t mpi)
{
  switch (mpi) {
  case SFRUN_MPI_OPEN_MPI:
    return "Open MPI";
  case SFRUN_MPI_HYDRA:
    return "MPICH (Hydra)";
  case SFRUN_MPI_INTEL:
    return "Intel MPI";
  case SFRUN_MPI_UNKNOWN:
    break;
  }
  return "unknown MPI";
}

sf_status_t sfrun_mpi_detect(const char *path, sfrun_mpi_t *mpi_p)
{
  char *text = NULL;
  bool ok = false;
  sf_status_t status =
      sfrun_capture((const char *const[]){path, "--version", NULL}, true, VERSION_TEXT_BYTES, &text, &ok);
  if (!status)
    *mpi_p = sfrun_mpi_recognise(text);
  free(text);
  return status;
}

static bool user_has(const sfrun_options_t *options, const char *const names[])
{
  return sfrun_mpirun_options_have(options->mpirun_args, options->nmpirun_args, names);
}

static bool nodes_are_named(const sfrun_options_t *options)
{
  static const char *const names[] = {"H",           "host",       "hosts", "hostfile", "default-hostfile",
                                      "machinefile", "configfile", "app",   "f",        NULL};
  static const char *const variables[] = {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE",
                                          "PE_HOSTFILE"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (getenv(variables[i]))
      return true;
  return options->hostfile || user_has(options, names);
}

static void add(sfrun_mpi_additions_t *additions, const char *arg)
{
  additions->args[additions->nargs++] = arg;
}

static void add_for_oversubscription(sfrun_mpi_additions_t *additions, const sfrun_options_t *options,
                                     sfrun_cpus_t cpus)
{
  static const char *const slots[] = {"oversubscribe", "nooversubscribe", NULL};
  static const char *const binding[] = {"bind-to", "bind-to-core", "bind-to-socket", "cpu-set", "cpu-list", NULL};
  additions->oversubscribed = true;
  if (!user_has(options, slots))
    add(additions, "--oversubscribe");
  if (!user_has(options, binding)) {
    add(additions, "--bind-to");
    add(additions, "none");
  }
  additions->yield = options->nranks > cpus.ncpus && !getenv("OMPI_MCA_mpi_yield_when_idle");
}

sfrun_mpi_additions_t sfrun_mpi_additions(sfrun_mpi_t mpi, const sfrun_options_t *options, bool root, sfrun_cpus_t cpus)
{
  static const char *const allow_root[] = {"allow-run-as-root", NULL};
  sfrun_mpi_additions_t additions = {.nargs = 0};
  if (mpi != SFRUN_MPI_OPEN_MPI)
    return additions;
  bool root_allowed = getenv("OMPI_ALLOW_RUN_AS_ROOT") && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
  if (root && !root_allowed && !user_has(options, allow_root)) {
    additions.as_root = true;
    add(&additions, "--allow-run-as-root");
  }
  if (options->nranks > cpus.ncores && !nodes_are_named(options))
    add_for_oversubscription(&additions, options, cpus);
  return additions;
}
