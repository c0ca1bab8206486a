/* Starting the program: see launch.h. Single-threaded. */
#include "tools/sfrun/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "tools/sfrun/job.h"
#include "tools/sfrun/mpi/mpirun_options.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/words.h"

#define VARIABLE_PREFIX "SF_"

static bool is_forwarded(const char *variable)
{
  return strncmp(variable, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0 ||
         strncmp(variable, SFRUN_DEVICE_QUEUES "=", strlen(SFRUN_DEVICE_QUEUES) + 1) == 0;
}

/* Open MPI passes only variables of -x to ranks on other nodes, and refuses -x beside its parameter mca_base_env_list,
 * in which users list them. */
static bool needs_forwarding(const sfrun_launch_t *launch)
{
  bool listed = getenv("OMPI_MCA_mca_base_env_list") != NULL;
  for (int i = 0; i < launch->options->nmpirun_args; i++)
    listed = listed || strcmp(launch->options->mpirun_args[i], "mca_base_env_list") == 0;
  return launch->mpi == SFRUN_MPI_OPEN_MPI && !listed;
}

/* Not in a Slurm job, of which mpirun knows the hosts. */
static void add_hosts(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, sfrun_words_t *words)
{
  static const char *const mapping[] = {"map-by",   "rank-by", "bynode", "byslot",  "npernode", "ppr",
                                        "rankfile", "rf",      "ppn",    "perhost", NULL};
  const sfrun_options_t *options = launch->options;
  bool open_mpi = launch->mpi == SFRUN_MPI_OPEN_MPI;
  if (launch->hosts.count && options->hostfile) {
    sfrun_words_add(words, open_mpi ? "--hostfile" : "-f");
    sfrun_words_add(words, "%s/" SFRUN_HOSTFILE, daemons->directory);
  }
  if (launch->hosts.count && options->distribution == SFRUN_CYCLIC &&
      !sfrun_mpirun_options_have(options->mpirun_args, options->nmpirun_args, mapping)) {
    sfrun_words_add(words, open_mpi ? "--map-by" : "-ppn");
    sfrun_words_add(words, open_mpi ? "node" : "1");
  }
}

/* With several daemons on this host each rank chooses its own. */
static sf_status_t add_wrapper(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, sfrun_words_t *words)
{
  char self[PATH_MAX];
  if (daemons->nlocal < 2)
    return SF_OK;
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0)
    return sfshm_error_errno(SF_ERR_SYS, "where sfrun itself is");
  sfrun_words_add(words, "%.*s", (int)length, self);
  sfrun_words_add(words, SFRUN_AS_RANK);
  sfrun_words_add(words, "%s", sfrun_distribution_name(launch->options->distribution));
  sfrun_words_add(words, "%d", daemons->nlocal);
  sfrun_words_add(words, "%s", daemons->socket_directory);
  sfrun_words_add(words, "--");
  return SF_OK;
}

static sf_status_t build_words(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, sfrun_words_t *words)
{
  const sfrun_options_t *options = launch->options;
  sfrun_words_add(words, "%s", launch->mpirun_path);
  for (int i = 0; i < launch->additions.nargs; i++)
    sfrun_words_add(words, "%s", launch->additions.args[i]);
  for (char *const *variable = environ; needs_forwarding(launch) && *variable; variable++)
    if (is_forwarded(*variable)) {
      sfrun_words_add(words, "-x");
      sfrun_words_add(words, "%.*s", (int)strcspn(*variable, "="), *variable);
    }
  add_hosts(launch, daemons, words);
  for (int i = 0; i < options->nmpirun_args; i++)
    sfrun_words_add(words, "%s", options->mpirun_args[i]);
  sf_status_t status = add_wrapper(launch, daemons, words);
  if (*launch->preload) {
    sfrun_words_add(words, "env");
    sfrun_words_add(words, "%s", launch->preload);
  }
  for (char **word = options->program; *word; word++)
    sfrun_words_add(words, "%s", *word);
  return status ? status : sfrun_words_check(words);
}

/* Checks programs on this host only; mpirun's own message is long, and comes once per rank. */
static sf_status_t check_program(const sfrun_options_t *options, char path[PATH_MAX])
{
  static const char *const elsewhere[] = {"H",  "host", "hosts", "hostfile", "machinefile", "f",
                                          "wd", "wdir", "path",  "app",      "configfile",  NULL};
  if (options->hostfile)
    return SF_OK;
  if (options->launcher == SFRUN_LAUNCHER_MPIRUN &&
      sfrun_mpirun_options_have(options->mpirun_args, options->nmpirun_args, elsewhere))
    return SF_OK;
  return sfrun_options_explain(options, sfrun_find_program(options->program[0], path));
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
  if (options->neighbors)
    status = sfrun_neighbors_preload(launch->mpi, launch->preload);
  if (launch->mpi == SFRUN_MPI_UNKNOWN && !options->quiet)
    fprintf(stderr, "sfrun: %s: which MPI this is can't be told from its --version; adding nothing\n",
            launch->mpirun_path);
  if (!options->quiet)
    say_what_is_added(launch, cpus);
  return status;
}

bool sfrun_launch_has_remote_daemons(const sfrun_launch_t *launch)
{
  const sfrun_options_t *options = launch->options;
  return launch->hosts.count || (options->nnodes > 1 && options->fabric == SFRUN_FABRIC_MPI);
}

/* A Slurm job over several hosts gets daemons on all, unless the user names daemons. */
static sf_status_t find_hosts(const sfrun_options_t *options, sfrun_hosts_t *hosts_p)
{
  const char *given = getenv("SF_SOCKET");
  if (options->hostfile)
    return sfrun_hosts_read(options->hostfile, hosts_p);
  if (options->launcher == SFRUN_LAUNCHER_LOCAL || options->nnodes || (given && *given) || !sfrun_hosts_in_slurm())
    return SF_OK;
  sf_status_t status = sfrun_hosts_from_slurm(hosts_p);
  /* otherwise the program's step would wait for the daemons' to end */
  if (!status && setenv("SLURM_OVERLAP", "1", 0) != 0)
    status = sfshm_error_errno(SF_ERR_SYS, "environment");
  if (!status && !options->quiet)
    fprintf(stderr, "sfrun: Slurm job over %d hosts: a daemon on each, started by mpirun (--nodes 1: only one, here)\n",
            hosts_p->count);
  return status;
}

static sf_status_t check_mpi(const sfrun_launch_t *launch)
{
  if (launch->mpi == SFRUN_MPI_UNKNOWN && sfrun_launch_has_remote_daemons(launch))
    return sfshm_error(SF_ERR_UNSUPPORTED,
                       "%s: of which MPI this is can't be told from its --version, so that it "
                       "can't be told how it starts one daemon on each host",
                       launch->mpirun_path);
  return SF_OK;
}

sf_status_t sfrun_launch_prepare(const sfrun_options_t *options, sfrun_launch_t *launch)
{
  launch->options = options;
  sf_status_t status = check_program(options, launch->program_path);
  if (!status)
    status = find_hosts(options, &launch->hosts);
  if (!status && (options->launcher == SFRUN_LAUNCHER_MPIRUN || sfrun_launch_has_remote_daemons(launch)))
    status = prepare_mpirun(options, launch);
  return status ? status : check_mpi(launch);
}

void sfrun_launch_free(sfrun_launch_t *launch)
{
  sfrun_hosts_free(&launch->hosts);
}

static sf_status_t start_mpirun(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons,
                                sfrun_children_t *children)
{
  sfrun_words_t words = {.nwords = 0};
  if (launch->additions.yield)
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  sf_status_t status = build_words(launch, daemons, &words);
  sfrun_command_t command = {.path = launch->mpirun_path,
                             .argv = words.words,
                             .death_signal = SIGTERM, /* mpirun then ends its ranks */
                             .own_group = children->own_groups,
                             .stdin_fd = -1,
                             .stdout_fd = -1,
                             .stderr_fd = -1};
  if (!status)
    status = sfrun_spawn(&command, &children->pids[0]);
  sfrun_words_free(&words);
  return status;
}

/* Only rank 0 reads standard input, as under mpirun. */
static sf_status_t start_rank(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, int32_t rank, int null_fd,
                              sfrun_children_t *children)
{
  static const char socket_key[] = "SF_SOCKET=";
  char rank_text[32], size_text[32], socket_text[sizeof socket_key + SFRUN_SOCKET_BYTES];
  char *own_socket = daemons->nlocal > 1 ? socket_text : NULL;
  if (own_socket) {
    int32_t node = sfrun_node_of_rank(launch->options->distribution, rank, children->nchildren, daemons->nlocal);
    sfrun_socket_path(daemons->socket_directory, node, daemons->nlocal, stpcpy(socket_text, socket_key));
  }
  snprintf(rank_text, sizeof rank_text, "SF_RANK=%d", rank);
  snprintf(size_text, sizeof size_text, "SF_SIZE=%d", children->nchildren);
  sfrun_command_t command = {.path = launch->program_path,
                             .argv = (const char *const *)launch->options->program,
                             .variables = (char *const[]){rank_text, size_text, own_socket, NULL},
                             .death_signal = SIGKILL,
                             .own_group = children->own_groups,
                             .stdin_fd = rank ? null_fd : -1,
                             .stdout_fd = -1,
                             .stderr_fd = -1};
  return sfrun_spawn(&command, &children->pids[rank]);
}

static sf_status_t start_ranks(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, sfrun_children_t *children)
{
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sf_status_t status = SF_OK;
  for (int32_t rank = 0; rank < children->nchildren && !status; rank++)
    status = start_rank(launch, daemons, rank, null_fd, children);
  close(null_fd);
  if (status)
    sfrun_kill_children(children);
  return status;
}

sf_status_t sfrun_launch_start(const sfrun_launch_t *launch, const sfrun_daemons_t *daemons, sfrun_children_t *children)
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
  return are_ranks ? start_ranks(launch, daemons, children) : start_mpirun(launch, daemons, children);
}

void sfrun_children_free(sfrun_children_t *children)
{
  free(children->pids);
  children->pids = NULL;
}
