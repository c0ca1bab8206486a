/* A daemon under mpirun. Single-threaded; sleeps while the daemon runs. */
#include "tools/sfrun/as_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/core.h"
#include "shm/base/error.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/hosts/keys.h"
#include "tools/sfrun/process/outlive.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/process/signals.h"

#define STOP_TIMEOUT_MS 5000
#define ADDED_WORDS 4 /* --socket PATH --ready-fd N */

typedef struct agent {
  const char *directory;
  bool made;      /* the directory was created here */
  int32_t nlocal; /* daemons in it */
  char socket[SFRUN_SOCKET_BYTES];
  char **sfd; /* path and arguments */
  int nsfd;
  int signal_fd;
  int ready_fd; /* sfd reports readiness here */
  pid_t pid;    /* of sfd; 0: not running */
} agent_t;

/* ---- What the daemon needs ---- */

static sf_status_t parse(int argc, char *argv[], agent_t *agent)
{
  if (argc <= SFRUN_AS_DAEMON_WORDS || strcmp(argv[4], "--") != 0 || argv[2][0] != '/')
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_DAEMON " is for sfrun's own use");
  long nlocal = strtol(argv[3], NULL, 10);
  if (nlocal < 1 || nlocal > SFRUN_MAX_NODES)
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_DAEMON ": \"%s\" daemons", argv[3]);
  if (strlen(argv[2]) + sizeof "/" SFRUN_LONGEST_SOCKET > SFRUN_SOCKET_BYTES)
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_DAEMON ": directory \"%s\" is too long", argv[2]);
  agent->directory = argv[2];
  agent->nlocal = (int32_t)nlocal;
  agent->sfd = argv + SFRUN_AS_DAEMON_WORDS;
  agent->nsfd = argc - SFRUN_AS_DAEMON_WORDS;
  return SF_OK;
}

static sf_status_t make_directory(agent_t *agent)
{
  if (agent->nlocal > 1)
    return SF_OK;
  if (mkdir(agent->directory, 0700) == 0) {
    agent->made = true;
    return SF_OK;
  }
  if (errno == EEXIST)
    return sfshm_error(SF_ERR_EXISTS,
                       "%s exists already: if hosts share its parent, set TMPDIR to a directory that "
                       "each host has for itself",
                       agent->directory);
  return sfshm_error_errno(SF_ERR_SYS, "%s can't be made; set TMPDIR to a directory that each host has",
                           agent->directory);
}

/* Daemons that share a directory are numbered by their rank under mpirun; variables of a surrounding job are ignored.
 * */
static sf_status_t choose_socket(agent_t *agent)
{
  sfc_identity_t identity = {.rank = 0};
  sf_init_options_t options = SF_INIT_OPTIONS_DEFAULT;
  options.job = "daemons"; /* no launcher needs a name */
  unsetenv("SF_RANK");
  unsetenv("SF_SIZE");
  sf_status_t status = agent->nlocal > 1 ? sfc_identity_resolve(&options, &identity) : SF_OK;
  if (!status && identity.rank >= agent->nlocal)
    status = sfshm_error(SF_ERR_ARG, SFRUN_AS_DAEMON ": rank %d of %d daemons", identity.rank, agent->nlocal);
  if (!status)
    sfrun_socket_path(agent->directory, identity.rank, agent->nlocal, agent->socket);
  return status;
}

/* ---- The daemon ---- */

static sf_status_t spawn_sfd(agent_t *agent, int ready_fd)
{
  char ready[16];
  const char **args = calloc((size_t)agent->nsfd + ADDED_WORDS + 1, sizeof *args);
  if (!args)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the daemon's arguments");
  snprintf(ready, sizeof ready, "%d", ready_fd);
  const char *const added[] = {"--socket", agent->socket, "--ready-fd", ready};
  memcpy(args, agent->sfd, (size_t)agent->nsfd * sizeof *args);
  for (int i = 0; i < ADDED_WORDS; i++)
    args[agent->nsfd + i] = added[i];
  sfrun_command_t command = {.path = agent->sfd[0],
                             .argv = args,
                             .death_signal = SIGTERM,
                             .own_group = true,
                             .stdin_fd = -1,
                             .stdout_fd = STDERR_FILENO,
                             .stderr_fd = -1,
                             .kept_fds = {ready_fd}};
  sf_status_t status = sfrun_spawn(&command, &agent->pid);
  free(args);
  return status;
}

static const char *host_name(void)
{
  static char name[65] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/* Returns whether a signal asks to end; reports the end of the daemon. */
static bool take_signals(agent_t *agent)
{
  bool end = false;
  int wait_status = 0;
  for (struct signalfd_siginfo info; sfrun_signals_take(agent->signal_fd, &info);)
    end = end || sfrun_signals_ends((int)info.ssi_signo) || info.ssi_signo == SFRUN_END_SIGNAL;
  if (!end && agent->pid && waitpid(agent->pid, &wait_status, WNOHANG) == agent->pid) {
    agent->pid = 0;
    fprintf(stderr, "sfrun: sfd on %s ended before the program (%s)\n", host_name(), sfrun_describe_end(wait_status));
  }
  return end;
}

/* *go_on_p: ready, and no signal asks to end. */
static sf_status_t wait_until_ready(agent_t *agent, int fd, bool *go_on_p)
{
  for (;;) {
    struct pollfd pollfds[] = {{.fd = fd, .events = POLLIN}, {.fd = agent->signal_fd, .events = POLLIN}};
    poll(pollfds, 2, -1);
    char byte;
    if (pollfds[0].revents) {
      *go_on_p = read(fd, &byte, 1) == 1;
      return *go_on_p ? SF_OK
                      : sfshm_error(SF_ERR_NO_DAEMON, "%s on %s ended before it was ready", agent->sfd[0], host_name());
    }
    *go_on_p = false;
    if (take_signals(agent))
      return SF_OK;
  }
}

/* ready_fd stays open, as a daemon that is told to end while it starts may still write to it. */
static sf_status_t start(agent_t *agent, bool *go_on_p)
{
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "pipe to the daemon");
  agent->ready_fd = ready[0];
  sf_status_t status = spawn_sfd(agent, ready[1]);
  close(ready[1]);
  return status ? status : wait_until_ready(agent, ready[0], go_on_p);
}

static sf_status_t prepare(agent_t *agent)
{
  sf_status_t status = make_directory(agent);
  if (!status)
    status = sfrun_key_take(agent->directory);
  if (!status)
    status = choose_socket(agent);
  return status;
}

/* One write, as other hosts write lines, too. */
static sf_status_t tell(const char *what)
{
  char line[128];
  int length = snprintf(line, sizeof line, "%s%s\n", what, host_name());
  return write(STDOUT_FILENO, line, (size_t)length) == length ? SF_OK
                                                              : sfshm_error_errno(SF_ERR_SYS, "standard output");
}

sf_status_t sfrun_as_daemon(int argc, char *argv[])
{
  agent_t agent = {.ready_fd = -1};
  bool go_on = false;
  sf_status_t status = parse(argc, argv, &agent);
  if (!status)
    status = sfrun_outlive(&agent.signal_fd);
  if (!status)
    status = prepare(&agent);
  if (!status)
    status = start(&agent, &go_on);
  if (go_on)
    status = tell(SFRUN_READY_LINE);
  else if (status)
    (void)tell(SFRUN_FAILED_LINE);
  while (go_on && !status && !take_signals(&agent)) {
    struct pollfd pollfd = {.fd = agent.signal_fd, .events = POLLIN};
    poll(&pollfd, 1, -1);
  }
  sfrun_end_children(&agent.pid, 1, SIGTERM, STOP_TIMEOUT_MS);
  close(agent.ready_fd);
  if (agent.made)
    sfrun_directory_remove(agent.directory);
  return status;
}
