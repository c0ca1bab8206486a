/* Progress thread: passes over everything that may have work, and sleeping.
 *
 *   awake     something happened within the last millisecond, or a transfer is under way: passes without pause, but
 * yields after each pass that found nothing napping   nothing happened, but something is expected: announced messages,
 * messages to be taken by the peer, or the end of a stream. Passes with growing pauses asleep    until a socket has an
 * event, or the loop's thread a command */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"
#include "shm/base/clock.h"
#include "shm/base/error.h"

#define NAP_MIN_NS 50000
#define NAP_MAX_NS 1000000
#define DEADLINE_NS 100000000 /* longest sleep while there are deadlines */
#define SOCKETS_EVERY 8       /* passes without result */

void sfd_mpi_wake(sfd_mpi_t *mpi)
{
  if (!mpi->asleep)
    return;
  mpi->asleep = false;
  if (eventfd_write(mpi->wake_fd, 1) != 0)
    abort(); /* can't be full, as it is cleared before each sleep */
}

/* ---- Sockets ---- */

/* One event at a time: it may free the link of the next. */
static bool handle_socket(sfd_mpi_t *mpi)
{
  struct epoll_event event;
  eventfd_t count;
  if (epoll_wait(mpi->epoll_fd, &event, 1, 0) != 1)
    return false;
  if (event.data.ptr == &mpi->wake_fd)
    (void)eventfd_read(mpi->wake_fd, &count);
  else if (event.data.ptr == &mpi->listen_fd)
    sfd_mpi_accept(mpi);
  else
    sfd_mpi_link_event(mpi, event.data.ptr);
  return true;
}

static bool handle_sockets(sfd_mpi_t *mpi)
{
  int n = 0;
  while (n < 64 && handle_socket(mpi))
    n++;
  return n > 0;
}

static bool watch(int epoll_fd, int *fd)
{
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, *fd, &event) == 0;
}

/* ---- Looking around, once per tick ---- */

void sfd_mpi_say_taken(sfd_mpi_peer_t *peer)
{
  uint64_t taken = atomic_load(&peer->taken);
  if (taken == peer->told_taken)
    return;
  peer->told_taken = taken;
  sfd_mpi_say(peer->link, SFD_MPI_TAKEN, 0, taken);
}

static void look_after_peer(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer)
{
  sfd_mpi_link_t *link = peer->link;
  bool open = link != NULL && link->state == SFD_MPI_OPEN;
  if (open && mpi->now_ns - peer->last_seen_ns >= SFD_MPI_TICK_NS)
    sfd_mpi_say_taken(peer);
  if (open && link->peer_sleeps && peer->nrequests > 0 && mpi->now_ns - peer->last_sent_ns >= SFD_MPI_NUDGE_NS) {
    peer->last_sent_ns = mpi->now_ns; /* MPI may need both sides to complete */
    link->peer_sleeps = false;
    sfd_mpi_say(link, SFD_MPI_WAKE, peer->posted, 0);
  }
  if (link == NULL && peer->told > peer->matched && mpi->now_ns - peer->last_seen_ns >= SFD_MPI_END_NS)
    peer->told = peer->matched; /* these were never sent */
}

static void end_my_direction(sfd_mpi_link_t *link)
{
  if (link->fd < 0 || link->shut || !link->bye || !link->over || link->peer->matched < link->last)
    return;
  shutdown(link->fd, SHUT_WR);
  link->shut = true;
}

static void miss_deadline(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  if (link->state == SFD_MPI_CONNECTING || (link->state == SFD_MPI_GREETING && link->fd >= 0)) {
    strcpy(link->detail, "no answer");
    sfd_mpi_connect_next(mpi, link);
  } else if (link->state == SFD_MPI_GREETING) {
    sfd_mpi_stream_fail(mpi, link, SF_ERR_TIMEOUT, "its own connection to this node does not come about");
  } else {
    if (link->peer != NULL)
      link->peer->waiting = NULL;
    sfd_mpi_link_remove(mpi, link);
  }
}

/* Returns whether the list of links may have changed. */
static bool look_after_link(sfd_mpi_t *mpi, sfd_mpi_link_t *link)
{
  bool late = link->deadline != 0 && mpi->now_ns > link->deadline;
  if (link->state != SFD_MPI_ENDING) {
    if (late)
      miss_deadline(mpi, link);
    return late;
  }
  if (!link->over) {
    sfd_mpi_stream_check(mpi, link->peer);
    return link->over;
  }
  end_my_direction(link);
  if (link->fd >= 0 && !(link->ended && link->shut) && !late)
    return false;
  sfd_mpi_link_remove(mpi, link);
  return true;
}

static void look_around(sfd_mpi_t *mpi)
{
  mpi->tick_ns = mpi->now_ns;
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++)
    look_after_peer(mpi, &mpi->peers[node]);
  for (sfd_mpi_link_t *link = mpi->links; link != NULL;)
    link = look_after_link(mpi, link) ? mpi->links : link->next;
}

/* ---- Sleeping ---- */

/* Whether something is expected for which MPI may need calls. */
static bool has_debts(const sfd_mpi_t *mpi)
{
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++) {
    const sfd_mpi_peer_t *peer = &mpi->peers[node];
    if (peer->matched < peer->told || peer->acked < peer->posted)
      return true;
  }
  for (const sfd_mpi_link_t *link = mpi->links; link != NULL; link = link->next) {
    if (link->state == SFD_MPI_ENDING)
      return true;
  }
  return false;
}

static bool has_deadlines(const sfd_mpi_t *mpi)
{
  for (const sfd_mpi_link_t *link = mpi->links; link != NULL; link = link->next) {
    if (link->deadline != 0)
      return true;
  }
  return false;
}

/* From here on the loop's thread wakes this one; false: there is work already. */
static bool lie_down(sfd_mpi_t *mpi)
{
  pthread_mutex_lock(&mpi->lock);
  mpi->asleep = !atomic_load(&mpi->commanded) && !mpi->finish;
  bool asleep = mpi->asleep;
  pthread_mutex_unlock(&mpi->lock);
  return asleep;
}

/* Handles the socket that has woken it. */
static bool get_up(sfd_mpi_t *mpi)
{
  pthread_mutex_lock(&mpi->lock);
  mpi->asleep = false;
  pthread_mutex_unlock(&mpi->lock);
  mpi->now_ns = (uint64_t)sfshm_now_ns();
  return handle_sockets(mpi);
}

/* 0: no time-out. */
static void wait_for_sockets(const sfd_mpi_t *mpi, uint64_t timeout_ns)
{
  struct pollfd poll_fd = {.fd = mpi->epoll_fd, .events = POLLIN};
  struct timespec timeout = {.tv_nsec = (long)timeout_ns};
  (void)ppoll(&poll_fd, 1, timeout_ns != 0 ? &timeout : NULL, NULL);
}

static void tell_peers(sfd_mpi_t *mpi)
{
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++) {
    sfd_mpi_peer_t *peer = &mpi->peers[node];
    if (peer->link == NULL || peer->link->state != SFD_MPI_OPEN)
      continue;
    if (peer->link->told_sleep) {
      sfd_mpi_say_taken(peer);
      continue;
    }
    peer->link->told_sleep = true;
    peer->told_taken = atomic_load(&peer->taken);
    sfd_mpi_say(peer->link, SFD_MPI_SLEEP, peer->matched, peer->told_taken);
  }
}

static bool nap(sfd_mpi_t *mpi, uint64_t nap_ns)
{
  if (lie_down(mpi))
    wait_for_sockets(mpi, nap_ns);
  return get_up(mpi);
}

static bool sleep_well(sfd_mpi_t *mpi)
{
  if (lie_down(mpi)) { /* first, so that the user's next take wakes this thread */
    tell_peers(mpi);
    wait_for_sockets(mpi, has_deadlines(mpi) ? DEADLINE_NS : 0);
  }
  return get_up(mpi);
}

/* ---- The thread ---- */

static bool pass(sfd_mpi_t *mpi, unsigned nidle)
{
  mpi->now_ns = (uint64_t)sfshm_now_ns();
  bool did = sfd_mpi_obey(mpi);
  did |= sfd_mpi_test_sends(mpi);
  did |= sfd_mpi_match(mpi);
  did |= sfd_mpi_test_receives(mpi);
  if (nidle % SOCKETS_EVERY == 0)
    did |= handle_sockets(mpi);
  if (mpi->now_ns - mpi->tick_ns >= SFD_MPI_TICK_NS)
    look_around(mpi);
  return did;
}

/* Nothing was found. Returns whether there is work now. */
static bool rest(sfd_mpi_t *mpi, uint64_t *nap_ns)
{
  bool transfers = mpi->active != NULL || mpi->receiving.first != NULL || mpi->discards.first != NULL;
  if (transfers || mpi->now_ns - mpi->last_ns < SFD_MPI_TICK_NS) {
    *nap_ns = NAP_MIN_NS;
    sched_yield();
    return false;
  }
  if (!has_debts(mpi))
    return sleep_well(mpi);
  uint64_t now_ns = *nap_ns;
  *nap_ns = now_ns * 2 < NAP_MAX_NS ? now_ns * 2 : NAP_MAX_NS;
  return nap(mpi, now_ns);
}

/* After close and the end of all links: tells the loop's thread, once. */
static void check_closed(sfd_mpi_t *mpi)
{
  if (!mpi->ending || mpi->links != NULL || mpi->receiving.first != NULL || mpi->discards.first != NULL)
    return;
  pthread_mutex_lock(&mpi->lock);
  if (!mpi->closed) {
    mpi->closed = true;
    sfd_mpi_notify(mpi, NULL);
  }
  pthread_mutex_unlock(&mpi->lock);
}

static bool is_finished(sfd_mpi_t *mpi)
{
  pthread_mutex_lock(&mpi->lock);
  bool finished = mpi->finish;
  pthread_mutex_unlock(&mpi->lock);
  return finished;
}

static void run(sfd_mpi_t *mpi)
{
  uint64_t nap_ns = NAP_MIN_NS;
  unsigned nidle = 0;
  for (;;) {
    bool did = pass(mpi, nidle);
    check_closed(mpi);
    if (!did && mpi->ending && is_finished(mpi))
      return;
    if (!did)
      did = rest(mpi, &nap_ns);
    if (did)
      mpi->last_ns = mpi->now_ns;
    nidle = did ? 1 : nidle + 1;
  }
}

static sf_status_t prepare(sfd_mpi_t *mpi)
{
  sf_status_t status = sfd_mpi_start(mpi);
  if (status != SF_OK)
    return status;
  mpi->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  mpi->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  mpi->scratch = malloc(SFD_MPI_CHUNK);
  if (mpi->epoll_fd < 0 || mpi->wake_fd < 0 || mpi->scratch == NULL || !watch(mpi->epoll_fd, &mpi->wake_fd) ||
      !watch(mpi->epoll_fd, &mpi->listen_fd))
    return sfshm_error_errno(SF_ERR_SYS, "cannot prepare to sleep");
  return SF_OK;
}

/* Reports the start to the loop's thread; returns whether it continues. */
static bool answer(sfd_mpi_t *mpi, sf_status_t status)
{
  pthread_mutex_lock(&mpi->lock);
  mpi->start_status = status;
  snprintf(mpi->start_detail, sizeof mpi->start_detail, "%s", sfshm_error_detail());
  mpi->started = true;
  pthread_cond_broadcast(&mpi->obeyed);
  while (status == SF_OK && !mpi->go && !mpi->finish)
    pthread_cond_wait(&mpi->obeyed, &mpi->lock);
  bool go = mpi->go;
  pthread_mutex_unlock(&mpi->lock);
  return go;
}

static void tidy_up(sfd_mpi_t *mpi)
{
  const int fds[] = {mpi->epoll_fd, mpi->wake_fd, mpi->listen_fd};
  for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
    if (fds[i] >= 0)
      close(fds[i]);
  }
  free(mpi->scratch);
  free(mpi->spare);
}

void *sfd_mpi_progress(void *arg)
{
  sfd_mpi_t *mpi = arg;
  sf_status_t status = prepare(mpi);
  mpi->now_ns = mpi->last_ns = (uint64_t)sfshm_now_ns();
  bool go = answer(mpi, status);
  if (go)
    run(mpi);
  tidy_up(mpi);
  if (go)
    MPI_Finalize();
  return NULL;
}
