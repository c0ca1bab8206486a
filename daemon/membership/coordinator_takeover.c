/* Nodes say that a job runs, to its home or, if that is lost, to this node in its place: see coordinator.h. The
 * daemon's thread. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/membership/coordinator.h"
#include "daemon/membership/coordinator_internal.h"
#include "daemon/net/network.h"
#include "shm/base/error.h"

/* ---- What is known ----------------------------------------------------------------------------------------------- */

int32_t sfd_assembly_node_of(const sfd_assembly_t *assembly, int32_t rank)
{
  int32_t node = assembly->rank_nodes[rank];
  return node == SFD_ASSEMBLY_AWAITED && assembly->all_nodes != NULL ? assembly->all_nodes[rank] : node;
}

void sfd_assembly_set_node(sfd_assembly_t *assembly, int32_t node, int32_t to)
{
  for (int32_t r = 0; r < assembly->size; r++)
    if (sfd_assembly_node_of(assembly, r) == node)
      assembly->rank_nodes[r] = to;
}

void sfd_assembly_forget_if_done(sfd_assembly_t *assembly)
{
  bool awaited = false, runs = false;
  for (int32_t r = 0; r < assembly->size; r++) {
    awaited |= assembly->rank_nodes[r] == SFD_ASSEMBLY_AWAITED;
    runs |= assembly->rank_nodes[r] >= 0;
  }
  if (!awaited || (!runs && !assembly->started_here))
    sfd_assembly_forget(assembly);
}

sf_status_t sfd_assembly_handle_over(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  sfd_assembly_t *assembly = sfd_assembly_find_running(server, message->job_over->job);
  if (assembly == NULL)
    return SF_OK;
  sfd_assembly_set_node(assembly, node, SFD_ASSEMBLY_OVER);
  sfd_assembly_forget_if_done(assembly);
  return SF_OK;
}

/* ---- What nodes say ---------------------------------------------------------------------------------------------- */

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
  bool runs = running->all_nodes != NULL && !running->started_here;
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
  if (waiting == NULL || waiting->refused != NULL || waiting->size != running->size)
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

/* Makes the assembly of a job of which this node becomes the home. */
static sf_status_t take_over(sfd_server_t *server, const Sfpeer__JobRuns *runs, sfd_assembly_t **assembly_p)
{
  size_t bytes = runs->n_rank_nodes * sizeof runs->rank_nodes[0];
  int32_t *all_nodes = malloc(bytes + 1);
  sf_status_t status = SF_ERR_NOMEM;
  if (all_nodes != NULL)
    status = sfd_assembly_new(server, runs->uid, runs->name, (int32_t)runs->n_rank_nodes, assembly_p);
  if (status != SF_OK) {
    free(all_nodes);
    return status;
  }
  memcpy(all_nodes, runs->rank_nodes, bytes);
  (*assembly_p)->job = runs->job;
  (*assembly_p)->all_nodes = all_nodes;
  return SF_OK;
}

/* Whether the table is one, and that of the assembly, if there is one. */
static bool is_good_table(const sfd_server_t *server, const sfd_assembly_t *assembly, const Sfpeer__JobRuns *runs)
{
  bool good = runs->n_rank_nodes <= INT32_MAX &&
              (assembly == NULL || (assembly->size == (int32_t)runs->n_rank_nodes && assembly->all_nodes != NULL));
  for (size_t r = 0; r < runs->n_rank_nodes && good; r++)
    good = runs->rank_nodes[r] >= 0 && runs->rank_nodes[r] < sfd_network_nnodes(server);
  return good;
}

sf_status_t sfd_assembly_handle_runs(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobRuns *runs = message->job_runs;
  sfd_assembly_t *assembly = runs->job != 0 ? sfd_assembly_find_running(server, runs->job) : NULL;
  bool has_table = runs->n_rank_nodes > 0;
  if (!sfd_text_is_name(runs->name) || runs->job == 0 || (has_table && !is_good_table(server, assembly, runs)))
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobRuns", node);
  if (assembly == NULL && (!has_table || take_over(server, runs, &assembly) != SF_OK))
    return SF_OK; /* nothing depends on this node, or without memory nobody starts those who come late */
  add_node(assembly, node);
  if (has_table)
    start_waiting(assembly);
  if (sfd_assembly_find_running(server, runs->job) == assembly) /* ranks of this node may have started, and said so */
    sfd_assembly_forget_if_done(assembly);
  return SF_OK;
}
