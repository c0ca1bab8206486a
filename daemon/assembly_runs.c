/* A job that runs has lost its home, and this node takes its place: see assembly.h. The daemon's thread. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/assembly.h"
#include "daemon/assembly_internal.h"
#include "daemon/network.h"
#include "shm/error.h"

static void add_node(sfd_assembly_t *assembly, int32_t node)
{
  for (int32_t r = 0; r < assembly->size; r++)
    if (assembly->all_nodes[r] == node)
      assembly->rank_nodes[r] = node;
}

/* Not if the node's part is over: who comes from there now is of another job. */
static bool is_awaited_from(const sfd_assembly_t *running, int32_t rank, int32_t node)
{
  return running->rank_nodes[rank] == SFD_ASSEMBLY_AWAITED && running->all_nodes[rank] == node;
}

/* Whether ranks that come from a node are those that it has of the running job, of whose start it never heard. */
static bool runs_there(const sfd_assembly_t *running, int32_t node, const int32_t ranks[], size_t nranks)
{
  bool runs = running->all_nodes != NULL;
  for (size_t i = 0; i < nranks && runs; i++)
    runs = ranks[i] < running->size && is_awaited_from(running, ranks[i], node);
  return runs;
}

static void start_late(sfd_assembly_t *running, int32_t node, uint64_t incarnation)
{
  add_node(running, node);
  sfd_assembly_send_start(running, running->all_nodes, node, incarnation);
}

static void remove_node(sfd_assembly_t *waiting, int32_t node)
{
  for (int32_t r = 0; r < waiting->size; r++)
    if (waiting->rank_nodes[r] == node) {
      waiting->rank_nodes[r] = SFD_ASSEMBLY_AWAITED;
      waiting->ncame--;
    }
}

/* Those who wait here for others that run already. Whoever else waits is of another job of that name. */
static void start_waiting(sfd_assembly_t *running)
{
  sfd_assembly_t *waiting = sfd_assembly_find(running->server, running->uid, running->name);
  if (waiting == NULL || waiting->size != running->size)
    return;
  for (int32_t r = 0; r < waiting->size; r++) {
    int32_t node = waiting->rank_nodes[r];
    if (node >= 0 && is_awaited_from(running, r, node)) {
      start_late(running, node, waiting->incarnations[r]);
      remove_node(waiting, node);
    }
  }
  if (waiting->ncame == 0)
    sfd_assembly_forget(waiting);
}

bool sfd_assembly_start_if_runs(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join)
{
  sfd_assembly_t *assembly;
  TAILQ_FOREACH(assembly, &server->assemblies, entry)
  {
    if (assembly->uid == join->uid && strcmp(assembly->name, join->name) == 0 &&
        runs_there(assembly, node, join->ranks, join->n_ranks)) {
      start_late(assembly, node, join->incarnation);
      return true;
    }
  }
  return false;
}

sf_status_t sfd_assembly_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobRuns *runs = message->job_runs;
  sfd_assembly_t *assembly = sfd_assembly_find_running(server, runs->job);
  bool good = sfd_text_is_name(runs->name) && runs->job != 0 && runs->n_rank_nodes > 0 &&
              runs->n_rank_nodes <= INT32_MAX &&
              (assembly == NULL || (assembly->size == (int32_t)runs->n_rank_nodes && assembly->all_nodes != NULL));
  for (size_t r = 0; r < runs->n_rank_nodes && good; r++)
    good = runs->rank_nodes[r] >= 0 && runs->rank_nodes[r] < sfd_network_nnodes(server);
  if (!good)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobRuns", node);
  if (assembly == NULL) {
    size_t bytes = runs->n_rank_nodes * sizeof runs->rank_nodes[0];
    int32_t *all_nodes = malloc(bytes + 1);
    if (all_nodes == NULL ||
        sfd_assembly_new(server, runs->uid, runs->name, (int32_t)runs->n_rank_nodes, &assembly) != SF_OK) {
      free(all_nodes);
      return SF_OK; /* nobody watches over the job */
    }
    memcpy(all_nodes, runs->rank_nodes, bytes);
    assembly->job = runs->job;
    assembly->all_nodes = all_nodes;
  }
  add_node(assembly, node);
  start_waiting(assembly);
  return SF_OK;
}
