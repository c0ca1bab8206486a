/* Letting streams go on whose graph has failed: see operation.h. What a stream waits for is raised to far beyond all
 * that it may have been told to wait for. Others may still write there what they had been told to, so that it is raised
 * again until the graph is destroyed. One thread for all graphs of the process, which sleeps until one fails, and looks
 * from time to time at those that other nodes take part in while streams have something to do. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "client/graph.h"
#include "client/streams/trunk.h"
#include "shm/base/error.h"
#include "shm/base/thread.h"

#define AGAIN_NS 1000000
#define LOOK_NS 20000000 /* at what other nodes call */
#define FAR (UINT32_C(1) << 30)

static struct {
  pthread_mutex_t lock;
  pthread_cond_t news;
  sfc_streams_t *streams;
  pthread_t thread;
  uint64_t number; /* of the thread; each lives as long as there are streams */
  bool is_running;
  _Atomic int count;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

/* Before this rank's streams go on: what they send then comes after that. */
static void warn_other_end(const sfc_stream_way_t *way)
{
  if (way->peer_area.host != NULL)
    atomic_store(&sfc_stream_area(way->peer_area)->released, 1);
}

static void let_lane_go(const sfc_stream_lane_t *lane, const sfc_stream_way_t *way)
{
  sfc_stream_area_t *area = sfc_stream_area(way->area);
  if (area == NULL)
    return;
  atomic_store(&area->ready, atomic_load(&lane->nreceived) + FAR);
  for (int i = 0; i < SF_STREAMS_IN_FLIGHT; i++)
    atomic_store(&area->acks[i], atomic_load(&lane->nsent) + FAR);
}

static _Thread_local bool is_guard;

/* Asks no driver: a call for one stream may wait while another thread's call waits for room in a stream that is full,
 * and that may be one that waits for what is raised here. */
static void let_go(const sfc_streams_t *streams)
{
  if (streams->nodes != NULL)
    sfc_streams_nodes_let_go(streams->nodes);
  for (int32_t i = 0; i < streams->nlanes && !streams->is_growing; i++)
    warn_other_end(&streams->room.ways[i]);
  for (int32_t i = 0; i < streams->nlanes; i++)
    let_lane_go(&streams->lanes[i], &streams->room.ways[i]);
}

/* Whether a call is giving a stream work, which may be full. */
static bool is_any_calling(void)
{
  bool calling = false;
  for (const sfc_streams_t *streams = guard.streams; streams != NULL && !calling; streams = streams->next_guarded)
    calling = atomic_load(&streams->is_calling);
  return calling;
}

/* When it has to be looked at again; 0: when something happens. */
static long look(const sfc_streams_t *streams)
{
  if (sfc_graph_is_failed(streams->graph)) {
    let_go(streams);
    return AGAIN_NS;
  }
  return streams->nodes != NULL && sfc_streams_nodes_look(streams->nodes, is_any_calling()) ? LOOK_NS : 0;
}

static void sleep_with_lock(long ns)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += ns;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_cond_clockwait(&guard.news, &guard.lock, CLOCK_MONOTONIC, &until);
}

static void *run_guard(void *argument)
{
  uint64_t number = (uint64_t)(uintptr_t)argument;
  is_guard = true;
  pthread_mutex_lock(&guard.lock);
  while (guard.number == number) {
    long again_ns = 0;
    for (const sfc_streams_t *streams = guard.streams; streams != NULL; streams = streams->next_guarded) {
      long ns = look(streams);
      if (ns != 0 && (again_ns == 0 || ns < again_ns))
        again_ns = ns;
    }
    if (again_ns != 0)
      sleep_with_lock(again_ns);
    else
      pthread_cond_wait(&guard.news, &guard.lock);
  }
  pthread_mutex_unlock(&guard.lock);
  return NULL;
}

void sfc_streams_alarm(void)
{
  if (atomic_load(&guard.count) == 0 || is_guard) /* which has found it out itself */
    return;
  pthread_mutex_lock(&guard.lock);
  pthread_cond_broadcast(&guard.news);
  pthread_mutex_unlock(&guard.lock);
}

static sf_status_t start_thread(void)
{
  int error = sfshm_thread_start(&guard.thread, 0, run_guard, (void *)(uintptr_t)guard.number);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "starting the thread that guards streams: %s", strerror(error));
  pthread_setname_np(guard.thread, "sf-streams");
  guard.is_running = true;
  return SF_OK;
}

sf_status_t sfc_streams_guard(sfc_streams_t *streams)
{
  pthread_mutex_lock(&guard.lock);
  streams->next_guarded = guard.streams;
  guard.streams = streams;
  sf_status_t status = guard.is_running ? SF_OK : start_thread();
  sfc_graph_observe_failures(sfc_streams_alarm);
  if (status == SF_OK) {
    streams->is_guarded = true;
    atomic_fetch_add(&guard.count, 1);
    pthread_cond_broadcast(&guard.news); /* the graph may have failed before */
  } else {
    guard.streams = streams->next_guarded;
  }
  pthread_mutex_unlock(&guard.lock);
  return status;
}

void sfc_streams_unguard(sfc_streams_t *streams)
{
  pthread_t thread;
  if (!streams->is_guarded)
    return;
  pthread_mutex_lock(&guard.lock);
  sfc_streams_t **link = &guard.streams;
  while (*link != streams)
    link = &(*link)->next_guarded;
  *link = streams->next_guarded;
  atomic_fetch_sub(&guard.count, 1);
  bool last = guard.streams == NULL;
  thread = guard.thread;
  if (last) {
    guard.is_running = false;
    guard.number++;
  }
  pthread_cond_broadcast(&guard.news);
  pthread_mutex_unlock(&guard.lock);
  if (last)
    pthread_join(thread, NULL);
}

void sfc_streams_guard_growth(sfc_streams_t *streams)
{
  pthread_mutex_lock(&guard.lock);
  streams->is_growing = true;
  pthread_mutex_unlock(&guard.lock);
}

sfc_stream_room_t sfc_streams_guard_room(sfc_streams_t *streams, sfc_stream_room_t room)
{
  pthread_mutex_lock(&guard.lock);
  sfc_stream_room_t before = streams->room;
  streams->room = room;
  streams->is_growing = false;
  pthread_cond_broadcast(&guard.news); /* if the graph has failed, the words of the new one are to be raised */
  pthread_mutex_unlock(&guard.lock);
  return before;
}
