/* A clock that stands still while the machine holds its processes up: when other programs, or the host of a virtual
 * machine, keep the cores from them. What must happen within a second is judged by it, so that late is what is late,
 * not what was kept from running. On a machine that has time it goes as the monotonic clock does.
 *
 * A process on each core sleeps for 2 ms, again and again, and counts what it wakes too late by. Of several cores that
 * one counts which was held up for longest. */
#ifndef SFTEST_MACHINE_CLOCK_H
#define SFTEST_MACHINE_CLOCK_H

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SFTEST_WATCHED_CORES 16
#define SFTEST_WATCH_NS 2000000
#define SFTEST_ON_TIME_NS 300000 /* later than that is late */

/* Of one core. The clock is what is left of the time without held_up_ns, and not above stop_ns, at which it stands
 * still if the watcher does not wake. A watcher that has woken late counts first, and then moves stop_ns on: the clock
 * that others read meanwhile neither jumps nor goes back. */
typedef struct sftest_watched_core {
  _Alignas(64) _Atomic int64_t stop_ns; /* 0: nobody watches */
  _Atomic int64_t held_up_ns;           /* so far */
} sftest_watched_core_t;

/* Shared by the process that began to watch and those that it forks. */
static sftest_watched_core_t *sftest_watched_cores;

static inline int64_t sftest_monotonic_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void sftest_watch_core(sftest_watched_core_t *core, size_t number, pid_t parent)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(number, &set);
  sched_setaffinity(0, sizeof set, &set);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int64_t wake_ns = 0; getppid() == parent;) {
    int64_t now_ns = sftest_monotonic_ns();
    if (wake_ns != 0 && now_ns - wake_ns > SFTEST_ON_TIME_NS)
      core->held_up_ns += now_ns - wake_ns - SFTEST_ON_TIME_NS;
    wake_ns = now_ns + SFTEST_WATCH_NS;
    core->stop_ns = wake_ns + SFTEST_ON_TIME_NS - core->held_up_ns;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){wake_ns / 1000000000, wake_ns % 1000000000},
                    NULL);
  }
  _exit(0);
}

/* Begins to watch: once in a process, before it forks those that read the clock. The watchers end with it; they send no
 * SIGCHLD, and waitpid does not know them: whoever has waited for all children has none. */
static inline void sftest_machine_clock_start(void)
{
  pid_t parent = getpid();
  cpu_set_t set;
  if (sftest_watched_cores != NULL || sched_getaffinity(0, sizeof set, &set) != 0)
    return;
  void *memory = mmap(NULL, SFTEST_WATCHED_CORES * sizeof(sftest_watched_core_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  sftest_watched_cores = memory;
  for (size_t number = 0, n = 0; number < CPU_SETSIZE && n < SFTEST_WATCHED_CORES; number++) {
    if (!CPU_ISSET(number, &set))
      continue;
    if (syscall(SYS_clone, 0, NULL, NULL, NULL, 0) == 0)
      sftest_watch_core(&sftest_watched_cores[n], number, parent);
    n++;
  }
}

/* The clock. It is the monotonic one where nobody watches. */
static inline int64_t sftest_machine_clock_ns(void)
{
  int64_t now_ns = sftest_monotonic_ns(), least_ns = now_ns;
  for (int i = 0; sftest_watched_cores != NULL && i < SFTEST_WATCHED_CORES; i++) {
    int64_t stop_ns = sftest_watched_cores[i].stop_ns, clock_ns = now_ns - sftest_watched_cores[i].held_up_ns;
    if (stop_ns == 0)
      continue;
    clock_ns = clock_ns < stop_ns ? clock_ns : stop_ns;
    least_ns = clock_ns < least_ns ? clock_ns : least_ns;
  }
  return least_ns;
}

#endif
