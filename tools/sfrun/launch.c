/* Starting the program: under mpirun, or its ranks directly. Single-threaded. */
#include "tools/sfrun/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/error.h"
#include "tools/sfrun/mpirun_options.h"
#include "tools/sfrun/process.h"

#define VARIABLE_PREFIX "SF_"

static bool is_forwarded(const char *variable)
{
  return strncmp(variable, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0;
}

static size_t count_words(char *const words[])
{
  size_t nwords = 0;
  while (words[nwords])
    nwords++;
  return nwords;
}

/* Open MPI gives ranks on other nodes only variables that -x names. It refuses -x beside its parameter
 * mca_base_env_list; whoever uses that lists these there. */
static bool needs_forwarding(const sfrun_launch_t *launch)
{
  bool listed = getenv("OMPI_MCA_mca_base_env_list") != NULL;
  for (int i = 0; i < launch->options->nmpirun_args; i++)
    listed = listed || strcmp(launch->options->mpirun_args[i], "mca_base_env_list") == 0;
  return launch->mpi == SFRUN_MPI_OPEN_MPI && !listed;
}

/* Adds -x NAME for each variable of ours; returns where the next argument goes. The names are copied to text. */
static const char **add_forwarded(const char **arg, char *text)
{
  for (char *const *variable = environ; *variable; variable++) {
    if (!is_forwarded(*variable))
      continue;
    size_t len_bytes = strcspn(*variable, "=");
    *arg++ = "-x";
    *arg++ = memcpy(text, *variable, len_bytes);
    text[len_bytes] = '\0';
    text += len_bytes + 1;
  }
  return arg;
}

/* mpirun's argument list, one allocation: pointers, then the names of the forwarded variables. */
static const char **build_arguments(const sfrun_launch_t *launch)
{
  const sfrun_options_t *options = launch->options;
  const sfrun_mpi_additions_t *additions = &launch->additions;
  size_t nwords = count_words(options->program), nforwarded = 0, text_bytes = 0;
  for (char *const *variable = environ; *variable; variable++)
    if (is_forwarded(*variable)) {
      nforwarded++;
      text_bytes += strlen(*variable) + 1;
    }
  size_t npointers = 1 + (size_t)additions->nargs + 2 * nforwarded + (size_t)options->nmpirun_args + nwords + 1;
  const char **args = calloc(1, npointers * sizeof *args + text_bytes);
  if (!args)
    return NULL;

  const char **arg = args;
  *arg++ = launch->mpirun_path;
  for (int i = 0; i < additions->nargs; i++)
    *arg++ = additions->args[i];
  if (needs_forwarding(launch))
    arg = add_forwarded(arg, (char *)(args + npointers));
  for (int i = 0; i < options->nmpirun_args; i++)
    *arg++ = options->mpirun_args[i];
  memcpy(arg, options->program, nwords * sizeof *arg);
  return args;
}

/* mpirun itself looks on other nodes and in other directories; here only what is here is checked, because its own
 * message is long and comes once per rank. */
static sf_status_t check_program(const sfrun_options_t *options, char path[PATH_MAX])
{
  static const char *const elsewhere[] = {"H",  "host", "hosts", "hostfile", "machinefile", "f",
                                          "wd", "wdir", "path",  "app",      "configfile",  NULL};
  if (options->launcher == SFRUN_LAUNCHER_MPIRUN &&
      sfrun_mpirun_options_have(options->mpirun_args, options->nmpirun_args, elsewhere))
    return SF_OK;
  return sfrun_find_program(options->program[0], path);
}

static void say_what_is_added(const sfrun_launch_t *launch, sfrun_cpus_t cpus)
{
  const sfrun_mpi_additions_t *additions = &launch->additions;
  if (!additions->nargs && !additions->yield)
    return;
  fprintf(stderr, "sfrun: %s%s", sfrun_mpi_name(launch->mpi), additions->as_root ? " as root" : "");
  if (additions->oversubscribed)
    fprintf(stderr, "%s %d ranks on %d cores", additions->as_root ? "," : " with", launch->options->nranks,
            cpus.ncores);
  fputs(": adding", stderr);
  for (int i = 0; i < additions->nargs; i++)
    fprintf(stderr, " %s", additions->args[i]);
  fprintf(stderr, "%s\n", additions->yield ? " OMPI_MCA_mpi_yield_when_idle=1" : "");
}

static sf_status_t prepare_mpirun(const sfrun_options_t *options, sfrun_launch_t *launch)
{
  sf_status_t status = sfrun_mpi_find(options, launch->mpirun_path);
  if (!status)
    status = sfrun_mpi_detect(launch->mpirun_path, &launch->mpi);
  if (status)
    return status;
  sfrun_cpus_t cpus = sfrun_cpus_count();
  launch->additions = sfrun_mpi_additions(launch->mpi, options, geteuid() == 0, cpus);
  if (launch->mpi == SFRUN_MPI_UNKNOWN && !options->quiet)
    fprintf(stderr, "sfrun: %s: which MPI this is can't be told from its --version; adding nothing\n",
            launch->mpirun_path);
  if (!options->quiet)
    say_what_is_added(launch, cpus);
  return SF_OK;
}

sf_status_t sfrun_launch_prepare(const sfrun_options_t *options, sfrun_launch_t *launch)
{
  launch->options = options;
  sf_status_t status = check_program(options, launch->program_path);
  if (!status && options->launcher == SFRUN_LAUNCHER_MPIRUN)
    status = prepare_mpirun(options, launch);
  return status;
}

static sf_status_t start_mpirun(const sfrun_launch_t *launch, sfrun_children_t *children)
{
  if (launch->additions.yield)
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  const char **args = build_arguments(launch);
  if (!args)
    return sfshm_error(SF_ERR_NOMEM, "no memory for mpirun's arguments");
  sfrun_command_t command = {.path = launch->mpirun_path,
                             .argv = args,
                             .death_signal = SIGTERM, /* so that mpirun ends its ranks */
                             .own_group = children->own_groups,
                             .stdin_fd = -1,
                             .stdout_fd = -1,
                             .stderr_fd = -1,
                             .kept_fd = -1};
  sf_status_t status = sfrun_spawn(&command, &children->pids[0]);
  free(args);
  return status;
}

/* As under mpirun, only rank 0 reads standard input. */
static sf_status_t start_rank(const sfrun_launch_t *launch, int32_t rank, int null_fd, sfrun_children_t *children)
{
  char rank_text[32], size_text[32];
  snprintf(rank_text, sizeof rank_text, "SF_RANK=%d", rank);
  snprintf(size_text, sizeof size_text, "SF_SIZE=%d", children->nchildren);
  sfrun_command_t command = {.path = launch->program_path,
                             .argv = (const char *const *)launch->options->program,
                             .variables = (char *const[]){rank_text, size_text, NULL},
                             .death_signal = SIGKILL,
                             .own_group = children->own_groups,
                             .stdin_fd = rank ? null_fd : -1,
                             .stdout_fd = -1,
                             .stderr_fd = -1,
                             .kept_fd = -1};
  return sfrun_spawn(&command, &children->pids[rank]);
}

static sf_status_t start_ranks(const sfrun_launch_t *launch, sfrun_children_t *children)
{
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sf_status_t status = SF_OK;
  for (int32_t rank = 0; rank < children->nchildren && !status; rank++)
    status = start_rank(launch, rank, null_fd, children);
  close(null_fd);
  if (status)
    sfrun_kill_children(children);
  return status;
}

sf_status_t sfrun_launch_start(const sfrun_launch_t *launch, sfrun_children_t *children)
{
  const sfrun_options_t *options = launch->options;
  bool are_ranks = options->launcher == SFRUN_LAUNCHER_LOCAL;
  *children = (sfrun_children_t){.nchildren = are_ranks ? options->nranks : 1,
                                 .are_ranks = are_ranks,
                                 .own_groups = sfrun_want_own_groups(),
                                 .grace_ms = options->grace_ms,
                                 .first_bad = -1};
  children->pids = calloc((size_t)children->nchildren, sizeof *children->pids);
  if (!children->pids)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %d ranks", children->nchildren);
  return are_ranks ? start_ranks(launch, children) : start_mpirun(launch, children);
}

void sfrun_children_free(sfrun_children_t *children)
{
  free(children->pids);
  children->pids = NULL;
}
