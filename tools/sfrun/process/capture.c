/* Output of commands: see capture.h. Single-threaded; blocks as long as the command takes. */
#include "tools/sfrun/process/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfrun/process/process.h"

#define TIMEOUT_MS 30000
#define END_TIMEOUT_MS 1000

/* Reads until end of file, a full buffer, or the time-out; ends the text. */
static void read_text(int fd, char *text, size_t limit_bytes)
{
  int64_t deadline_ms = sfshm_now_ms() + TIMEOUT_MS;
  size_t length = 0;
  while (length < limit_bytes) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    int64_t left_ms = deadline_ms - sfshm_now_ms();
    if (left_ms <= 0 || poll(&pollfd, 1, (int)left_ms) <= 0)
      break;
    ssize_t nread = read(fd, text + length, limit_bytes - length);
    if (nread <= 0)
      break;
    length += (size_t)nread;
  }
  text[length] = '\0';
}

static bool reap(pid_t pid)
{
  int wait_status = 0;
  bool killed = false;
  if (!sfrun_wait_for(pid, END_TIMEOUT_MS, &wait_status))
    wait_status = sfrun_end_child(pid, END_TIMEOUT_MS, &killed);
  return !killed && sfrun_exit_code(wait_status) == 0;
}

sf_status_t sfrun_capture(const char *const argv[], bool errors, size_t limit_bytes, char **text_p, bool *ok_p)
{
  int out[2] = {-1, -1};
  pid_t pid = 0;
  char *text = malloc(limit_bytes + 1);
  if (!text)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the output of %s", argv[0]);
  if (pipe2(out, O_CLOEXEC) != 0) {
    free(text);
    return sfshm_error_errno(SF_ERR_SYS, "pipe for %s", argv[0]);
  }
  int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  sfrun_command_t command = {.path = argv[0],
                             .argv = argv,
                             .death_signal = SIGKILL,
                             .stdin_fd = null_fd,
                             .stdout_fd = out[1],
                             .stderr_fd = errors ? out[1] : -1};
  sf_status_t status = sfrun_spawn(&command, &pid);
  close(out[1]);
  close(null_fd);
  if (!status)
    read_text(out[0], text, limit_bytes);
  close(out[0]);
  if (status) {
    free(text);
    return status;
  }
  *ok_p = reap(pid);
  *text_p = text;
  return SF_OK;
}
