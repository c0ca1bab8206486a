/* The fabric between daemons of one process. The caller's thread.
 *
 * Each pair of nodes has two ends. An end belongs to the node that sees it, and holds what this node has asked for and
 * what it has not yet been told:
 *
 *   IDLE ──connect──▶ CONNECTING ──step──▶ UP
 *     ▲                   │ refused        │ disconnect, or ended (by the other end) and told
 *     └───────────────────┴────────────────┘
 *
 * Events are called in steps only, and each may change every end: after one nothing is assumed of any state. */
#include "tests/common/fabric/loop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/fabric/internal.h"

/* Texts that name a node. */
#define TEXT_SIZE 128

/* ---- Chance ---- */

static unsigned draw(sftest_fabric_hub_t *hub)
{
  hub->random = hub->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(hub->random >> 33);
}

/* The size of the next chunk of so many bytes: 1..nbytes. */
static size_t chunk(sftest_fabric_hub_t *hub, size_t nbytes)
{
  static const unsigned limits[] = {3, 50, 700, 9000, SFTEST_FABRIC_PIPE};
  if (hub->random == 0)
    return nbytes;
  unsigned limit = limits[draw(hub) % (sizeof limits / sizeof limits[0])];
  return sfd_smaller(nbytes, 1 + draw(hub) % limit);
}

/* Whether to go on with what could go on. */
static bool goes_on(sftest_fabric_hub_t *hub)
{
  return hub->random == 0 || draw(hub) % 4 != 0;
}

/* ---- Ends ---- */

static bool has_user(const sftest_fabric_node_t *node)
{
  return node->fabric.events != NULL && !node->dead && !node->closing;
}

static bool has_stream(const sftest_fabric_hub_t *hub, int32_t node, int32_t other)
{
  const sftest_fabric_end_t *end = &hub->nodes[node].ends[other];
  return end->state == SFTEST_FABRIC_UP && !end->ended;
}

/* Back to the beginning; what was under way is gone. */
static void reset(sftest_fabric_end_t *end)
{
  free(end->iov);
  end->iov = NULL;
  end->state = SFTEST_FABRIC_IDLE;
  end->ended = false;
  sfd_pipe_clear(&end->out);
}

/* The other end is gone. Returns whether there was a stream. */
bool sftest_fabric_end_stream(sftest_fabric_hub_t *hub, int32_t node, int32_t other, const char *reason)
{
  sftest_fabric_end_t *end = sftest_fabric_end_of(hub, node, other);
  if (!has_stream(hub, node, other))
    return false;
  end->ended = true;
  end->reason = reason;
  return true;
}

/* The node gives up its end. */
static void leave(sftest_fabric_hub_t *hub, int32_t node, int32_t other, const char *reason)
{
  sftest_fabric_end_stream(hub, other, node, reason);
  reset(sftest_fabric_end_of(hub, node, other));
}

void sftest_fabric_leave_all(sftest_fabric_node_t *node, const char *reason)
{
  for (int32_t other = 0; other < node->hub->nnodes; other++)
    if (other != node->fabric.node)
      leave(node->hub, node->fabric.node, other, reason);
}

/* ---- The fabric's functions ---- */

static void loop_connect(sfd_fabric_t *fabric, int32_t other)
{
  sftest_fabric_node_t *node = (sftest_fabric_node_t *)fabric;
  if (node->dead)
    return;
  assert(other != fabric->node && node->ends[other].state == SFTEST_FABRIC_IDLE);
  node->ends[other].state = SFTEST_FABRIC_CONNECTING;
}

static void loop_send(sfd_fabric_t *fabric, int32_t other, const struct iovec iov[], int niov)
{
  sftest_fabric_node_t *node = (sftest_fabric_node_t *)fabric;
  sftest_fabric_end_t *end = &node->ends[other];
  if (node->dead)
    return;
  assert(end->state == SFTEST_FABRIC_UP && end->iov == NULL && niov > 0);
  end->iov = calloc((size_t)niov, sizeof *iov);
  if (end->iov == NULL)
    abort(); /* in a test */
  memcpy(end->iov, iov, (size_t)niov * sizeof *iov);
  end->niov = niov;
  end->next_iov = 0;
  end->offset = 0;
}

static void loop_disconnect(sfd_fabric_t *fabric, int32_t other)
{
  leave(((sftest_fabric_node_t *)fabric)->hub, fabric->node, other, "closed by the other end");
}

static void loop_close(sfd_fabric_t *fabric)
{
  sftest_fabric_node_t *node = (sftest_fabric_node_t *)fabric;
  node->closing = true;
  sftest_fabric_leave_all(node, "closed by the other end");
}

static void loop_destroy(sfd_fabric_t *fabric)
{
  fabric->events = NULL;
}

static void loop_describe(const sfd_fabric_t *fabric, int32_t other, char *text, size_t text_size)
{
  (void)fabric;
  snprintf(text, text_size, "node %d (loop)", other);
}

const sfd_fabric_functions_t sftest_fabric_functions = {.name = "loop",
                                                        .connect = loop_connect,
                                                        .send = loop_send,
                                                        .disconnect = loop_disconnect,
                                                        .close = loop_close,
                                                        .destroy = loop_destroy,
                                                        .describe = loop_describe};

/* ---- Steps: streams begin and end ---- */

static void tell_down(sftest_fabric_node_t *node, int32_t other, sf_status_t status, const char *reason)
{
  char text[TEXT_SIZE];
  snprintf(text, sizeof text, "node %d (loop): %s", other, reason);
  reset(&node->ends[other]);
  node->fabric.events->down(node->fabric.owner, other, status, text);
}

static void tell_up(sftest_fabric_node_t *node, int32_t other)
{
  sftest_fabric_end_t *end = &node->ends[other];
  if (end->out.bytes == NULL)
    end->out.bytes = malloc(SFTEST_FABRIC_PIPE);
  if (end->out.bytes == NULL)
    abort(); /* in a test */
  end->state = SFTEST_FABRIC_UP;
  node->fabric.events->up(node->fabric.owner, other);
}

static const char *why_refused(const sftest_fabric_hub_t *hub, int32_t a, int32_t b)
{
  if (hub->nodes[b].dead)
    return "no such daemon any more";
  return !has_user(&hub->nodes[b]) || hub->nodes[a].ends[b].refused ? "connection refused" : NULL;
}

/* Both ends are told at one time, unless the first one has changed its mind meanwhile. */
static bool step_connect(sftest_fabric_hub_t *hub, int32_t from, int32_t to)
{
  sftest_fabric_node_t *node = &hub->nodes[from], *peer = &hub->nodes[to];
  if (!has_user(node) || node->ends[to].state != SFTEST_FABRIC_CONNECTING)
    return false;
  const char *refusal = why_refused(hub, from, to);
  if (refusal != NULL) {
    tell_down(node, to, SF_ERR_DAEMON_LOST, refusal);
    return true;
  }
  if (peer->ends[from].state == SFTEST_FABRIC_UP) /* it will hear of the end of the last stream first */
    return true;
  tell_up(node, to);
  if (has_stream(hub, from, to) && has_user(peer))
    tell_up(peer, from);
  return true;
}

static bool step_down(sftest_fabric_hub_t *hub, int32_t node, int32_t other)
{
  sftest_fabric_end_t *end = sftest_fabric_end_of(hub, node, other);
  if (!has_user(&hub->nodes[node]) || end->state != SFTEST_FABRIC_UP || !end->ended)
    return false;
  tell_down(&hub->nodes[node], other, SF_ERR_DAEMON_LOST, end->reason);
  return true;
}

static bool step_close(sftest_fabric_node_t *node)
{
  if (!node->closing || node->closed)
    return false;
  node->closed = true;
  if (node->fabric.events != NULL)
    node->fabric.events->closed(node->fabric.owner);
  return true;
}

/* ---- Steps: bytes move ---- */

static bool joined(const sftest_fabric_hub_t *hub, int32_t a, int32_t b)
{
  return has_stream(hub, a, b) && has_stream(hub, b, a) && has_user(&hub->nodes[a]) && has_user(&hub->nodes[b]);
}

static bool can_enter(const sftest_fabric_end_t *end)
{
  return end->iov != NULL && !end->held && sfd_pipe_takes(&end->out);
}

static bool is_sent(const sftest_fabric_end_t *end)
{
  return end->iov != NULL && end->next_iov == end->niov && !end->held;
}

/* Bytes of the send under way go into the pipe, and are marked with the time of their arrival. */
static size_t enter(sftest_fabric_hub_t *hub, sftest_fabric_end_t *end)
{
  size_t entered = 0;
  while (end->next_iov < end->niov && end->out.count < SFTEST_FABRIC_PIPE && (entered == 0 || goes_on(hub))) {
    const struct iovec *iov = &end->iov[end->next_iov];
    size_t nbytes = sfd_smaller(iov->iov_len - end->offset, SFTEST_FABRIC_PIPE - end->out.count);
    if (nbytes > 0) {
      nbytes = chunk(hub, nbytes);
      sfd_pipe_put(&end->out, (const uint8_t *)iov->iov_base + end->offset, nbytes);
    }
    entered += nbytes;
    end->offset += nbytes;
    if (end->offset == iov->iov_len) {
      end->next_iov++;
      end->offset = 0;
    }
  }
  return entered;
}

static bool step_send(sftest_fabric_hub_t *hub, int32_t from, int32_t to)
{
  sftest_fabric_end_t *end = sftest_fabric_end_of(hub, from, to);
  bool moved = false;
  if (!joined(hub, from, to))
    return false;
  if (can_enter(end)) {
    size_t entered = enter(hub, end);
    if (entered > 0)
      sfd_pipe_mark(&end->out, entered, hub->step + hub->delay);
    moved = true;
  }
  if (is_sent(end)) {
    free(end->iov);
    end->iov = NULL;
    hub->nodes[from].fabric.events->sent(hub->nodes[from].fabric.owner, to);
    moved = true;
  }
  return moved;
}

static bool can_arrive(const sftest_fabric_hub_t *hub, int32_t from, int32_t to)
{
  return joined(hub, from, to) && sfd_pipe_due(&hub->nodes[from].ends[to].out, hub->step) > 0;
}

/* Fabrics may ask for a place and then not use it. */
static bool step_receive(sftest_fabric_hub_t *hub, int32_t from, int32_t to)
{
  bool moved = false;
  const sfd_fabric_t *fabric = &hub->nodes[to].fabric;
  while (can_arrive(hub, from, to) && goes_on(hub)) {
    sfd_pipe_t *pipe = &sftest_fabric_end_of(hub, from, to)->out;
    void *buffer = NULL;
    size_t room = fabric->events->want(fabric->owner, from, &buffer);
    if (buffer == NULL)
      break;
    assert(room > 0);
    if (!goes_on(hub))
      continue;
    size_t nbytes = chunk(hub, sfd_smaller(room, sfd_pipe_due(pipe, hub->step)));
    sfd_pipe_get(pipe, buffer, nbytes);
    fabric->events->got(fabric->owner, from, nbytes);
    moved = true;
  }
  return moved;
}

/* ---- The hub ---- */

static bool step_pair(sftest_fabric_hub_t *hub, int32_t a, int32_t b)
{
  bool moved = step_down(hub, a, b);
  moved |= step_connect(hub, a, b);
  moved |= step_send(hub, a, b);
  return step_receive(hub, a, b) || moved;
}

bool sftest_fabric_step(sftest_fabric_hub_t *hub)
{
  bool moved = false;
  int32_t turn = hub->random == 0 ? 0 : (int32_t)(draw(hub) % (unsigned)hub->nnodes);
  hub->step++;
  for (int32_t i = 0; i < hub->nnodes; i++)
    for (int32_t b = 0; b < hub->nnodes; b++) {
      int32_t a = (i + turn) % hub->nnodes;
      if (a != b)
        moved |= step_pair(hub, a, b);
    }
  for (int32_t i = 0; i < hub->nnodes; i++)
    moved |= step_close(&hub->nodes[i]);
  return sftest_fabric_pending(hub) || moved;
}

static bool pair_pending(const sftest_fabric_hub_t *hub, int32_t a, int32_t b)
{
  const sftest_fabric_end_t *end = &hub->nodes[a].ends[b];
  if (a == b || !has_user(&hub->nodes[a]))
    return false;
  if (end->state == SFTEST_FABRIC_CONNECTING || end->ended)
    return true;
  return joined(hub, a, b) && (end->out.count > 0 || can_enter(end) || is_sent(end));
}

bool sftest_fabric_pending(const sftest_fabric_hub_t *hub)
{
  for (int32_t a = 0; a < hub->nnodes; a++) {
    if (hub->nodes[a].closing && !hub->nodes[a].closed)
      return true;
    for (int32_t b = 0; b < hub->nnodes; b++)
      if (pair_pending(hub, a, b))
        return true;
  }
  return false;
}

unsigned sftest_fabric_run(sftest_fabric_hub_t *hub, unsigned max_steps)
{
  unsigned steps = 0;
  while (steps < max_steps && sftest_fabric_pending(hub)) {
    sftest_fabric_step(hub);
    steps++;
  }
  return steps;
}
