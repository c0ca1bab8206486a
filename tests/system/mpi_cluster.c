/* Daemons over MPI: see mpi_cluster.h. Runs in the process of the test. It starts mpirun itself, as sfrun starts ranks:
 * here the daemons are the MPI job. */
#include "tests/system/mpi_cluster.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 20000
#define STOP_MS 20000

/* Each daemon has a directory of its own: the words behind "sh" are sfd and their names. */
#define COMMAND                                                                                                        \
  "sfd=$1; shift; shift $OMPI_COMM_WORLD_RANK; "                                                                       \
  "exec \"$sfd\" --fabric=mpi --calibrate=no --log-level=error --socket=\"$1/sfd.sock\""

const char *sftest_mpi_cluster_lacks(void)
{
  const char *build = getenv("BUILD"), *sanitize = getenv("SANITIZE");
  char command[4200];
  if (sanitize != NULL && sanitize[0] != '\0')
    return "the sanitizers' reports about MPI itself would drown ours";
  if (system("mpirun.openmpi --version >/dev/null 2>&1") != 0)
    return "no mpirun.openmpi";
  snprintf(command, sizeof command, "ldd '%.4000s/libsfd_mpi.so' 2>/dev/null | grep -q 'libmpi\\.so'",
           build != NULL ? build : "build");
  return system(command) == 0 ? NULL : "libsfd_mpi.so is not there, or not one for Open MPI";
}

static void become_mpirun(const sftest_mpi_cluster_t *cluster)
{
  const char *build = getenv("BUILD"), *arguments[20 + SFTEST_MPI_NODES];
  char number[16], sfd[4100];
  int n = 0;
  snprintf(number, sizeof number, "%d", cluster->n);
  snprintf(sfd, sizeof sfd, "%.4000s/sfd", build != NULL ? build : "build");
  /* Without MPI's own shared memory, which daemons that are killed would leave behind. */
  const char *const fixed[] = {
      "mpirun.openmpi", "--oversubscribe", "--bind-to", "none",  "--mca", "btl", "tcp,self", "-n",
      number,           "/bin/sh",         "-c",        COMMAND, "sh",    sfd};
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
    arguments[n++] = fixed[i];
  for (int32_t i = 0; i < cluster->n; i++)
    arguments[n++] = cluster->nodes[i].directory;
  arguments[n] = NULL;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDERR_FILENO); /* what mpirun says of killed daemons */
  execvp(arguments[0], (char *const *)(uintptr_t)arguments);
  _exit(127);
}

/* The process that listens there, 0 if there is none yet. */
static pid_t listener(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct ucred peer = {.pid = 0};
  socklen_t size = sizeof peer;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ck_assert_int_ge(fd, 0);
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
  close(fd);
  return peer.pid;
}

void sftest_mpi_cluster_start(sftest_mpi_cluster_t *cluster, int32_t n)
{
  *cluster = (sftest_mpi_cluster_t){.n = n};
  for (int32_t i = 0; i < n; i++)
    sftest_node_prepare(&cluster->nodes[i]);
  fflush(NULL);
  cluster->mpirun = fork();
  ck_assert_int_ge(cluster->mpirun, 0);
  if (cluster->mpirun == 0)
    become_mpirun(cluster);
  int64_t until = sftest_now_ms() + sftest_limit_ms(START_MS);
  for (int32_t i = 0; i < n; i++)
    while ((cluster->daemons[i] = listener(cluster->nodes[i].socket)) == 0) {
      ck_assert_msg(sftest_now_ms() < until, "the daemon of node %d has not started", i);
      ck_assert_msg(waitpid(cluster->mpirun, NULL, WNOHANG) == 0, "mpirun has ended");
      sftest_sleep_ms(5);
    }
}

void sftest_mpi_cluster_stop(sftest_mpi_cluster_t *cluster, bool killed)
{
  int status = 0;
  pid_t ended;
  int64_t until = sftest_now_ms() + sftest_limit_ms(STOP_MS);
  for (int32_t i = 0; i < cluster->n && !killed; i++)
    kill(cluster->daemons[i], SIGTERM);
  while ((ended = waitpid(cluster->mpirun, &status, WNOHANG)) == 0 && sftest_now_ms() < until)
    sftest_sleep_ms(2);
  if (ended == 0)
    kill(cluster->mpirun, SIGKILL);
  ck_assert_msg(ended == cluster->mpirun, "mpirun does not end with its daemons%s",
                killed ? ", of which one was killed" : "");
  ck_assert_msg(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0), "mpirun ended with status 0x%x",
                (unsigned)status);
  for (int32_t i = 0; i < cluster->n; i++)
    sftest_node_remove(&cluster->nodes[i]);
}
