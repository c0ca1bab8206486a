/* Daemons over MPI: see mpi_cluster.h. Runs in the process of the test. It starts mpirun itself, as sfrun starts ranks:
 * here the daemons are the MPI job. */
#include "tests/system/mpi_cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define FINALIZE_MS 3000 /* for mpirun when its daemons have ended, after one was killed: see below */

/* Each daemon has a directory of its own: the words behind "sh" are sfd and their names. */
#define COMMAND                                                                                                        \
  "sfd=$1; shift; shift $OMPI_COMM_WORLD_RANK; "                                                                       \
  "exec \"$sfd\" --fabric=mpi --calibrate=no --join-timeout=3600 --log-level=error --socket=\"$1/sfd.sock\""

static const char *find_lacks(void)
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

const char *sftest_mpi_cluster_lacks(void)
{
  static const char *lacks;
  static bool is_known;
  if (!is_known)
    lacks = find_lacks();
  is_known = true;
  return lacks;
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
  setenv("PMIX_MCA_gds", "hash", 1); /* with locks in shared memory PMIx hangs if a killed process held one */
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
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  for (int32_t i = 0; i < n; i++)
    while ((cluster->daemons[i] = listener(cluster->nodes[i].socket)) == 0) {
      ck_assert_msg(sftest_now_ms() < until, "the daemon of node %d has not started", i);
      ck_assert_msg(waitpid(cluster->mpirun, NULL, WNOHANG) == 0, "mpirun has ended");
      sftest_sleep_ms(5);
    }
}

static bool has_ended(pid_t pid)
{
  char path[64], line[512] = "", *state;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (file == NULL)
    return true;
  if (fgets(line, sizeof line, file) == NULL)
    line[0] = '\0'; /* it was reaped just now */
  fclose(file);
  state = strrchr(line, ')');
  return state == NULL || strchr("ZX", state[2]) != NULL;
}

static bool have_daemons_ended(const sftest_mpi_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->n; i++)
    if (!has_ended(cluster->daemons[i]))
      return false;
  return true;
}

/* mpirun's wait status; -1: it did not end, although all daemons have. If nobody was killed it may take its time. */
static int wait_for_mpirun(const sftest_mpi_cluster_t *cluster, bool killed)
{
  int status = 0;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS, daemons_ended = 0;
  while (waitpid(cluster->mpirun, &status, WNOHANG) != cluster->mpirun) {
    int64_t now = sftest_now_ms();
    if (daemons_ended == 0 && have_daemons_ended(cluster))
      daemons_ended = now;
    if (now >= until || (killed && daemons_ended != 0 && now >= daemons_ended + sftest_limit_ms(FINALIZE_MS))) {
      kill(cluster->mpirun, SIGKILL);
      waitpid(cluster->mpirun, NULL, 0);
      ck_assert_msg(daemons_ended != 0, "daemons have not ended");
      return -1;
    }
    sftest_sleep_ms(2);
  }
  return status;
}

void sftest_mpi_cluster_stop(sftest_mpi_cluster_t *cluster, bool killed)
{
  for (int32_t i = 0; i < cluster->n && !killed; i++)
    kill(cluster->daemons[i], SIGTERM);
  int status = wait_for_mpirun(cluster, killed);
  if (killed && status == -1) /* Open MPI 4.1 with PMIx 4.2, about once in a hundred times that processes were killed */
    printf("mpirun had to be killed: it waits for a lock in PMIx_server_finalize, perhaps\n");
  else
    ck_assert_msg(killed || (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0),
                  "mpirun ended with status 0x%x", (unsigned)status);
  for (int32_t i = 0; i < cluster->n; i++)
    sftest_node_remove(&cluster->nodes[i]);
}
