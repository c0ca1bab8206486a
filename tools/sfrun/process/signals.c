/* Signals: see signals.h. Ignored signals stay ignored, also in children (nohup), except SIGCHLD. */
#include "tools/sfrun/process/signals.h"

#include <signal.h>
#include <unistd.h>

#include "shm/base/error.h"

static sigset_t initial_mask;

sf_status_t sfrun_signals_open(int *fd_p)
{
  static const int waited_for[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof waited_for / sizeof *waited_for; i++)
    sigaddset(&set, waited_for[i]);
  /* A write to a pipe without a reader then fails with an error, and sfrun still cleans up. */
  sigset_t blocked = set;
  sigaddset(&blocked, SIGPIPE);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &blocked, &initial_mask);
  int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "signalfd");
  *fd_p = fd;
  return SF_OK;
}

bool sfrun_signals_take(int fd, struct signalfd_siginfo *info_p)
{
  return read(fd, info_p, sizeof *info_p) == (ssize_t)sizeof *info_p;
}

bool sfrun_signals_ends(int signal)
{
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

void sfrun_signals_restore(void)
{
  sigprocmask(SIG_SETMASK, &initial_mask, NULL);
}
