/* Finds out who shares a node, and asks the daemons what went from node to node. One thread per rank. */
#include "common/nodes.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/sfctl.h"

enum { EXCHANGES = 10, NAME_BYTES = 384 };

nodes_t nodes_find(const job_t *job)
{
  nodes_t nodes = {.of_rank = array_new(job->size, sizeof *nodes.of_rank), .one_host = true};
  char host[256] = "", mine[NAME_BYTES] = "";
  const char *socket = getenv("SF_SOCKET");
  gethostname(host, sizeof host - 1);
  snprintf(mine, sizeof mine, "%s %.120s", host, socket ? socket : "");
  char(*all)[NAME_BYTES] = array_new(job->size, sizeof *all);
  MPI_Allgather(mine, NAME_BYTES, MPI_CHAR, all, NAME_BYTES, MPI_CHAR, MPI_COMM_WORLD);
  for (int rank = 0; rank < job->size; rank++) {
    int same = 0;
    while (strcmp(all[same], all[rank]) != 0)
      same++;
    nodes.of_rank[rank] = same == rank ? nodes.count++ : nodes.of_rank[same];
    nodes.first = rank == job->rank ? same == rank : nodes.first;
    nodes.one_host =
        nodes.one_host && strcspn(all[rank], " ") == strlen(host) && strncmp(all[rank], host, strlen(host)) == 0;
  }
  free(all);
  return nodes;
}

void nodes_free(nodes_t *nodes)
{
  free(nodes->of_rank);
}

/* What all daemons have sent so far, on every rank. False if one can't be asked. */
static bool sum_traffic(const nodes_t *nodes, double *messages_p, double *bytes_p)
{
  sfctl_traffic_t traffic = {0};
  bool told = !nodes->first || sfctl_ask_traffic(&traffic);
  *messages_p = sum_over_ranks((double)traffic.messages);
  *bytes_p = sum_over_ranks((double)traffic.bytes);
  return true_on_all_ranks(told);
}

static void say_pairs(const job_t *job, const nodes_t *nodes, const race_t *race)
{
  bool *wanted = array_new(job->size, sizeof *wanted);
  memset(wanted, 0, (size_t)job->size * sizeof *wanted);
  double messages = 0, values = 0;
  for (int32_t k = 0; k < race->nghosts; k++)
    if (nodes->of_rank[race->ghost_rank[k]] != nodes->of_rank[job->rank]) {
      messages += !wanted[race->ghost_rank[k]];
      wanted[race->ghost_rank[k]] = true;
      values++;
    }
  messages = sum_over_ranks(messages);
  values = sum_over_ranks(values);
  say(job, "  one message for each pair of ranks %6.0f message(s) %12.0f bytes\n", messages,
      values * (double)sizeof(double));
  free(wanted);
}

void nodes_show_exchange(job_t *job, const nodes_t *nodes, const race_t *race)
{
  double messages[2], bytes[2];
  double *x = vector_new(job, race->nroots);
  bool told = sum_traffic(nodes, &messages[0], &bytes[0]);
  for (int i = 0; i < EXCHANGES; i++)
    must(sf_bcast(race->graph, SF_DOUBLE, x, race->ghosts, SF_REPLACE), "sf_bcast");
  wait_for_rank_0();
  told = sum_traffic(nodes, &messages[1], &bytes[1]) && told;
  say_pairs(job, nodes, race);
  if (told)
    say(job, "  sf, as the daemons count           %6.1f message(s) %12.1f bytes   (mean of %d exchanges)\n",
        (messages[1] - messages[0]) / EXCHANGES, (bytes[1] - bytes[0]) / EXCHANGES, EXCHANGES);
  else
    say(job, "  sf: not known, as there is no sfctl that could ask the daemons\n");
  vector_free(job, x);
}
