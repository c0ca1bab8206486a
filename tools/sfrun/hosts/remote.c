/* Remote daemons: see remote.h. "sfrun --as-daemon" gets its list of peers on the command line; for the key see keys.h.
 * Single-threaded; blocks while daemons start. */
#include "tools/sfrun/hosts/remote.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfrun/as_daemon.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/hosts/keys.h"
#include "tools/sfrun/mpi/mpirun_options.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/sfd_command.h"
#include "tools/sfrun/words.h"

#define READY_TIMEOUT_MS 60000
#define END_TIMEOUT_MS 5000
#define LINE_BYTES 1024
#define SFD_VARIABLE "SFD_"
/* below Linux' ports of outgoing connections */
#define FIRST_PORT 20000
#define PORTS 12000

typedef struct remote {
  const sfrun_launch_t *launch;
  const sfrun_options_t *options;
  sfrun_words_t words; /* of mpirun */
  bool hand_over;      /* the daemons' key */
} remote_t;

/* ---- What identifies these daemons ---- */

/* Whether shells need not quote it. */
static bool is_plain(const char *path)
{
  return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-")] == '\0';
}

/* The same on all hosts, and not predictable. */
static sf_status_t choose_directory(sfrun_daemons_t *daemons)
{
  const char *base = getenv("TMPDIR");
  uint64_t random = 0;
  if (!base || *base != '/' || !is_plain(base) ||
      strlen(base) + sizeof "/sfrun-0123456789abcdef/" SFRUN_LONGEST_SOCKET > SFRUN_SOCKET_BYTES)
    base = "/tmp";
  sf_status_t status = sfrun_random(&random, sizeof random);
  if (!status)
    snprintf(daemons->socket_directory, sizeof daemons->socket_directory, "%.80s/sfrun-%016" PRIx64, base, random);
  return status;
}

static sf_status_t choose_port(const sfrun_options_t *options, unsigned *port_p)
{
  uint32_t random = 0;
  sf_status_t status = options->port ? SF_OK : sfrun_random(&random, sizeof random);
  *port_p = options->port ? (unsigned)options->port : FIRST_PORT + random % PORTS;
  return status;
}

/* ---- The command ---- */

/* The user's options on how mpirun starts processes on hosts. */
static void add_users_options(remote_t *remote)
{
  static const char *const about_starting[] = {"mca",   "gmca",      "prefix", "launcher", "launcher-exec",
                                               "iface", "bootstrap", "rmk",    NULL};
  const char *const *args = remote->options->mpirun_args;
  for (int i = 0, nwords = 0; i < remote->options->nmpirun_args; i += nwords) {
    int narguments = sfrun_mpirun_option_arguments(args[i]);
    nwords = narguments > 0 ? narguments + 1 : 1;
    bool wanted = sfrun_mpirun_options_have(&args[i], 1, about_starting);
    if (wanted && nwords == 3 && strcmp(args[i + 1], "mca_base_env_list") == 0)
      continue;
    for (int word = 0; wanted && word < nwords; word++)
      sfrun_words_add(&remote->words, "%s", args[i + word]);
  }
}

static void add_open_mpi_options(remote_t *remote, const char *hostfile)
{
  sfrun_words_t *words = &remote->words;
  sfrun_words_add(words, "--quiet"); /* it would report the signal that ends the daemons */
  if (remote->launch->additions.as_root)
    sfrun_words_add(words, "--allow-run-as-root");
  for (char *const *variable = environ; *variable; variable++)
    if (strncmp(*variable, SFD_VARIABLE, strlen(SFD_VARIABLE)) == 0) {
      sfrun_words_add(words, "-x");
      sfrun_words_add(words, "%.*s", (int)strcspn(*variable, "="), *variable);
    }
  sfrun_words_add(words, "--bind-to");
  sfrun_words_add(words, "none");
  if (hostfile) {
    sfrun_words_add(words, "--hostfile");
    sfrun_words_add(words, "%s", hostfile);
    sfrun_words_add(words, "--map-by");
    sfrun_words_add(words, "ppr:1:node");
  } else
    sfrun_words_add(words, "--oversubscribe");
}

/* Hydra passes the whole environment by its own connections. */
static void add_hydra_options(remote_t *remote, const char *hostfile)
{
  if (!hostfile)
    return;
  sfrun_words_add(&remote->words, "-f");
  sfrun_words_add(&remote->words, "%s", hostfile);
  sfrun_words_add(&remote->words, "-ppn");
  sfrun_words_add(&remote->words, "1");
}

static sf_status_t add_peers(remote_t *remote)
{
  const sfrun_hosts_t *hosts = &remote->launch->hosts;
  unsigned port = 0;
  sf_status_t status = choose_port(remote->options, &port);
  size_t line_bytes = sizeof hosts->hosts->name + 8, length = 0;
  char *list = malloc((size_t)hosts->count * line_bytes);
  if (!list)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a list of %d hosts", hosts->count);
  for (int32_t i = 0; i < hosts->count; i++)
    length += (size_t)snprintf(list + length, line_bytes, "%s%s:%u", i ? "," : "", hosts->hosts[i].name, port);
  sfrun_words_add(&remote->words, "--peers");
  sfrun_words_add(&remote->words, "%s", list);
  free(list);
  return status;
}

static sf_status_t add_sfd(remote_t *remote, const sfrun_daemons_t *daemons)
{
  char path[PATH_MAX];
  const char **args = NULL, *const none[] = {NULL};
  bool alone = remote->launch->hosts.count == 1;
  sf_status_t status = sfrun_sfd_find(remote->options, path);
  if (!status)
    status = sfrun_sfd_arguments(remote->options, none, &args);
  if (status)
    return status;
  sfrun_words_add(&remote->words, "%s", path);
  if (!alone) {
    sfrun_words_add(&remote->words, "--fabric");
    sfrun_words_add(&remote->words, remote->options->fabric == SFRUN_FABRIC_MPI ? "mpi" : "tcp");
  }
  if (!alone && remote->options->fabric == SFRUN_FABRIC_TCP)
    status = add_peers(remote);
  if (!remote->launch->hosts.count || remote->hand_over) {
    sfrun_words_add(&remote->words, "--peer-key");
    sfrun_words_add(&remote->words, "%s/" SFRUN_KEY_NAME, daemons->socket_directory);
  }
  for (const char **arg = args + 1; *arg; arg++)
    sfrun_words_add(&remote->words, "%s", *arg);
  free(args);
  return status;
}

static sf_status_t add_self(remote_t *remote, const sfrun_daemons_t *daemons)
{
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0)
    return sfshm_error_errno(SF_ERR_SYS, "where sfrun itself is");
  self[length] = '\0';
  sfrun_words_add(&remote->words, "%s", self);
  sfrun_words_add(&remote->words, SFRUN_AS_DAEMON);
  sfrun_words_add(&remote->words, "%s", daemons->socket_directory);
  sfrun_words_add(&remote->words, "%d", daemons->nlocal);
  sfrun_words_add(&remote->words, "--");
  return add_sfd(remote, daemons);
}

static sf_status_t build_words(remote_t *remote, const sfrun_daemons_t *daemons)
{
  const sfrun_launch_t *launch = remote->launch;
  char hostfile[PATH_MAX];
  bool hosts = launch->hosts.count > 0;
  snprintf(hostfile, sizeof hostfile, "%s/" SFRUN_HOSTFILE, daemons->directory);
  sfrun_words_add(&remote->words, "%s", launch->mpirun_path);
  if (launch->mpi == SFRUN_MPI_OPEN_MPI)
    add_open_mpi_options(remote, hosts ? hostfile : NULL);
  else
    add_hydra_options(remote, hosts ? hostfile : NULL);
  add_users_options(remote);
  sfrun_words_add(&remote->words, "-n");
  sfrun_words_add(&remote->words, "%d", hosts ? launch->hosts.count : daemons->nlocal);
  sf_status_t status = add_self(remote, daemons);
  return status ? status : sfrun_words_check(&remote->words);
}

/* ---- Starting ---- */

static sf_status_t spawn_mpirun(const remote_t *remote, int out_fd, sfrun_daemons_t *daemons)
{
  int log_fd = -1;
  sf_status_t status = sfrun_daemons_open_log(remote->options, &log_fd);
  if (status)
    return status;
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sfrun_command_t command = {.path = remote->launch->mpirun_path,
                             .argv = remote->words.words,
                             .variables = (char *const[]){(char *)"OMPI_MCA_mca_base_env_list", NULL},
                             .death_signal = SIGTERM,
                             .own_group = true,
                             .stdin_fd = null_fd,
                             .stdout_fd = out_fd,
                             .stderr_fd = log_fd};
  status = sfrun_spawn(&command, &daemons->pids[0]);
  if (!status)
    daemons->nprocesses = 1;
  close(null_fd);
  close(log_fd);
  return status;
}

/* After mpirun has ended its output is complete. host: of the daemon that failed, or NULL. */
static sf_status_t describe_failure(const remote_t *remote, const char *host, sfrun_daemons_t *daemons)
{
  bool killed = false, mpi = remote->options->fabric == SFRUN_FABRIC_MPI;
  int wait_status = 0;
  const char *log = remote->options->daemon_log, *where = log ? log : "above";
  const char *reason = mpi ? ": fabric mpi is not available in this sfd for this MPI, or failed" : "";
  if (host)
    sfrun_end_children(daemons->pids, 1, daemons->stop_signal, END_TIMEOUT_MS);
  else if (!sfrun_wait_for(daemons->pids[0], END_TIMEOUT_MS, &wait_status))
    wait_status = sfrun_end_child(daemons->pids[0], END_TIMEOUT_MS, &killed);
  daemons->pids[0] = 0;
  if (host)
    return sfshm_error(SF_ERR_NO_DAEMON, "the daemon on %s did not start%s; the messages are %s%s", host, reason,
                       log ? "in " : "", where);
  return sfshm_error(
      SF_ERR_NO_DAEMON, "%s ended before the daemons were ready (%s)%s; the messages are %s%s%s",
      remote->launch->mpirun_path, sfrun_describe_end(wait_status), reason, log ? "in " : "", where,
      remote->launch->hosts.count > 1 ? ", if any: Open MPI gives none where two of the names are one host" : "");
}

/* Hosts whose daemons are ready. */
typedef struct readiness {
  int32_t nready;
  bool *hosts; /* by index in the list */
} readiness_t;

static sf_status_t describe_timeout(const remote_t *remote, int32_t ndaemons, const readiness_t *readiness)
{
  const sfrun_hosts_t *hosts = &remote->launch->hosts;
  char missing[512] = "";
  size_t length = 0;
  for (int32_t i = 0; i < hosts->count && length < sizeof missing - SFRUN_HOST_BYTES - 8; i++)
    if (!readiness->hosts[i])
      length +=
          (size_t)sprintf(missing + length, "%s%s", length ? ", " : "; nothing has come from ", hosts->hosts[i].name);
  return sfshm_error(SF_ERR_TIMEOUT, "only %d of %d daemons were ready after %d s%s", readiness->nready, ndaemons,
                     READY_TIMEOUT_MS / 1000, missing);
}

/* A line of a daemon, or of a host's login. */
static sf_status_t take_line(const remote_t *remote, const char *line, readiness_t *readiness, sfrun_daemons_t *daemons)
{
  static const char ready[] = SFRUN_READY_LINE, failed[] = SFRUN_FAILED_LINE;
  if (strncmp(line, failed, sizeof failed - 1) == 0)
    return describe_failure(remote, line + sizeof failed - 1, daemons);
  if (strncmp(line, ready, sizeof ready - 1) != 0) {
    fprintf(stderr, "%s\n", line);
    return SF_OK;
  }
  int32_t host = sfrun_hosts_find(&remote->launch->hosts, line + sizeof ready - 1);
  readiness->nready++;
  if (host >= 0)
    readiness->hosts[host] = true;
  return SF_OK;
}

static sf_status_t wait_for_all_with(const remote_t *remote, int32_t ndaemons, int signal_fd, readiness_t *readiness,
                                     sfrun_daemons_t *daemons, int *interrupted_p)
{
  int64_t deadline_ms = sfshm_now_ms() + READY_TIMEOUT_MS;
  char line[LINE_BYTES];
  size_t length = 0;
  while (readiness->nready < ndaemons) {
    bool more = false;
    sf_status_t status =
        sfrun_daemons_wait(daemons->output_fd, signal_fd, deadline_ms, &more, &line[length], interrupted_p);
    if (status == SF_ERR_TIMEOUT)
      status = describe_timeout(remote, ndaemons, readiness);
    else if (!status && !more)
      status = describe_failure(remote, NULL, daemons);
    if (status)
      return status;
    if (line[length] != '\n' && length < sizeof line - 1) {
      length++;
      continue;
    }
    line[length] = '\0';
    length = 0;
    status = take_line(remote, line, readiness, daemons);
    if (status)
      return status;
  }
  return SF_OK;
}

static sf_status_t wait_for_all(const remote_t *remote, int32_t ndaemons, int signal_fd, sfrun_daemons_t *daemons,
                                int *interrupted_p)
{
  readiness_t readiness = {.hosts = calloc((size_t)ndaemons, sizeof *readiness.hosts)};
  if (!readiness.hosts)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a list of %d hosts", ndaemons);
  sf_status_t status = wait_for_all_with(remote, ndaemons, signal_fd, &readiness, daemons, interrupted_p);
  free(readiness.hosts);
  return status;
}

static sf_status_t start(remote_t *remote, int32_t ndaemons, int signal_fd, sfrun_daemons_t *daemons,
                         int *interrupted_p)
{
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "pipe to %s", remote->launch->mpirun_path);
  daemons->output_fd = out[0];
  sf_status_t status = spawn_mpirun(remote, out[1], daemons);
  close(out[1]);
  return status ? status : wait_for_all(remote, ndaemons, signal_fd, daemons, interrupted_p);
}

/* The directory on this host has the list of hosts, and without hosts the sockets, too. */
static sf_status_t prepare(remote_t *remote, sfrun_daemons_t *daemons)
{
  const sfrun_launch_t *launch = remote->launch;
  daemons->what = "mpirun of the daemons";
  daemons->stop_signal = SFRUN_END_SIGNAL;
  daemons->nlocal = launch->hosts.count ? 1 : remote->options->nnodes;
  daemons->pids = calloc(1, sizeof *daemons->pids);
  if (!daemons->pids)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a process");
  sf_status_t status = sfrun_directory_make(daemons->directory);
  strcpy(daemons->socket_directory, daemons->directory);
  if (!status && launch->hosts.count)
    status = choose_directory(daemons);
  if (!status && launch->hosts.count)
    status = sfrun_hosts_write(&launch->hosts, launch->mpi, daemons->directory, SFRUN_HOSTFILE);
  if (!status && !launch->hosts.count)
    status = sfrun_key_write(daemons->directory);
  if (!status)
    status = build_words(remote, daemons);
  return !status && remote->hand_over ? sfrun_keys_hand_over(launch, daemons->socket_directory) : status;
}

/* In a Slurm job hosts have MUNGE, and mpirun needs no remote shell. */
static bool needs_key(const sfrun_launch_t *launch)
{
  return launch->hosts.count > 1 && launch->options->fabric == SFRUN_FABRIC_TCP && launch->options->hostfile &&
         !sfrun_key_is_given(launch->options);
}

sf_status_t sfrun_remote_start(const sfrun_launch_t *launch, int signal_fd, sfrun_daemons_t *daemons,
                               int *interrupted_p)
{
  remote_t remote = {.launch = launch, .options = launch->options, .hand_over = needs_key(launch)};
  int32_t ndaemons = launch->hosts.count ? launch->hosts.count : launch->options->nnodes;
  *interrupted_p = 0;
  sf_status_t status = prepare(&remote, daemons);
  if (!status)
    status = start(&remote, ndaemons, signal_fd, daemons, interrupted_p);
  if (status && remote.hand_over)
    sfrun_keys_take_back(launch, daemons->socket_directory);
  sfrun_words_free(&remote.words);
  return status;
}
