/* The first process sleeps until a signal or the child's end. Single-threaded. */
#include "tools/sfrun/process/outlive.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/process/signals.h"

_Noreturn static void stand_in(pid_t child, int signal_fd)
{
  int wait_status = 0;
  for (struct signalfd_siginfo info;;) {
    struct pollfd pollfd = {.fd = signal_fd, .events = POLLIN};
    poll(&pollfd, 1, -1);
    while (sfrun_signals_take(signal_fd, &info))
      if (info.ssi_signo != SIGCHLD)
        kill(child, (int)info.ssi_signo);
    if (waitpid(child, &wait_status, WNOHANG) == child)
      _exit(sfrun_exit_code(wait_status));
  }
}

sf_status_t sfrun_outlive(int *signal_fd_p)
{
  pid_t parent = getpid();
  prctl(PR_SET_PDEATHSIG, SIGTERM); /* if MPI's process on this host is killed */
  sf_status_t status = sfrun_signals_open(signal_fd_p);
  if (status)
    return status;
  pid_t child = fork();
  if (child < 0)
    return sfshm_error_errno(SF_ERR_SYS, "fork");
  if (child > 0)
    stand_in(child, *signal_fd_p);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent)
    raise(SIGTERM); /* it was killed before prctl */
  return SF_OK;
}
