/* Answers about other nodes: see query_nodes.h. Reads the state of channels. The daemon's thread. */
#include "daemon/admin/query_nodes.h"

#include "daemon/admin/query.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/net.h"

#define SIDES_IN_MESSAGE 256

/* ---- Peers ---- */

static const char *const kinds[SFD_PEER_KINDS] = {
    [SFD_PEER_CONTROL] = "control",
    [SFD_PEER_WANTS] = "plan",
    [SFD_PEER_DATA] = "data",
    [SFD_PEER_CREDIT] = "credit",
    [SFD_PEER_AWAIT] = "await",
    [SFD_PEER_ARRAY] = "array",
    [SFD_PEER_ARRAY_DATA] = "array-data",
    [SFD_PEER_ARRAY_DONE] = "array-done",
};

const char *sfd_query_fabric(const sfd_channels_t *channels)
{
  return channels != NULL ? sfd_channels_fabric(channels) : "none";
}

static char *channel_state(sfd_channel_state_t state)
{
  static char closed[] = "closed", opening[] = "opening", open[] = "open";
  return state == SFD_CHANNEL_OPEN ? open : state == SFD_CHANNEL_OPENING ? opening : closed;
}

static void describe_traffic(const sfd_channel_counts_t *counts, Sfproto__PeerTraffic traffic[],
                             Sfproto__PeerTraffic *pointers[])
{
  for (size_t k = 0; k < SFD_PEER_KINDS; k++) {
    traffic[k] = (Sfproto__PeerTraffic)SFPROTO_BODY(
        peer_traffic, .kind = (char *)(uintptr_t)kinds[k] /* only read */, .messages_sent = counts->messages_sent[k],
        .messages_received = counts->messages_received[k], .payload_sent = counts->payload_sent[k],
        .payload_received = counts->payload_received[k]);
    pointers[k] = &traffic[k];
  }
}

static void describe_link(const sfd_channels_t *channels, int32_t node, Sfproto__PeerInfo *info)
{
  sfd_fabric_link_t link;
  if (!sfd_channels_link(channels, node, &link))
    return;
  info->has_send_queue_bytes = info->has_rtt_us = info->has_retransmits = info->has_busy_us = true;
  info->send_queue_bytes = link.send_queue_bytes;
  info->rtt_us = link.rtt_us;
  info->retransmits = link.retransmits;
  info->busy_us = link.busy_us;
}

static void send_peer(sfd_query_t *query, const sfd_channels_t *channels, int32_t node)
{
  const sfd_channel_counts_t *counts = sfd_channel_counts(channels, node);
  Sfproto__PeerTraffic traffic[SFD_PEER_KINDS];
  Sfproto__PeerTraffic *pointers[SFD_PEER_KINDS];
  char description[SFD_TEXT_SIZE];
  sfd_channels_describe(channels, node, description, sizeof description);
  describe_traffic(counts, traffic, pointers);
  Sfproto__PeerInfo info = SFPROTO_BODY(
      peer_info, .node = node, .description = description, .state = channel_state(sfd_channel_state(channels, node)),
      .traffic = pointers, .n_traffic = SFD_PEER_KINDS, .frames_sent = counts->frames_sent,
      .frames_received = counts->frames_received, .wire_sent = counts->bytes_sent,
      .wire_received = counts->bytes_received, .queued_messages = counts->queued_messages,
      .queued_bytes = counts->queued_bytes);
  describe_link(channels, node, &info);
  Sfproto__Message message = SFPROTO_MESSAGE(PEER_INFO, peer_info, &info);
  sfd_query_send(query, &message, NULL, 0);
}

bool sfd_query_send_next_peer(sfd_query_t *query, const sfd_channels_t *channels)
{
  int32_t *next = &query->next_rank;
  if (channels != NULL && *next == sfd_channels_node(channels))
    ++*next;
  if (channels == NULL || *next >= sfd_channels_nnodes(channels))
    return false;
  send_peer(query, channels, (*next)++);
  return true;
}

/* ---- Plans ---- */

static const sfd_graph_t *find_graph(const sfd_query_t *query, uint64_t id)
{
  const sfd_graph_t *graph = NULL;
  const sfd_job_t *job = sfd_query_visible_job(query, 0);
  for (; job != NULL && graph == NULL; job = sfd_query_visible_job(query, job->serial + 1))
    graph = sfd_graph_find(job, id);
  return graph;
}

bool sfd_query_has_graph(const sfd_query_t *query, uint64_t graph)
{
  return find_graph(query, graph) != NULL;
}

static Sfproto__PlanSide plan_side(const sfd_trunks_t *trunks, uint32_t number)
{
  sfd_trunk_survey_t survey;
  sfd_trunks_survey(trunks, number, &survey);
  bool as_root = survey.told->role == SFSHM_AS_ROOT;
  Sfproto__PlanSide side = SFPROTO_BODY(
      plan_side, .node = survey.told->node, .as_root = as_root, .members = survey.told->nmembers,
      .bcast_values = as_root ? survey.told->send_values : survey.told->receive_values,
      .reduce_values = as_root ? survey.told->receive_values : survey.told->send_values, .has_values_before = !as_root,
      .values_before = survey.values_before, .contiguous_values = survey.contiguous_values,
      SFPROTO_HAS(box_values, survey.box_values), .messages_sent = survey.sent, .messages_received = survey.received);
  return side;
}

static void send_plan(sfd_query_t *query, const sfd_graph_t *graph, uint32_t first, uint32_t n)
{
  const sfd_group_t *group = graph->group;
  Sfproto__PlanSide sides[SIDES_IN_MESSAGE];
  Sfproto__PlanSide *pointers[SIDES_IN_MESSAGE];
  for (uint32_t i = 0; i < n; i++) {
    sides[i] = plan_side(graph->trunks, first + i);
    pointers[i] = &sides[i];
  }
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(PLAN_INFO, plan_info, .graph = graph->id, .job_id = group->job->id, .job = group->job->name,
                         .size = group->size, .state = sfd_query_graph_state_name(graph),
                         .node = group->nodes[group->node_position], .sides = pointers, .n_sides = n);
  sfd_query_send(query, &message, NULL, 0);
}

/* Sends at least one message, also for a graph without edges to other nodes. */
bool sfd_query_send_next_plan(sfd_query_t *query)
{
  const sfd_graph_t *graph = find_graph(query, query->next_graph);
  if (graph == NULL)
    return false; /* gone meanwhile */
  uint32_t first = (uint32_t)query->next_rank;
  uint32_t nsides = graph->trunks != NULL ? sfd_trunks_nsides(graph->trunks) : 0;
  if (first > nsides) /* a cursor of another node */
    first = nsides;
  uint32_t n = nsides - first < SIDES_IN_MESSAGE ? nsides - first : SIDES_IN_MESSAGE;
  if (query->count > 0 && n == 0)
    return false;
  query->next_rank += (int32_t)n;
  send_plan(query, graph, first, n);
  return true;
}
