/* Deferred closing: see deferred_close.h. Queues of lanes belong to the lock, all else to the loop's thread. */
#include "daemon/base/deferred_close.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/conn.h"
#include "shm/base/clock.h"
#include "shm/base/room.h"
#include "shm/base/thread.h"

#define LITTLE_MEMORY_BYTES ((off_t)16 << 20)
#define STAT_BLOCK_BYTES 512
#define STUCK_NS INT64_C(1000000000)
#define INTERRUPT_NS 5000000 /* after which a signal interrupts close(2) */
#define INTERRUPT_SIGNAL (SIGRTMIN + 3)
#define END_WAIT_S 1

typedef struct item {
  int fd;
  uid_t uid;
} item_t;

typedef struct lane {
  item_t *items; /* n from first on; the thread is closing the first */
  size_t first;
  size_t n;
  size_t capacity;
  int64_t began_ns; /* when closing the first began; 0: it has not */
  bool running;
  pthread_t thread;
} lane_t;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int nusers; /* daemons in this process: tests have several */
  bool ending;
  uid_t uid;
  lane_t bounded;  /* connections and large memfds */
  lane_t anything; /* may block forever */
} closing = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- The threads ------------------------------------------------------------------------------------------------- */

static void on_interrupt(int number)
{
  (void)number; /* the signal interrupts a system call */
}

/* A timer that signals this thread every few milliseconds while it runs. */
static bool make_timer(timer_t *timer_p)
{
  struct sigaction action = {.sa_handler = on_interrupt};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = INTERRUPT_SIGNAL};
  sigset_t set;
  event._sigev_un._tid = gettid();
  sigaction(INTERRUPT_SIGNAL, &action, NULL);
  sigemptyset(&set);
  sigaddset(&set, INTERRUPT_SIGNAL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return timer_create(CLOCK_MONOTONIC, &event, timer_p) == 0;
}

static void set_timer(const timer_t *timer, long ns)
{
  struct itimerspec often = {.it_value.tv_nsec = ns, .it_interval.tv_nsec = ns};
  if (timer != NULL)
    timer_settime(*timer, 0, &often, NULL);
}

/* Releases the lock meanwhile. */
static void close_first(lane_t *lane)
{
  int fd = lane->items[lane->first].fd;
  lane->began_ns = sfshm_now_ns();
  pthread_mutex_unlock(&closing.lock);
  close(fd);
  pthread_mutex_lock(&closing.lock);
  lane->began_ns = 0;
  lane->first++;
  if (--lane->n == 0)
    lane->first = 0;
}

static void *close_all(void *opaque)
{
  lane_t *lane = opaque;
  timer_t made, *timer = make_timer(&made) ? &made : NULL;
  pthread_mutex_lock(&closing.lock);
  while (lane->n > 0 || !closing.ending) {
    if (lane->n == 0) {
      pthread_cond_wait(&closing.changed, &closing.lock);
      continue;
    }
    set_timer(timer, INTERRUPT_NS);
    while (lane->n > 0)
      close_first(lane);
    set_timer(timer, 0);
  }
  pthread_mutex_unlock(&closing.lock);
  if (timer != NULL)
    timer_delete(*timer);
  return NULL;
}

/* Without a thread the next call tries again; without memory closes here. */
static void close_elsewhere(lane_t *lane, int fd)
{
  pthread_mutex_lock(&closing.lock);
  if (lane->first > lane->n) { /* drops closed items */
    memmove(lane->items, lane->items + lane->first, lane->n * sizeof lane->items[0]);
    lane->first = 0;
  }
  bool queued = sfshm_make_room(&lane->items, &lane->capacity, lane->first + lane->n + 1, sizeof lane->items[0]);
  if (queued)
    lane->items[lane->first + lane->n++] = (item_t){fd, closing.uid};
  pthread_cond_broadcast(&closing.changed);
  pthread_mutex_unlock(&closing.lock);
  if (!queued)
    close(fd);
  else if (!lane->running)
    lane->running = sfshm_thread_start(&lane->thread, 0, close_all, lane) == 0;
}

/* ---- What is closed how ------------------------------------------------------------------------------------------ */

void sfd_deferred_close_received(int fd)
{
  struct stat info;
  struct linger none = {0};
  bool memory = fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &info) == 0;
  if (memory && info.st_blocks <= LITTLE_MEMORY_BYTES / STAT_BLOCK_BYTES) {
    close(fd);
    return;
  }
  if (!memory)
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  close_elsewhere(memory ? &closing.bounded : &closing.anything, fd);
}

/* The shutdown ends input. */
void sfd_deferred_close_connection(int fd)
{
  int unread = -1;
  shutdown(fd, SHUT_RDWR);
  if (ioctl(fd, SIOCINQ, &unread) == 0 && unread == 0)
    close(fd);
  else
    close_elsewhere(&closing.bounded, fd);
}

/* ---- Users ------------------------------------------------------------------------------------------------------- */

void sfd_deferred_close_charge(uid_t uid)
{
  closing.uid = uid;
}

size_t sfd_deferred_close_waiting(uid_t uid)
{
  const lane_t *lane = &closing.anything;
  size_t count = 0;
  if (!lane->running)
    return 0;
  pthread_mutex_lock(&closing.lock);
  for (size_t i = lane->first; i < lane->first + lane->n; i++)
    count += lane->items[i].uid == uid;
  pthread_mutex_unlock(&closing.lock);
  return count;
}

bool sfd_deferred_close_is_stuck(void)
{
  pthread_mutex_lock(&closing.lock);
  int64_t began_ns = closing.anything.began_ns;
  pthread_mutex_unlock(&closing.lock);
  return began_ns != 0 && sfshm_now_ns() - began_ns > STUCK_NS;
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

void sfd_deferred_close_begin(void)
{
  static const sfproto_closer_t closer = {sfd_deferred_close_connection, sfd_deferred_close_received};
  if (closing.nusers++ > 0)
    return;
  pthread_mutex_lock(&closing.lock);
  closing.ending = false;
  pthread_mutex_unlock(&closing.lock);
  sfproto_close_by(&closer);
}

static void end_lane(lane_t *lane)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += END_WAIT_S;
  if (!lane->running)
    return;
  if (pthread_timedjoin_np(lane->thread, NULL, &until) != 0) {
    pthread_detach(lane->thread); /* it uses the lane until the process ends */
    return;
  }
  free(lane->items);
  *lane = (lane_t){0};
}

void sfd_deferred_close_end(void)
{
  if (--closing.nusers > 0)
    return;
  sfproto_close_by(NULL);
  pthread_mutex_lock(&closing.lock);
  closing.ending = true;
  pthread_cond_broadcast(&closing.changed);
  pthread_mutex_unlock(&closing.lock);
  end_lane(&closing.bounded);
  end_lane(&closing.anything);
}
