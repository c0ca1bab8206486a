/* Trunk messages that ranks submit. Everything that a rank says is checked; a false number can at worst fail the graph
 * that it names, of the rank's own job. The daemon's thread. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/base.h"
#include "daemon/data/submit_rings.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs.h"
#include "daemon/net.h"
#include "shm/base/error.h"

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void grant(sfd_trunks_t *trunks, sfd_trunk_side_t *side)
{
  uint64_t granted = sfd_trunk_side_granted(side);
  if (trunks->letting_go || granted == atomic_load_explicit(&side->flow->granted, memory_order_relaxed))
    return;
  atomic_store_explicit(&side->flow->granted, granted, memory_order_release);
  if (trunks->graph != NULL)
    sfd_trunk_side_wake(trunks, side);
}

static void on_sent(void *context, sf_status_t status)
{
  const sfd_departure_t *departure = context;
  sfd_trunks_t *trunks = departure->trunks;
  sfd_trunk_side_t *side = &trunks->sides[departure->side];
  (void)status; /* a lost channel fails the job */
  if (++side->parts_done == side->submitted[(side->done + 1) % SFSHM_TRUNK_SLOTS].parts) {
    side->parts_done = 0;
    side->done++;
    grant(trunks, side);
  }
  sfd_trunks_departed(trunks);
  sfd_trunks_release(trunks);
}

/* Sends the next part of the next message. */
static void send_part(sfd_trunks_t *trunks, uint32_t number, sfd_submitted_t *submitted, const char *slot)
{
  sfd_trunk_side_t *side = &trunks->sides[number];
  uint64_t message = side->sent + 1;
  uint32_t part = side->parts_sent;
  int64_t first = sfshm_trunk_part_first(side->told.send_values, submitted->parts, part);
  int64_t end = sfshm_trunk_part_first(side->told.send_values, submitted->parts, part + 1);
  sfd_message_head_t head = {
      .kind = SFD_PEER_DATA,
      .flags = sfd_part_flags(sfd_other_role(side->told.role), part, submitted->parts) |
               (submitted->class != 0 ? SFD_FLAG_BLOCKS : 0),
      .number = (uint32_t)message,
      .payload_bytes = (uint64_t)(end - first) * submitted->unit_bytes,
      .job = trunks->graph->group->job->id,
      .object = trunks->graph->id,
      .desc = submitted->desc,
  };
  submitted->waiting &= ~(1u << part);
  if (++side->parts_sent == submitted->parts) {
    side->parts_sent = 0;
    side->sent++;
  }
  sfd_trunks_hold(trunks);
  if (sfd_event_ring != NULL && part == 0)
    sfd_event_ring_add_message(SFSHM_TRACE_DEPART, side->told.node, &head, message);
  sfd_network_send_payload(trunks->server, side->told.node, &head, slot + (uint64_t)first * submitted->unit_bytes,
                           on_sent, &trunks->departures[number]);
}

static sf_status_t find_slot(sfd_trunks_t *trunks, uint32_t number, const sfd_submitted_t *submitted, uint64_t message,
                             const char **slot_p)
{
  sfd_exchange_t *exchange;
  sf_status_t status =
      submitted->class != 0
          ? sfd_trunks_exchange_of_blocks(trunks, UINT64_C(1) << submitted->class, number, &exchange)
          : sfd_trunks_exchange(trunks, sfshm_exchange_class(submitted->unit_bytes), SFSHM_ALL_SIDES, &exchange);
  if (status != SF_OK)
    return status;
  *slot_p = (const char *)exchange->region.base + sfshm_send_slot(&exchange->slots[number], message);
  return SF_OK;
}

/* Credit is a message without urgency, which joins the next one. */
static void return_credit(sfd_trunks_t *trunks, sfd_trunk_side_t *side)
{
  sfd_message_head_t head = {
      .kind = SFD_PEER_CREDIT,
      .flags = sfd_other_role(side->told.role),
      .number = (uint32_t)side->consumed,
      .job = trunks->graph->group->job->id,
      .object = trunks->graph->id,
  };
  side->credits_sent = side->consumed;
  atomic_store_explicit(&side->flow->returned, side->consumed, memory_order_relaxed);
  sfd_network_send_lazily(trunks->server, side->told.node, &head);
}

static void set_answered(sfd_trunk_side_t *side, bool answered)
{
  side->answered = answered;
  atomic_store_explicit(&side->flow->answered, answered, memory_order_relaxed);
}

void sfd_trunk_side_return_due(sfd_trunks_t *trunks, sfd_trunk_side_t *side)
{
  if (side->consumed > side->credits_sent &&
      sfshm_trunk_credit_is_due(side->arrived, side->consumed, side->credits_sent, side->answered, side->slots)) {
    return_credit(trunks, side);
    set_answered(side, false);
  }
}

/* Returns credit to a node to which a message is sent next. The graph's sides with this node are neighbours. */
static void return_credits(sfd_trunks_t *trunks, uint32_t number)
{
  int32_t node = trunks->sides[number].told.node;
  while (number > 0 && trunks->sides[number - 1].told.node == node)
    number--;
  for (; number < trunks->nsides && trunks->sides[number].told.node == node; number++) {
    sfd_trunk_side_t *side = &trunks->sides[number];
    if (side->consumed - side->credits_sent >= SFSHM_TRUNK_CREDIT)
      return_credit(trunks, side);
    set_answered(side, true);
  }
}

/* Sends submitted messages in order. */
static void advance(sfd_trunks_t *trunks, uint32_t number)
{
  sfd_trunk_side_t *side = &trunks->sides[number];
  for (;;) {
    sfd_submitted_t *next = &side->submitted[(side->sent + 1) % SFSHM_TRUNK_SLOTS];
    const char *slot;
    if ((next->waiting & 1u << side->parts_sent) == 0)
      return;
    sf_status_t status = find_slot(trunks, number, next, side->sent + 1, &slot);
    if (status != SF_OK) {
      sfd_trunks_fail(trunks, status, sfshm_error_detail());
      return;
    }
    send_part(trunks, number, next, slot);
  }
}

static void fail(sfd_trunks_t *trunks, const sfd_rank_t *rank, sf_status_t status, const char *what, uint64_t value)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "rank %d submitted %s %" PRIu64, rank->number, what, value);
  sfd_trunks_fail(trunks, status, text);
}

/* The class of the slot that the rank names, or that of the unit; 0: invalid. */
static uint64_t class_of(const sfshm_ring_entry_t *entry)
{
  uint64_t of_unit = entry->size != 0 ? sfshm_exchange_class(entry->size) : 0;
  uint32_t class = sfshm_trunk_word_class(entry->b);
  uint64_t named = class < 64 ? sfshm_exchange_class((size_t)(UINT64_C(1) << class)) : 0;
  if (class == 0)
    return of_unit;
  return of_unit != 0 && named >= of_unit ? named : 0;
}

/* The message of which a part is submitted; the first part makes it. NULL: this is not such a part. */
static sfd_submitted_t *find_submitted(sfd_trunk_side_t *side, const sfshm_ring_entry_t *entry)
{
  uint32_t word = sfshm_trunk_word_parts(entry->b), class = sfshm_trunk_word_class(entry->b);
  uint32_t parts = word != 0 ? sfshm_trunk_parts(side->told.send_values, entry->size) : 1;
  sfd_submitted_t *submitted = &side->submitted[entry->message % SFSHM_TRUNK_SLOTS];
  bool is_new = submitted->message != entry->message;
  if (word != 0 && word != sfshm_trunk_part_word(word & 255, parts))
    return NULL;
  if (is_new)
    *submitted = (sfd_submitted_t){
        .message = entry->message, .parts = parts, .unit_bytes = entry->size, .class = class, .desc = entry->desc};
  uint32_t part = 1u << (word & 255);
  if ((word & 255) >= parts || (submitted->came & part) != 0 || submitted->parts != parts ||
      submitted->unit_bytes != entry->size || submitted->class != class || submitted->desc != entry->desc)
    return NULL;
  submitted->came |= part;
  submitted->waiting |= part;
  return submitted;
}

static void submit_send(sfd_trunks_t *trunks, const sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  sfd_trunk_side_t *side = &trunks->sides[entry->a];
  uint64_t granted = sfd_trunk_side_granted(side);
  uint64_t bytes;
  uint64_t class_bytes = class_of(entry);
  if (class_bytes == 0) {
    fail(trunks, rank, SF_ERR_PROTO, "a message of units of bytes", entry->size);
    return;
  }
  if (entry->message <= side->sent || entry->message > granted ||
      sfshm_trunk_needs(entry->message, side->told.send_values, class_bytes) > granted) {
    fail(trunks, rank, SF_ERR_PROTO, "message", entry->message);
    return;
  }
  if (__builtin_mul_overflow((uint64_t)side->told.send_values, entry->size, &bytes) || bytes > SFD_PAYLOAD_MAX) {
    fail(trunks, rank, SF_ERR_LIMIT, "a message to another node that is larger than 64 TiB: units of bytes",
         entry->size);
    return;
  }
  if (find_submitted(side, entry) == NULL) {
    fail(trunks, rank, SF_ERR_PROTO, "a part twice, or of no such message: message", entry->message);
    return;
  }
  return_credits(trunks, entry->a);
  advance(trunks, entry->a);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

static void on_question_sent(void *context, sf_status_t status);

static void ask(sfd_trunks_t *trunks, uint32_t number)
{
  sfd_trunk_side_t *side = &trunks->sides[number];
  sfd_message_head_t head = {
      .kind = SFD_PEER_AWAIT,
      .flags = sfd_other_role(side->told.role),
      .job = trunks->graph->group->job->id,
      .object = trunks->graph->id,
      .desc = side->awaited_desc,
  };
  side->is_asking = true;
  side->asks_again = false;
  sfd_trunks_hold(trunks);
  sfd_network_send_payload(trunks->server, side->told.node, &head, NULL, on_question_sent, &trunks->departures[number]);
}

static void on_question_sent(void *context, sf_status_t status)
{
  const sfd_departure_t *departure = context;
  sfd_trunks_t *trunks = departure->trunks;
  sfd_trunk_side_t *side = &trunks->sides[departure->side];
  side->is_asking = false;
  if (side->asks_again && status == SF_OK && trunks->graph != NULL && trunks->graph->state != SFD_GRAPH_FAILED &&
      !trunks->letting_go)
    ask(trunks, departure->side);
  sfd_trunks_release(trunks);
}

/* Only the last question counts, so that at most one waits in the channel, which other jobs use too and which ends when
 * too much waits. */
static void submit_await(sfd_trunks_t *trunks, const sfshm_ring_entry_t *entry)
{
  sfd_trunk_side_t *side = &trunks->sides[entry->a];
  side->awaited_desc = entry->desc;
  if (side->is_asking)
    side->asks_again = true;
  else
    ask(trunks, entry->a);
}

/* ---- Credits ----------------------------------------------------------------------------------------------------- */

/* Credit that is not due waits for a message to the other node. */
static void submit_credit(sfd_trunks_t *trunks, const sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  sfd_trunk_side_t *side = &trunks->sides[entry->a];
  if (entry->message <= side->consumed)
    return; /* the rings of two ranks are read in any order */
  if (entry->message > side->arrived) {
    fail(trunks, rank, SF_ERR_PROTO, "consumption of message", entry->message);
    return;
  }
  side->consumed = entry->message;
  if (entry->size != 0)
    return_credit(trunks, side);
  else
    sfd_trunk_side_return_due(trunks, side);
}

sf_status_t sfd_trunks_credit(sfd_server_t *server, int32_t node, const sfd_message_head_t *head)
{
  sfd_trunks_t *trunks;
  sfd_trunk_side_t *side = sfd_trunks_find_side(server, node, head, &trunks);
  if (side == NULL)
    return SF_OK;
  uint64_t credited = sfd_message_number(head->number, side->credited);
  if (credited <= side->credited || credited > side->sent)
    return sfshm_error(SF_ERR_PROTO,
                       "node %d has consumed message %" PRIu64 " of graph %" PRIu64 ", sent were %" PRIu64, node,
                       credited, head->object, side->sent);
  side->credited = credited;
  grant(trunks, side);
  return SF_OK;
}

/* ---- From the rings ---------------------------------------------------------------------------------------------- */

void sfd_trunks_submit(sfd_rank_t *rank, const sfshm_ring_entry_t *entry)
{
  const sfd_graph_t *graph = sfd_graph_find(rank->job, entry->graph);
  sfd_trunks_t *trunks = graph != NULL ? graph->trunks : NULL;
  if (trunks == NULL || graph->state == SFD_GRAPH_FAILED || trunks->letting_go ||
      sfd_group_rank_of(graph->group, rank->number) < 0)
    return; /* the graph may have failed meanwhile */
  if (entry->a >= trunks->nsides) {
    fail(trunks, rank, SF_ERR_PROTO, "something for side", entry->a);
    return;
  }
  switch (entry->kind) {
  case SFSHM_SUBMIT_SEND:
    submit_send(trunks, rank, entry);
    break;
  case SFSHM_SUBMIT_CREDIT:
    submit_credit(trunks, rank, entry);
    break;
  case SFSHM_SUBMIT_AWAIT:
    submit_await(trunks, entry);
    break;
  default:
    fail(trunks, rank, SF_ERR_PROTO, "a request of kind", entry->kind);
  }
}
