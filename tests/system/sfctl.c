/* Running sfctl: see sfctl.h. Runs in the process of the test. */
#include "tests/system/sfctl.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/clock.h"

#define MAX_WORDS 16

char sftest_sfctl_out[SFTEST_SFCTL_MAX_OUTPUT], sftest_sfctl_err[SFTEST_SFCTL_MAX_OUTPUT];
int sftest_sfctl_code;

/* In BUILD, else where this program's build directory is. */
static void find_sfctl(char path[PATH_MAX])
{
  const char *build = getenv("BUILD");
  ssize_t n =
      build != NULL ? snprintf(path, PATH_MAX - 16, "%.4000s", build) : readlink("/proc/self/exe", path, PATH_MAX - 16);
  if (n <= 0)
    _exit(126);
  path[n] = '\0';
  for (int up = 0; build == NULL && up < 4; up++) /* tests/system/tools/test_sfctl */
    *strrchr(path, '/') = '\0';
  strcat(path, "/sfctl");
}

/* The child. It ends together with the test. */
static void become_sfctl(const sftest_sfctl_t *run, const char *socket, const char *const words[])
{
  char path[PATH_MAX], *argv[MAX_WORDS] = {path};
  int argc = 1;
  find_sfctl(path);
  for (; words[argc - 1] != NULL && argc < MAX_WORDS - 1; argc++)
    argv[argc] = (char *)(uintptr_t)words[argc - 1]; /* execv takes them const in all but name */
  setenv("SF_SOCKET", socket, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(run->out_fd, STDOUT_FILENO);
  dup2(run->err_fd, STDERR_FILENO);
  execv(path, argv);
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  _exit(127);
}

void sftest_sfctl_start(sftest_sfctl_t *run, const char *socket, const char *const words[], const char *out_path)
{
  run->out_fd = out_path != NULL ? open(out_path, O_RDWR | O_CLOEXEC) : memfd_create("out", MFD_CLOEXEC);
  run->err_fd = memfd_create("err", MFD_CLOEXEC);
  ck_assert(run->out_fd >= 0 && run->err_fd >= 0);
  fflush(NULL);
  run->pid = fork();
  ck_assert_int_ge(run->pid, 0);
  if (run->pid == 0)
    become_sfctl(run, socket, words);
}

static void read_all(int fd, char text[SFTEST_SFCTL_MAX_OUTPUT])
{
  off_t end = lseek(fd, 0, SEEK_END); /* a device may have endless contents, but says 0 */
  ssize_t n = pread(fd, text, end < SFTEST_SFCTL_MAX_OUTPUT ? (size_t)end : SFTEST_SFCTL_MAX_OUTPUT - 1, 0);
  ck_assert_int_ge(n, 0);
  text[n] = '\0';
  close(fd);
}

void sftest_sfctl_finish(sftest_sfctl_t *run)
{
  int status;
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  pid_t ended;
  SFTEST_SLEEP_WHILE((ended = waitpid(run->pid, &status, WNOHANG)) == 0 && sftest_now_ms() < until);
  if (ended == 0)
    kill(run->pid, SIGKILL);
  ck_assert_msg(ended == run->pid, "sfctl hangs");
  ck_assert_msg(WIFEXITED(status), "sfctl ended with status 0x%x", (unsigned)status);
  sftest_sfctl_code = WEXITSTATUS(status);
  read_all(run->out_fd, sftest_sfctl_out);
  read_all(run->err_fd, sftest_sfctl_err);
}

void sftest_sfctl_expect(int code)
{
  const char *out = sftest_sfctl_out, *err = sftest_sfctl_err;
  ck_assert_msg(sftest_sfctl_code == code, "exit status %d, expected %d; output: %s messages: %s", sftest_sfctl_code,
                code, out, err);
  if (code == 0) {
    ck_assert_str_eq(err, "");
    return;
  }
  ck_assert_str_eq(out, "");
  ck_assert_msg(strncmp(err, "sfctl: ", 7) == 0 && strchr(err, '\n') == err + strlen(err) - 1, "not one line: %s", err);
}

void sftest_sfctl(const char *socket, const char *const words[], int code)
{
  sftest_sfctl_t run;
  sftest_sfctl_start(&run, socket, words, NULL);
  sftest_sfctl_finish(&run);
  sftest_sfctl_expect(code);
}

void sftest_expect_in(const char *text, const char *wanted)
{
  ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" is not in: %.3000s messages: %.1000s", wanted, text,
                sftest_sfctl_err);
}

int sftest_count_lines(const char *text)
{
  int n = 0;
  for (; *text != '\0'; text++)
    n += *text == '\n';
  return n;
}

void sftest_sfctl_await(const char *socket, const char *const words[], const char *wanted)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  do
    sftest_sfctl(socket, words, 0);
  while (strstr(sftest_sfctl_out, wanted) == NULL && sftest_now_ms() < until);
  sftest_expect_in(sftest_sfctl_out, wanted);
}

uint64_t sftest_sfctl_number(const char *fragment, const char *member)
{
  char line[SFTEST_SFCTL_MAX_OUTPUT], name[64];
  const char *found = strstr(sftest_sfctl_out, fragment);
  ck_assert_msg(found != NULL, "\"%s\" is not in: %s", fragment, sftest_sfctl_out);
  while (found > sftest_sfctl_out && found[-1] != '\n')
    found--;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
  snprintf(name, sizeof name, "\"%s\":", member);
  const char *value = strstr(line, name);
  ck_assert_msg(value != NULL, "no %s in: %s", member, line);
  return strtoull(value + strlen(name), NULL, 10);
}

bool sftest_sfctl_pair_is(const char *socket, int32_t from, int32_t to, const char *member, const char *value)
{
  char text[100];
  sftest_sfctl(socket, WORDS("graphs", "--json"), 0);
  const char *number = strstr(sftest_sfctl_out, "\"graph\":");
  ck_assert_ptr_nonnull(number);
  snprintf(text, sizeof text, "%d", atoi(number + strlen("\"graph\":")));
  sftest_sfctl(socket, WORDS("plan", text, "--pairs", "--json"), 0);
  const char *pairs = strstr(sftest_sfctl_out, "\"pairs\":[");
  snprintf(text, sizeof text, "{\"from\":%d,\"to\":%d,", from, to);
  const char *pair = pairs != NULL ? strstr(pairs, text) : NULL;
  snprintf(text, sizeof text, "\"%s\":\"%s\"", member, value);
  const char *found = pair != NULL ? strstr(pair, text) : NULL;
  return found != NULL && found < strchr(pair, '}');
}
