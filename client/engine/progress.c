/* Progress and waiting: see progress.h. */
#include "client/engine/progress.h"

#include <time.h>

#include "client/core/context.h"
#include "client/engine/eager.h"
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/op_trace.h"
#include "client/engine/thread.h"
#include "client/engine/trunk.h"
#include "client/engine/wait_state.h"
#include "client/graph/failure.h"
#include "shm/base/error.h"

/* Some 100 us of spinning; whoever has not come by then is not about to. */
#define SPINS 400
#define LOOKS_AT_ONCE 100

/* How long to wait for other nodes before asking what they called: at first, and at last. */
#define ASK_AFTER_NS INT64_C(100000000)
#define ASK_AGAIN_NS INT64_C(1000000000)

/* Tests in vain after which a mismatch is looked for. */
#define IDLE_TESTS 1024

/* Goes on with what a stalled lane could not send, and with the requests begun since. eagerly: whether the reader takes
 * it or not. */
static bool resume_sends(sfc_lane_t *lane, bool eagerly)
{
  sf_graph_t *graph = lane->graph;
  uint64_t before = lane->tx.posted, first = lane->tx_sequence;
  while (lane->tx_sequence <= graph->last_sequence) {
    sf_request_t *request = graph->table[lane->tx_sequence & graph->table_mask];
    if (request != NULL && request->watch != 0)
      sfc_watch_mark(request);
    if (request != NULL && sfc_lane_sends(lane, request->operation) && !sfc_lane_send(lane, request) &&
        !(eagerly && sfc_lane_send_eagerly(lane, request)))
      return lane->tx.posted != before || lane->tx_sequence != first;
    lane->tx_sequence++;
    lane->tx_cursor = (sfc_cursor_t){0};
    graph->last_lane = lane;
  }
  lane->tx_stalled = false;
  graph->nstalled--;
  return true;
}

static bool progress_sends(sf_graph_t *graph)
{
  bool moved = false;
  for (int32_t i = 0; i < graph->nlanes; i++) {
    sfc_lane_t *lane = &graph->lanes[i];
    if (lane->tx_unread > 0)
      moved |= sfc_lane_check_read(lane);
    if (lane->tx_stalled)
      moved |= resume_sends(lane, false);
  }
  return moved;
}

bool sfc_graph_hand_over(sf_graph_t *graph)
{
  bool moved = false;
  for (int32_t i = 0; i < graph->nlanes && graph->nstalled > 0 && !sfc_graph_is_failed(graph); i++)
    if (graph->lanes[i].tx_stalled)
      moved |= resume_sends(&graph->lanes[i], true);
  return moved;
}

bool sfc_thread_hand_over(const sfc_thread_t *thread)
{
  bool moved = false;
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
    moved |= graph->nstalled > 0 && sfc_graph_hand_over(graph);
  return moved;
}

static bool progress_graph(sf_graph_t *graph)
{
  bool moved = false;
  if (sfc_graph_is_failed(graph))
    return false;
  int32_t kept = 0, n = graph->nexpecting;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->expecting[i];
    moved |= sfc_lane_receive(lane);
    if (lane->rx_request != NULL)
      graph->expecting[kept++] = lane;
  }
  graph->nexpecting = kept;
  if (graph->nstalled > 0 || graph->nunread > 0)
    moved |= progress_sends(graph);
  return moved;
}

bool sfc_thread_progress(sfc_thread_t *thread)
{
  bool moved = false;
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
    moved |= progress_graph(graph);
  for (sfc_continuation_t *work = thread->continuations, *next; work != NULL; work = next) {
    next = work->next;
    moved |= work->advance(work, thread);
  }
  sfc_thread_flush(thread);
  return moved;
}

/* Looks for a moment at where the next message will most likely arrive, more closely than progress can, and takes it if
 * it goes the straight way: whether it did. All others are for progress, which gives everybody a turn. */
static bool take_next(sf_graph_t *graph)
{
  if (graph->nexpecting == 0 || graph->nstalled > 0 || sfc_graph_is_failed(graph))
    return false;
  sfc_lane_t *lane = graph->expecting[0];
  if (lane->ops != &sfc_shared_lane_ops)
    return false; /* nobody spins for messages of other nodes */
  const sfshm_slot_t *slot;
  for (int looks = 0; (slot = sfshm_lane_peek(&lane->rx, &lane->tx)) == NULL; looks++) {
    if (looks == LOOKS_AT_ONCE || (lane->rx.eager != NULL && sfshm_lane_peek_eager(&lane->rx) != NULL))
      return false;
    sfshm_cpu_look_again();
  }
  if (!sfc_lane_receive_straight(lane, slot))
    return false;
  if (lane->rx_request == NULL)
    graph->expecting[0] = graph->expecting[--graph->nexpecting];
  return true;
}

/* Nothing has come for a while: perhaps because somebody called something else. */
static void check_matches(const sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
    for (int32_t i = 0; i < graph->nlanes && !sfc_graph_is_failed(graph); i++)
      sfc_lane_check_match(&graph->lanes[i]);
}

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A thread that tests in vain waits as well: for the oldest operation of each of its graphs. */
static void show_testing(const sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
    sfc_waiting_show(graph, graph->table[graph->first_sequence & graph->table_mask], thread->idle_ns);
}

static void end_testing(sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
    sfc_waiting_hide(graph);
  thread->idle_ns = 0;
}

/* Other nodes are asked when nothing has come from them for long; for each message only once. */
static void ask_after_tests(sfc_thread_t *thread)
{
  if (thread->idle_ns == 0)
    thread->idle_ns = now_ns();
  show_testing(thread);
  if (now_ns() - thread->idle_ns >= ASK_AFTER_NS)
    for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->thread_next)
      if (graph->trunks != NULL && !sfc_graph_is_failed(graph))
        sfc_trunks_ask(graph);
}

void sfc_thread_test(sfc_thread_t *thread)
{
  if (sfc_thread_progress(thread) || sfc_thread_hand_over(thread)) {
    sfc_thread_flush(thread);
    thread->idle_tests = 0;
    if (thread->idle_ns != 0)
      end_testing(thread);
  } else if (++thread->idle_tests % IDLE_TESTS == 0) {
    check_matches(thread);
    ask_after_tests(thread);
  }
}

/* The same, for who sleeps. */
static void ask_in_vain(sf_graph_t *graph, int64_t *began_ns, int64_t *patience_ns)
{
  int64_t now = now_ns();
  if (*began_ns == 0) {
    *began_ns = now;
  } else if (now - *began_ns >= *patience_ns) {
    sfc_trunks_ask(graph);
    *patience_ns = ASK_AGAIN_NS;
  }
}

/* How long to sleep before time is up: 0 when it is. The clock starts at the first call. */
static int64_t left_of(int64_t timeout_ns, int64_t *end_ns)
{
  int64_t now = now_ns();
  if (*end_ns == 0)
    *end_ns = now + timeout_ns;
  return *end_ns > now ? *end_ns - now : 0;
}

static sf_status_t wait_for(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns, sfshm_waiter_t *waiter,
                            sfc_lane_t **turn_p)
{
  sf_graph_t *graph = request->graph;
  sf_context_t *context = graph->context;
  int64_t began_ns = 0, patience_ns = ASK_AFTER_NS, end_ns = 0; /* of sleeping */
  for (;;) {
    bool moved = waiter->spins_left > 0 && take_next(graph);
    if (moved && sfc_request_is_complete(request) && thread->in_flight == 1) {
      sfc_thread_flush(thread);
      return SF_OK;
    }
    moved |= sfc_thread_progress(thread);
    if (sfc_request_is_complete(request))
      return SF_OK;
    if (sfc_graph_is_failed(graph))
      return sfc_graph_failure(graph);
    if (moved)
      continue;
    if (waiter->spins_left == 0 && request->ordered)
      *turn_p = sfc_waiting_turn(request);
    if (sfshm_waiter_step(waiter) == SFSHM_WAIT_LOOK || sfc_thread_hand_over(thread))
      continue;
    int64_t sleep_ns = graph->trunks != NULL ? patience_ns : -1;
    if (timeout_ns >= 0) {
      int64_t left_ns = left_of(timeout_ns, &end_ns);
      if (left_ns == 0) {
        ask_after_tests(thread); /* so that who always waits for moments only finds out, too */
        return SF_OK;
      }
      sleep_ns = sleep_ns < 0 || left_ns < sleep_ns ? left_ns : sleep_ns;
    }
    uint32_t ticket = sfshm_wake_arm(context->wake);
    check_matches(thread); /* part of the last look: what comes later wakes */
    if (sfc_thread_progress(thread) || sfc_request_is_complete(request) || sfc_graph_is_failed(graph))
      continue;
    sfshm_count(&context->counters.shared->sleeps, 1);
    sfc_waiting_sleep(graph, request->awaited, thread->idle_ns != 0 ? thread->idle_ns : waiter->since_ns,
                      waiter->since_ns);
    sfshm_wake_sleep(context->wake, ticket, sleep_ns);
    if (graph->trunks != NULL)
      ask_in_vain(graph, &began_ns, &patience_ns);
  }
}

/* Waiting that goes beyond spinning is counted; what is given up for now goes on to be shown. */
static void end_waiting(sfc_thread_t *thread, sf_graph_t *graph, const sfshm_waiter_t *waiter, sfc_lane_t *turn,
                        bool over)
{
  if (over && thread->idle_ns != 0)
    end_testing(thread);
  if (over)
    sfc_waiting_hide(graph);
  sfc_waiting_count(graph, waiter->since_ns, turn);
}

sf_status_t sfc_thread_wait(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns)
{
  sf_graph_t *graph = request->graph;
  sfshm_waiter_t waiter;
  sfc_lane_t *turn = NULL;
  if (sfc_request_is_complete(request) && thread->in_flight == 1) /* else it is the others' chance */
    return SF_OK;
  /* What comes from another node comes through the daemon, which may need this core. */
  sfshm_waiter_start(&waiter, graph->context->board, graph->trunks == NULL ? SPINS : 0);
  sf_status_t status = wait_for(thread, request, timeout_ns, &waiter, &turn);
  if (waiter.since_ns != 0)
    end_waiting(thread, graph, &waiter, turn, status != SF_OK || sfc_request_is_complete(request));
  return status;
}
