/* Which MPI an mpirun belongs to, and what that needs here. Single-threaded. */
#include "tools/sfrun/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/error.h"
#include "tools/sfrun/mpirun_options.h"
#include "tools/sfrun/process.h"

#define VERSION_TIMEOUT_MS 30000
#define VERSION_TEXT_BYTES 4096
#define END_TIMEOUT_MS 1000

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

/* Reads until end of file, a full buffer, or the time-out; always ends the text. */
static void read_text(int fd, char *text, size_t size_bytes)
{
  int64_t deadline_ms = sfrun_now_ms() + VERSION_TIMEOUT_MS;
  size_t length = 0;
  while (length < size_bytes - 1) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    int64_t left_ms = deadline_ms - sfrun_now_ms();
    if (left_ms <= 0 || poll(&pollfd, 1, (int)left_ms) <= 0)
      break;
    ssize_t nread = read(fd, text + length, size_bytes - 1 - length);
    if (nread <= 0)
      break;
    length += (size_t)nread;
  }
  text[length] = '\0';
}

sf_status_t sfrun_mpi_detect(const char *path, sfrun_mpi_t *mpi_p)
{
  char text[VERSION_TEXT_BYTES];
  bool killed = false;
  pid_t pid = 0;
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "pipe for %s --version", path);
  int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  sfrun_command_t command = {.path = path,
                             .argv = (const char *const[]){path, "--version", NULL},
                             .death_signal = SIGKILL,
                             .stdin_fd = null_fd,
                             .stdout_fd = out[1],
                             .stderr_fd = out[1],
                             .kept_fd = -1};
  sf_status_t status = sfrun_spawn(&command, &pid);
  close(out[1]);
  if (!status) {
    read_text(out[0], text, sizeof text);
    int wait_status = 0;
    if (!sfrun_wait_for(pid, END_TIMEOUT_MS, &wait_status))
      sfrun_end_child(pid, END_TIMEOUT_MS, &killed);
    *mpi_p = sfrun_mpi_recognise(text);
  }
  close(out[0]);
  close(null_fd);
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
  return user_has(options, names);
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
