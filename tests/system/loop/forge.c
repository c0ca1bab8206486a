/* Messages that no daemon sends: see loop_forge.h. */
#include "tests/system/loop/forge.h"

#include <string.h>

#include "daemon/jobs/graph.h"
#include "daemon/jobs/job.h"
#include "daemon/net/channel.h"
#include "daemon/net/network.h"
#include "shm/edges/packed.h"
#include "tests/system/loop/lies.h"

/* Of a group of all ranks the next number is the same everywhere. */
static uint64_t next_number(const sfd_group_t *group)
{
  return group->members[group->locals[0]].ngraphs;
}

static void send_payload(sfd_server_t *server, int32_t node, uint16_t kind, const void *payload, size_t bytes)
{
  const sfd_job_t *job = TAILQ_FIRST(&server->jobs->list);
  sfd_message_head_t head = {
      .kind = kind, .payload_bytes = bytes, .job = job->id, .object = job->world->id, .desc = next_number(job->world)};
  sfd_network_send_payload(server, node, &head, payload, NULL, NULL);
}

static void send_start(sfd_server_t *server, int32_t node)
{
  static int32_t rank_nodes[100000], nodes[] = {0, 1, 2};
  static uint64_t incarnations[] = {1, 1, 1};
  Sfpeer__JobStart start = SFPEER__JOB_START__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  start.name = (char[]){"unknown"};
  start.job = sfd_network_new_id(server);
  start.rank_nodes = rank_nodes;
  start.n_rank_nodes = sizeof rank_nodes / sizeof rank_nodes[0];
  for (size_t r = 0; r < start.n_rank_nodes; r++)
    rank_nodes[r] = 1 + (int32_t)(r % 2);
  start.nodes = nodes;
  start.incarnations = incarnations;
  start.n_nodes = start.n_incarnations = 3;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_START;
  message.job_start = &start;
  sfd_network_send(server, node, &message);
}

/* As a client may, with a text that would be too long for a message to another node. */
static void fail_graph(const sfd_server_t *server)
{
  static char text[SFD_CHANNEL_CONTROL_MAX] = "so says the test";
  sfd_graph_t *graph = TAILQ_NEXT(TAILQ_FIRST(&TAILQ_FIRST(&server->jobs->list)->graphs), entry);
  memset(text + strlen(text), '!', sizeof text - 1 - strlen(text));
  sfd_graph_fail(graph, SF_ERR_MISMATCH, text);
}

void sftest_forge(sfd_server_t *server, int32_t node, sftest_forgery_t forgery)
{
  static const sfshm_packed_header_t packed = {.magic = SFSHM_PACKED_MAGIC, .image_bytes = 1u << 20};
  if (forgery >= SFTEST_FORGE_LIE) {
    sftest_lie(server, node, (sftest_lie_t)(forgery - SFTEST_FORGE_LIE));
    return;
  }
  switch (forgery) {
  case SFTEST_FORGE_WANTS:
    send_payload(server, node, SFD_PEER_WANTS, &packed, sizeof packed);
    break;
  case SFTEST_FORGE_FAILURE:
    fail_graph(server);
    break;
  case SFTEST_FORGE_START:
    send_start(server, node);
    break;
  case SFTEST_FORGE_LIE:
    break;
  }
}
