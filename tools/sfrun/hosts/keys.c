/* Keys of daemons: see keys.h. Single-threaded; blocks while hosts are reached. */
#include "tools/sfrun/hosts/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/mpi/mpirun_options.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/words.h"

#define AT_A_TIME 32
#define HOST_TIMEOUT_MS 60000

sf_status_t sfrun_random(void *bytes, size_t len_bytes)
{
  if (getrandom(bytes, len_bytes, 0) != (ssize_t)len_bytes)
    return sfshm_error_errno(SF_ERR_SYS, "%zu random bytes", len_bytes);
  return SF_OK;
}

sf_status_t sfrun_key_write(const char *directory)
{
  uint8_t key[SFRUN_KEY_BYTES];
  sf_status_t status = sfrun_random(key, sizeof key);
  if (!status)
    status = sfrun_directory_write(directory, SFRUN_KEY_NAME, key, sizeof key);
  explicit_bzero(key, sizeof key);
  return status;
}

bool sfrun_key_is_given(const sfrun_options_t *options)
{
  static const char *const names[] = {"peer-key=", "peer-auth="};
  const char *key = getenv("SFD_PEER_KEY"), *proof = getenv("SFD_PEER_AUTH");
  bool given = (key && *key) || (proof && *proof);
  for (int i = 0; i < options->nsfd_options; i++)
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
      given = given || strncmp(options->sfd_options[i], names[n], strlen(names[n])) == 0;
  return given;
}

/* The file beside the private directory where a host finds the key. */
static void key_place(const char *directory, char path[SFRUN_KEY_PATH_BYTES])
{
  snprintf(path, SFRUN_KEY_PATH_BYTES, "%.*s.key", (int)SFRUN_SOCKET_BYTES - 1, directory);
}

/* ---- The remote shell ---- */

/* Value of mpirun's option --mca NAME VALUE or -NAME VALUE; NULL: none. */
static const char *find_option(const sfrun_options_t *options, const char *name)
{
  const char *const *args = options->mpirun_args;
  for (int i = 0, nwords; i < options->nmpirun_args; i += nwords) {
    int narguments = sfrun_mpirun_option_arguments(args[i]);
    nwords = narguments > 0 ? narguments + 1 : 1;
    if (nwords == 3 && i + 2 < options->nmpirun_args && strcmp(args[i + 1], name) == 0)
      return args[i + 2];
    if (nwords == 2 && i + 1 < options->nmpirun_args && sfrun_mpirun_option_is(args[i], name))
      return args[i + 1];
  }
  return NULL;
}

/* The remote shell of mpirun, with arguments: "ssh" unless option or environment name another one. */
static const char *shell_of(const sfrun_launch_t *launch)
{
  static const struct {
    const char *option, *variable;
  } names[] = {{"plm_rsh_agent", "OMPI_MCA_plm_rsh_agent"},
               {"plm_ssh_agent", "PRTE_MCA_plm_ssh_agent"},
               {"launcher-exec", "HYDRA_LAUNCHER_EXEC"},
               {"bootstrap-exec", "HYDRA_BOOTSTRAP_EXEC"}};
  bool open_mpi = launch->mpi == SFRUN_MPI_OPEN_MPI;
  for (size_t i = open_mpi ? 0 : 2; i < (open_mpi ? 2 : sizeof names / sizeof *names); i++) {
    const char *option = find_option(launch->options, names[i].option), *variable = getenv(names[i].variable);
    if (option || (variable && *variable))
      return option ? option : variable;
  }
  return "ssh";
}

/* Adds the words of the shell; of several, separated by colons, the first. The executable must be found. */
static sf_status_t add_shell(const sfrun_launch_t *launch, sfrun_words_t *words, char path[PATH_MAX])
{
  char *shells = strdup(shell_of(launch)), *state = NULL;
  if (!shells)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the name of the remote shell");
  shells[strcspn(shells, ":")] = '\0';
  const char *word = strtok_r(shells, " \t", &state);
  sf_status_t status = sfrun_find_program(word ? word : "ssh", path);
  for (; word; word = strtok_r(NULL, " \t", &state))
    sfrun_words_add(words, "%s", word);
  free(shells);
  return status ? sfshm_error(SF_ERR_NO_DAEMON, "no remote shell for the daemons' key: %s", sfshm_error_detail())
                : SF_OK;
}

/* ---- All hosts ---- */

static bool is_here(const char *host)
{
  char here[256] = "";
  gethostname(here, sizeof here - 1);
  size_t length = strcspn(here, ".");
  return strcasecmp(host, "localhost") == 0 || (strcspn(host, ".") == length && strncasecmp(host, here, length) == 0);
}

static sf_status_t describe(const sfrun_launch_t *launch, const char *host, const char *reason)
{
  return sfshm_error(SF_ERR_NO_DAEMON,
                     "the daemons' key can't be handed over to %s by \"%s\" (%s). Without this shell use --sfd-option "
                     "peer-auth=munge, if all hosts have MUNGE, or peer-key=FILE, if all have a key of yours there",
                     host, shell_of(launch), reason);
}

/* Starts the command on a host, with input. */
static sf_status_t begin_on(const sfrun_launch_t *launch, const char *host, const char *command, const void *input,
                            size_t len_bytes, pid_t *pid_p)
{
  sfrun_words_t words = {.nwords = 0};
  char path[PATH_MAX];
  int in[2] = {-1, -1};
  sf_status_t status = add_shell(launch, &words, path);
  sfrun_words_add(&words, "%s", host);
  sfrun_words_add(&words, "%s", command);
  if (!status)
    status = sfrun_words_check(&words);
  if (!status && (pipe2(in, O_CLOEXEC) != 0 || write(in[1], input, len_bytes) != (ssize_t)len_bytes))
    status = sfshm_error_errno(SF_ERR_SYS, "pipe to the remote shell");
  int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  sfrun_command_t shell = {.path = path,
                           .argv = words.words,
                           .death_signal = SIGTERM,
                           .stdin_fd = in[0],
                           .stdout_fd = null_fd,
                           .stderr_fd = -1};
  if (!status)
    status = sfrun_spawn(&shell, pid_p);
  for (int i = 0; i < 2; i++)
    if (in[i] >= 0)
      close(in[i]);
  close(null_fd);
  sfrun_words_free(&words);
  return status;
}

static sf_status_t end_on(const sfrun_launch_t *launch, const char *host, pid_t pid, int64_t deadline_ms)
{
  int wait_status = 0;
  bool killed;
  if (!sfrun_wait_for(pid, deadline_ms - sfshm_now_ms(), &wait_status)) {
    sfrun_end_child(pid, 0, &killed);
    return describe(launch, host, "no answer for a minute");
  }
  return wait_status ? describe(launch, host, sfrun_describe_end(wait_status)) : SF_OK;
}

/* Runs the command on all other hosts, some at a time; continues after errors, and returns the first. */
static sf_status_t run_everywhere(const sfrun_launch_t *launch, const char *command, const void *input,
                                  size_t len_bytes)
{
  const sfrun_hosts_t *hosts = &launch->hosts;
  sf_status_t first = SF_OK;
  char detail[1024] = "";
  for (int32_t begin = 0; begin < hosts->count; begin += AT_A_TIME) {
    pid_t pids[AT_A_TIME] = {0};
    int64_t deadline_ms = sfshm_now_ms() + HOST_TIMEOUT_MS; /* of all: they are reached side by side */
    for (int32_t i = 0; i < 2 * AT_A_TIME; i++) {
      int32_t place = begin + i % AT_A_TIME;
      pid_t *pid = &pids[i % AT_A_TIME];
      if (place >= hosts->count || is_here(hosts->hosts[place].name))
        continue;
      const char *host = hosts->hosts[place].name;
      sf_status_t status = i < AT_A_TIME ? begin_on(launch, host, command, input, len_bytes, pid)
                           : *pid        ? end_on(launch, host, *pid, deadline_ms)
                                         : SF_OK;
      if (status && !first) {
        first = status;
        snprintf(detail, sizeof detail, "%s", sfshm_error_detail());
      }
    }
  }
  return first ? sfshm_error(first, "%s", detail) : SF_OK;
}

static sf_status_t write_here(const sfrun_hosts_t *hosts, const char *path, const uint8_t key[SFRUN_KEY_BYTES])
{
  bool here = false;
  for (int32_t i = 0; i < hosts->count; i++)
    here = here || is_here(hosts->hosts[i].name);
  int fd = here ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (!here)
    return SF_OK;
  bool written = fd >= 0 && write(fd, key, SFRUN_KEY_BYTES) == SFRUN_KEY_BYTES;
  sf_status_t status = written ? SF_OK : sfshm_error_errno(SF_ERR_SYS, "%s can't be written", path);
  if (fd >= 0)
    close(fd);
  return status;
}

/* Hosts may share the directory, and one may be this host by another name: then the file exists. */
sf_status_t sfrun_keys_hand_over(const sfrun_launch_t *launch, const char *directory)
{
  uint8_t key[SFRUN_KEY_BYTES];
  char path[SFRUN_KEY_PATH_BYTES], command[2 * SFRUN_KEY_PATH_BYTES + 64];
  key_place(directory, path);
  snprintf(command, sizeof command, "exec sh -c 'umask 077; [ -e %s ] || { set -C; cat >%s; }'", path, path);
  sf_status_t status = sfrun_random(key, sizeof key);
  if (!status)
    status = write_here(&launch->hosts, path, key);
  if (!status)
    status = run_everywhere(launch, command, key, sizeof key);
  explicit_bzero(key, sizeof key);
  return status;
}

void sfrun_keys_take_back(const sfrun_launch_t *launch, const char *directory)
{
  char path[SFRUN_KEY_PATH_BYTES], command[SFRUN_KEY_PATH_BYTES + 32];
  key_place(directory, path);
  snprintf(command, sizeof command, "rm -f %s", path);
  unlink(path);
  (void)run_everywhere(launch, command, "", 0);
}

/* ---- On a host ---- */

static sf_status_t read_own(const char *path, int fd, uint8_t key[SFRUN_KEY_BYTES])
{
  struct stat file;
  if (fstat(fd, &file) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "%s", path);
  if (!S_ISREG(file.st_mode) || file.st_uid != geteuid() || (file.st_mode & (S_IRWXG | S_IRWXO)))
    return sfshm_error(SF_ERR_PERM, "%s: expected a file that only this user can read", path);
  if (read(fd, key, SFRUN_KEY_BYTES) != SFRUN_KEY_BYTES)
    return sfshm_error(SF_ERR_SYS, "%s: expected %d bytes", path, SFRUN_KEY_BYTES);
  return SF_OK;
}

sf_status_t sfrun_key_take(const char *directory)
{
  uint8_t key[SFRUN_KEY_BYTES];
  char path[SFRUN_KEY_PATH_BYTES];
  key_place(directory, path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return errno == ENOENT ? SF_OK : sfshm_error_errno(SF_ERR_SYS, "%s", path);
  sf_status_t status = read_own(path, fd, key);
  close(fd);
  if (!status)
    status = sfrun_directory_write(directory, SFRUN_KEY_NAME, key, sizeof key);
  explicit_bzero(key, sizeof key);
  unlink(path);
  return status;
}
