/* Nodes with channels over the loop fabric. */
#include "tests/unit/channel_fixture.h"

/* More than any test needs. */
#define MAX_STEPS 2000000u

/* ---- Handlers ---- */

static sfd_placing_t place(void *owner, int32_t from, const sfd_message_head_t *head, void **buffer_p)
{
  sftest_node_t *node = owner;
  ck_assert(node->is_told);
  ck_assert_ptr_null(node->buffers[from]);
  if (node->on_place != NULL)
    node->on_place(node, head);
  if (node->placing != SFD_PLACE_HERE)
    return node->placing;
  node->buffers[from] = malloc(head->payload_bytes);
  node->nplaced++;
  *buffer_p = node->buffers[from];
  return node->placing;
}

static uint8_t *copy_of(const void *payload, size_t nbytes)
{
  uint8_t *copy = NULL;
  if (payload != NULL) {
    copy = malloc(nbytes);
    memcpy(copy, payload, nbytes);
  }
  return copy;
}

static sf_status_t arrived(void *owner, int32_t from, const sfd_message_head_t *head, void *payload)
{
  sftest_node_t *node = owner;
  ck_assert(node->is_told);
  ck_assert((payload == NULL) == (head->payload_bytes == 0));
  if (node->narrivals == node->room) {
    node->room = node->room == 0 ? 16 : 2 * node->room;
    node->arrivals = realloc(node->arrivals, node->room * sizeof node->arrivals[0]);
  }
  node->arrivals[node->narrivals++] =
      (sftest_arrival_t){.from = from, .head = *head, .payload = copy_of(payload, head->payload_bytes)};
  if (payload != NULL && payload == node->buffers[from]) {
    free(payload);
    node->buffers[from] = NULL;
    node->nplaced--;
  }
  return node->on_arrived != NULL ? node->on_arrived(node, head) : SF_OK;
}

static void lost(void *owner, int32_t from, const sfd_message_head_t *head)
{
  sftest_node_t *node = owner;
  ck_assert(node->is_told);
  ck_assert_ptr_nonnull(node->buffers[from]);
  ck_assert_uint_gt(head->payload_bytes, 0);
  free(node->buffers[from]);
  node->buffers[from] = NULL;
  node->nplaced--;
  node->nlost++;
}

static void down(void *owner, int32_t from, sf_status_t status, const char *detail)
{
  sftest_node_t *node = owner;
  char name[16];
  ck_assert(node->is_told);
  ck_assert_int_eq(sfd_channel_state(node->channels, from), SFD_CHANNEL_CLOSED);
  ck_assert_uint_eq(sfd_channel_counts(node->channels, from)->queued_messages, 0);
  snprintf(name, sizeof name, "node %d", from);
  ck_assert_msg(strstr(detail, name) != NULL, "\"%s\" does not name node %d", detail, from);
  node->ndown++;
  node->down_node = from;
  node->down_status = status;
  snprintf(node->down_detail, sizeof node->down_detail, "%s", detail);
  if (node->on_down != NULL)
    node->on_down(node);
}

static void closed(void *owner)
{
  sftest_node_t *node = owner;
  ck_assert(!node->closed && node->is_told);
  node->closed = true;
}

static void deferred(void *owner)
{
  sftest_node_t *node = owner;
  node->deferred = true;
}

static const sfd_channel_handlers_t handlers = {
    .place = place, .arrived = arrived, .lost = lost, .down = down, .closed = closed, .deferred = deferred};

static void note_done(void *context, sf_status_t status)
{
  sftest_done_t *done = context;
  done->calls++;
  done->status = status;
}

/* ---- The cluster ---- */

void sftest_cluster_start(sftest_cluster_t *cluster, int32_t nnodes)
{
  *cluster = (sftest_cluster_t){.hub = sftest_fabric_hub_create(nnodes), .nnodes = nnodes};
  ck_assert_ptr_nonnull(cluster->hub);
  for (int32_t i = 0; i < nnodes; i++) {
    sftest_node_t *node = &cluster->nodes[i];
    *node = (sftest_node_t){.cluster = cluster, .number = i, .placing = SFD_PLACE_CHANNEL};
    ck_assert_int_eq(sfd_channels_create(sftest_fabric_of(cluster->hub, i), &handlers, node, &node->channels), SF_OK);
  }
}

void sftest_cluster_bare(sftest_cluster_t *cluster, int32_t number)
{
  sftest_node_t *node = &cluster->nodes[number];
  sfd_channels_destroy(node->channels);
  node->channels = NULL;
}

static void set_told(sftest_cluster_t *cluster, bool is_told)
{
  for (int32_t i = 0; i < cluster->nnodes; i++)
    cluster->nodes[i].is_told = is_told;
}

/* Whether anything was there to be told. */
static bool run_deferred(sftest_cluster_t *cluster)
{
  bool any = false;
  for (int32_t i = 0; i < cluster->nnodes; i++) {
    sftest_node_t *node = &cluster->nodes[i];
    if (!node->deferred)
      continue;
    any = true;
    node->deferred = false;
    sfd_channels_run_deferred(node->channels);
  }
  return any;
}

void sftest_cluster_step(sftest_cluster_t *cluster)
{
  set_told(cluster, true);
  sftest_fabric_step(cluster->hub);
  run_deferred(cluster);
  set_told(cluster, false);
}

static bool anything_deferred(const sftest_cluster_t *cluster)
{
  bool any = false;
  for (int32_t i = 0; i < cluster->nnodes; i++)
    any |= cluster->nodes[i].deferred;
  return any;
}

void sftest_cluster_run(sftest_cluster_t *cluster)
{
  unsigned steps = 0;
  while (sftest_fabric_pending(cluster->hub) || anything_deferred(cluster)) {
    ck_assert_uint_lt(steps++, MAX_STEPS);
    sftest_cluster_step(cluster);
  }
}

static void free_node(sftest_node_t *node)
{
  ck_assert_int_eq(node->nplaced, 0);
  sfd_channels_destroy(node->channels);
  for (size_t i = 0; i < node->narrivals; i++)
    free(node->arrivals[i].payload);
  free(node->arrivals);
}

void sftest_cluster_stop(sftest_cluster_t *cluster)
{
  for (int32_t i = 0; i < cluster->nnodes; i++)
    if (cluster->nodes[i].channels != NULL)
      sfd_channels_close(cluster->nodes[i].channels);
  sftest_cluster_run(cluster);
  for (int32_t i = 0; i < cluster->nnodes; i++) {
    sftest_node_t *node = &cluster->nodes[i];
    ck_assert(node->closed || node->channels == NULL);
    free_node(node);
  }
  sftest_fabric_hub_destroy(cluster->hub);
}

sf_status_t sftest_send_message(sftest_cluster_t *cluster, int32_t from, int32_t to, uint64_t number,
                                const void *payload, size_t nbytes, sftest_done_t *done)
{
  sfd_message_head_t head = {.kind = 1, .payload_bytes = nbytes, .desc = number};
  return sfd_channel_send(cluster->nodes[from].channels, to, &head, payload, done != NULL ? note_done : NULL, done);
}

/* ---- Expectations ---- */

void sftest_expect_arrival(const sftest_node_t *node, size_t i, uint64_t number, const void *payload, size_t nbytes)
{
  ck_assert_uint_gt(node->narrivals, i);
  const sftest_arrival_t *arrival = &node->arrivals[i];
  ck_assert_uint_eq(arrival->head.desc, number);
  ck_assert_uint_eq(arrival->head.payload_bytes, nbytes);
  if (nbytes > 0)
    ck_assert_mem_eq(arrival->payload, payload, nbytes);
}

void sftest_expect_down(const sftest_node_t *node, int32_t other, sf_status_t status, const char *text)
{
  ck_assert_int_eq(node->ndown, 1);
  ck_assert_int_eq(node->down_node, other);
  ck_assert_int_eq(node->down_status, status);
  ck_assert_msg(strstr(node->down_detail, text) != NULL, "\"%s\"", node->down_detail);
}
