/* Progress and waiting: see progress.h. */
#include "client/engine/progress.h"

#include "client/core.h"
#include "client/engine/eager.h"
#include "client/engine/in_flight.h"
#include "client/engine/lane_ops.h"
#include "client/engine/lane_send.h"
#include "client/engine/mismatch.h"
#include "client/engine/op_trace.h"
#include "client/engine/thread.h"
#include "client/engine/trunk.h"
#include "client/engine/wait_state.h"
#include "client/graph.h"

/* About 100 us of spinning. */
#define SPINS 400
#define LOOKS_AT_ONCE 100

/* Waiting time after which a caller with a short time limit sends eagerly, as if it had no limit. */
#define EAGER_AFTER_NS INT64_C(200000)

/* Waiting time before asking other nodes what they called: at first, and repeatedly. */
#define ASK_AFTER_NS INT64_C(100000000)
#define ASK_AGAIN_NS INT64_C(1000000000)

/* Unsuccessful tests before looking for a mismatch. */
#define IDLE_TESTS 1024

/* Continues the sends of a stalled lane, and of the requests begun since. eagerly: also eagerly, if the lane takes
 * nothing. */
static bool resume_sends(sfc_lane_t *lane, bool eagerly)
{
  sf_graph_t *graph = lane->graph;
  uint64_t before = lane->tx.posted, first = lane->tx_sequence;
  while (lane->tx_sequence <= graph->flight.last_sequence) {
    sf_request_t *request = graph->flight.table[lane->tx_sequence & graph->flight.table_mask];
    if (request != NULL && request->trace != 0)
      sfc_op_trace_mark(request);
    if (request != NULL && sfc_lane_sends(lane, request->operation) && !sfc_lane_send(lane, request) &&
        !(eagerly && sfc_eager_send(lane, request)))
      return lane->tx.posted != before || lane->tx_sequence != first;
    lane->tx_sequence++;
    lane->tx_cursor = (sfc_cursor_t){0};
    graph->progress.last_lane = lane;
  }
  lane->tx_stalled = false;
  graph->progress.nstalled--;
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

bool sfc_graph_send_eagerly(sf_graph_t *graph)
{
  bool moved = false;
  for (int32_t i = 0; i < graph->nlanes && graph->progress.nstalled > 0 && !sfc_graph_is_failed(graph); i++)
    if (graph->lanes[i].tx_stalled)
      moved |= resume_sends(&graph->lanes[i], true);
  return moved;
}

bool sfc_thread_send_eagerly(const sfc_thread_t *thread)
{
  bool moved = false;
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
    moved |= graph->progress.nstalled > 0 && sfc_graph_send_eagerly(graph);
  return moved;
}

static bool progress_graph(sf_graph_t *graph)
{
  bool moved = false;
  if (sfc_graph_is_failed(graph))
    return false;
  int32_t kept = 0, n = graph->progress.nexpecting;
  for (int32_t i = 0; i < n; i++) {
    sfc_lane_t *lane = graph->progress.expecting[i];
    moved |= sfc_lane_receive(lane);
    if (lane->rx_request != NULL)
      graph->progress.expecting[kept++] = lane;
  }
  graph->progress.nexpecting = kept;
  if (graph->progress.nstalled > 0 || graph->progress.nunread > 0)
    moved |= progress_sends(graph);
  return moved;
}

bool sfc_thread_progress(sfc_thread_t *thread)
{
  bool moved = false;
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
    moved |= progress_graph(graph);
  for (sfc_continuation_t *work = thread->continuations, *next; work != NULL; work = next) {
    next = work->next;
    moved |= work->advance(work);
  }
  sfc_thread_flush(thread);
  return moved;
}

/* Spins on the lane where the next message is most likely, and takes it if it is on the fast path, or is no message of
 * fields. Returns whether it did. General progress takes all others and is fair. */
static bool take_next(sf_graph_t *graph)
{
  if (graph->progress.nexpecting == 0 || graph->progress.nstalled > 0 || sfc_graph_is_failed(graph))
    return false;
  sfc_lane_t *lane = graph->progress.expecting[0];
  if (lane->ops != &sfc_shared_lane_ops)
    return false; /* no spinning for other nodes */
  const sfshm_slot_t *slot;
  for (int looks = 0; (slot = sfshm_lane_peek(&lane->rx, &lane->tx)) == NULL; looks++) {
    if (looks == LOOKS_AT_ONCE || (lane->rx.eager != NULL && sfshm_lane_peek_eager(&lane->rx) != NULL))
      return false;
    sfshm_cpu_look_again();
  }
  sfshm_lane_fetch_following(&lane->rx);
  const sfc_payload_ops_t *payload = lane->rx_request->payload;
  if (payload == NULL ? !sfc_fast_path_receive(lane, slot)
                      : !payload->take_short(lane, slot) && !sfc_lane_receive_shared(lane))
    return false;
  if (lane->rx_request == NULL)
    graph->progress.expecting[0] = graph->progress.expecting[--graph->progress.nexpecting];
  return true;
}

/* Nothing has arrived for a while: perhaps a rank called something else. */
static void check_matches(const sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
    for (int32_t i = 0; i < graph->nlanes && !sfc_graph_is_failed(graph); i++)
      sfc_mismatch_check_lane(&graph->lanes[i]);
}

/* A thread that tests in vain also waits: for the oldest operation of each graph. */
static void show_testing(const sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
    sfc_wait_state_show(graph, graph->flight.table[graph->flight.first_sequence & graph->flight.table_mask],
                        thread->idle_ns);
}

static void end_testing(sfc_thread_t *thread)
{
  for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
    sfc_wait_state_hide(graph);
  thread->idle_ns = 0;
}

/* Asks other nodes after a long time without messages, once per message. */
static void ask_after_tests(sfc_thread_t *thread)
{
  if (thread->idle_ns == 0)
    thread->idle_ns = sfc_now_ns();
  show_testing(thread);
  if (sfc_now_ns() - thread->idle_ns >= ASK_AFTER_NS)
    for (sf_graph_t *graph = thread->graphs; graph != NULL; graph = graph->user.next)
      if (graph->trunks != NULL && !sfc_graph_is_failed(graph))
        sfc_mismatch_ask_nodes(graph);
}

void sfc_thread_test(sfc_thread_t *thread)
{
  if (sfc_thread_progress(thread) || sfc_thread_send_eagerly(thread)) {
    sfc_thread_flush(thread);
    thread->idle_tests = 0;
    if (thread->idle_ns != 0)
      end_testing(thread);
  } else if (++thread->idle_tests % IDLE_TESTS == 0) {
    check_matches(thread);
    ask_after_tests(thread);
  }
}

/* ---- Waiting ---- */

/* One waiting call. Its time limit counts from the end of spinning. */
typedef struct wait {
  sfc_thread_t *thread;
  sf_request_t *request;
  int64_t timeout_ns; /* < 0: none */
  sfc_idle_t idle;
  sfc_lane_t *turn; /* lane whose turn is missing in an ordered reduce; NULL: none */
  int64_t ask_ns;   /* time to ask other nodes, set when the thread first sleeps; 0: not set */
} wait_t;

static bool is_over(const sf_request_t *request)
{
  return sfc_request_is_complete(request) || sfc_graph_is_failed(request->graph);
}

/* Time to sleep; < 0: until woken; 0: time is over. Asks other nodes if necessary. */
static int64_t sleep_limit_ns(wait_t *wait)
{
  bool asks = wait->request->graph->trunks != NULL;
  int64_t now = asks || wait->timeout_ns >= 0 ? sfc_now_ns() : 0, limit_ns = -1;
  if (wait->timeout_ns >= 0) {
    int64_t end_ns = wait->idle.since_ns + wait->timeout_ns;
    limit_ns = end_ns > now ? end_ns - now : 0;
  }
  if (asks && limit_ns != 0) {
    if (wait->ask_ns == 0)
      wait->ask_ns = now + ASK_AFTER_NS;
    if (wait->ask_ns <= now) {
      sfc_mismatch_ask_nodes(wait->request->graph);
      wait->ask_ns = now + ASK_AGAIN_NS;
    }
    if (limit_ns < 0 || wait->ask_ns - now < limit_ns)
      limit_ns = wait->ask_ns - now;
  }
  return limit_ns;
}

/* Sleeps until another rank or the daemon wakes the thread. false: time is over. */
static bool sleep_now(wait_t *wait)
{
  sf_graph_t *graph = wait->request->graph;
  sf_context_t *context = graph->context;
  int64_t limit_ns = sleep_limit_ns(wait), since_ns = wait->idle.since_ns, idle_ns = wait->thread->idle_ns;
  if (limit_ns == 0) {
    ask_after_tests(wait->thread); /* so that a caller with short limits finds mismatches too */
    return false;
  }
  uint32_t ticket = sfshm_wake_arm(context->wake);
  check_matches(wait->thread); /* part of the last look: later changes wake the thread */
  if (sfc_thread_progress(wait->thread) || is_over(wait->request))
    return true;
  sfshm_count(&context->counters.shared->sleeps, 1);
  sfc_wait_state_sleep(graph, wait->request->awaited, idle_ns != 0 ? idle_ns : since_ns, since_ns);
  sfshm_wake_sleep(context->wake, ticket, limit_ns);
  return true;
}

static bool is_late(const wait_t *wait)
{
  return wait->timeout_ns >= 0 && wait->idle.since_ns != 0 && sfc_now_ns() - wait->idle.since_ns >= wait->timeout_ns;
}

/* A caller that waits repeatedly for a short time has idle_ns set. */
static bool has_waited_long(const wait_t *wait)
{
  return wait->thread->idle_ns != 0 && sfc_now_ns() - wait->thread->idle_ns >= EAGER_AFTER_NS;
}

/* After an unsuccessful look. false: time is over. */
static bool idle(wait_t *wait)
{
  if (wait->idle.spins_left == 0 && wait->request->ordered)
    wait->turn = sfc_wait_state_turn(wait->request);
  bool tired = !sfc_idle_step(&wait->idle);
  if (!tired && !is_late(wait))
    return true;
  return ((tired || has_waited_long(wait)) && sfc_thread_send_eagerly(wait->thread)) || sleep_now(wait);
}

static sf_status_t wait_for(wait_t *wait)
{
  sf_request_t *request = wait->request;
  sf_graph_t *graph = request->graph;
  for (;;) {
    bool moved = wait->idle.spins_left > 0 && take_next(graph);
    if (moved && sfc_request_is_complete(request) && wait->thread->in_flight == 1) {
      sfc_thread_flush(wait->thread);
      return SF_OK;
    }
    moved |= sfc_thread_progress(wait->thread);
    if (sfc_request_is_complete(request))
      return SF_OK;
    if (sfc_graph_is_failed(graph))
      return sfc_graph_failure(graph);
    if (!moved && !idle(wait))
      return SF_OK;
  }
}

/* Counts a wait that went beyond spinning. A wait that ran out of time goes on: it is still shown, and counted later.
 */
static void end_waiting(const wait_t *wait, sf_status_t status)
{
  sf_graph_t *graph = wait->request->graph;
  bool over = status != SF_OK || sfc_request_is_complete(wait->request);
  if (over) {
    if (wait->thread->idle_ns != 0)
      end_testing(wait->thread);
    sfc_wait_state_hide(graph);
  }
  sfc_wait_state_count(graph, wait->idle.since_ns, wait->turn, over);
}

sf_status_t sfc_thread_wait(sfc_thread_t *thread, sf_request_t *request, int64_t timeout_ns)
{
  const sf_graph_t *graph = request->graph;
  bool shown = __builtin_expect(thread->idle_ns != 0, false);               /* an earlier wait ran out of time */
  if (sfc_request_is_complete(request) && thread->in_flight == 1 && !shown) /* others get their chance otherwise */
    return SF_OK;
  wait_t wait = {.thread = thread, .request = request, .timeout_ns = timeout_ns};
  /* Messages of other nodes come through the daemon, which may need this core: no spinning. */
  sfc_idle_start(&wait.idle, graph->context->board, graph->trunks == NULL ? SPINS : 0);
  sf_status_t status = wait_for(&wait);
  if (wait.idle.since_ns != 0)
    end_waiting(&wait, status);
  else if (shown && is_over(request))
    end_testing(thread);
  return status;
}

/* ---- Turns of several threads ---- */

/* Since when tests are unsuccessful goes along, so that whoever makes progress ends what sfctl shows of it. */
static bool move_graphs(const sf_context_t *context, sfc_thread_t *from, sfc_thread_t *to)
{
  bool crowded = false;
  to->idle_tests = from->idle_tests;
  to->idle_ns = from->idle_ns;
  from->idle_ns = 0;
  for (sf_graph_t *graph = from->graphs, *next; graph != NULL; graph = next) {
    next = graph->user.next;
    if (graph->context != context)
      continue;
    from->in_flight -= (uint32_t)graph->in_flight;
    sfc_in_flight_detach(graph);
    sfc_in_flight_attach(graph, to);
    to->in_flight += (uint32_t)graph->in_flight;
    crowded |= sfc_pool_is_crowded(graph);
  }
  return crowded;
}

void sfc_pool_enter(const sf_context_t *context, sfc_thread_t *pool)
{
  (void)move_graphs(context, pool, sfc_thread_self());
}

bool sfc_pool_leave(const sf_context_t *context, sfc_thread_t *pool)
{
  return move_graphs(context, sfc_thread_self(), pool);
}

void sfc_pool_continue(void)
{
  sfc_thread_test(sfc_thread_self());
}
