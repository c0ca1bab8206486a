/* Supervision: see supervise.h. Sleeps until a signal comes. Single-threaded. */
#include "tools/sfrun/process/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/process/signals.h"

bool sfrun_want_own_groups(void)
{
  int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return true;
  pid_t foreground = tcgetpgrp(fd);
  close(fd);
  return foreground != getpgrp();
}

static void send_signal(const sfrun_children_t *children, int signal)
{
  for (int32_t i = 0; i < children->nchildren; i++)
    if (children->pids[i])
      kill(children->own_groups ? -children->pids[i] : children->pids[i], signal);
}

void sfrun_kill_children(sfrun_children_t *children)
{
  send_signal(children, SIGKILL);
  for (int32_t i = 0; i < children->nchildren; i++)
    if (children->pids[i]) {
      waitpid(children->pids[i], NULL, 0);
      children->pids[i] = 0;
    }
}

/* In a shared group signals of the kernel (Ctrl-C, hang-up) have reached the children. */
static void forward(const sfrun_children_t *children, const struct signalfd_siginfo *info)
{
  if (children->own_groups || info->ssi_code != SI_KERNEL)
    send_signal(children, (int)info->ssi_signo);
}

static void note_end(sfrun_children_t *children, int32_t rank, int wait_status)
{
  int code = sfrun_exit_code(wait_status);
  children->pids[rank] = 0;
  if (!code || children->first_bad >= 0)
    return;
  children->first_bad = rank;
  children->code = code;
  if (children->are_ranks)
    fprintf(stderr, "sfrun: rank %d ended with %s\n", rank, sfrun_describe_end(wait_status));
}

/* Reaps processes; returns the number of children left. */
static int32_t reap(sfrun_children_t *children, sfrun_daemons_t *daemons)
{
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    sfrun_daemons_note_end(daemons, pid, wait_status);
    for (int32_t i = 0; i < children->nchildren; i++)
      if (children->pids[i] == pid)
        note_end(children, i, wait_status);
  }
  int32_t nleft = 0;
  for (int32_t i = 0; i < children->nchildren; i++)
    nleft += children->pids[i] != 0;
  return nleft;
}

/* Exit codes of an mpirun that was told to end: Open MPI's 1, Hydra's 0, the signal's number, its bits with those of
 * SIGKILL, by which it ended others, or that of writing to processes that have gone. */
static bool is_told_to_end(int code, int signal)
{
  return code == 0 || code == 1 || code == signal || code == (signal | SIGKILL) || code == 128 + SIGPIPE;
}

int sfrun_supervise(sfrun_children_t *children, sfrun_daemons_t *daemons, int signal_fd)
{
  int64_t deadline_ms = 0;
  bool counting = false;
  int ending = 0;
  for (int32_t nleft; (nleft = reap(children, daemons)) > 0;) {
    if (!counting && children->are_ranks && children->first_bad >= 0) {
      deadline_ms = sfshm_now_ms() + children->grace_ms;
      counting = true;
    }
    int64_t left_ms = counting ? deadline_ms - sfshm_now_ms() : -1;
    if (counting && left_ms <= 0) {
      fprintf(stderr, "sfrun: killing %d %s that outlived rank %d by %lld s\n", nleft, nleft == 1 ? "rank" : "ranks",
              children->first_bad, (long long)children->grace_ms / 1000);
      sfrun_kill_children(children);
      break;
    }
    struct pollfd pollfd = {.fd = signal_fd, .events = POLLIN};
    poll(&pollfd, 1, (int)left_ms);
    for (struct signalfd_siginfo info; sfrun_signals_take(signal_fd, &info);)
      if (info.ssi_signo != SIGCHLD) {
        forward(children, &info);
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP)
          ending = (int)info.ssi_signo;
      }
  }
  if (!children->are_ranks && ending != 0 && is_told_to_end(children->code, ending))
    return 128 + ending;
  return children->code;
}
