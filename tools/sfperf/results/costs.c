/* Reads what kernel and daemons count, before and after some operations. Runs in each rank's only thread, all ranks in
 * step. */
#include "tools/sfperf/results/costs.h"

#include <dirent.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

#include "tools/sfperf/daemon.h"

/* Counters, or what was added to them. */
typedef struct counts {
  double cpu_us;
  double wire;
  double told;   /* daemons that answered */
  double silent; /* daemons that did not */
  double messages;
  double payload;
} counts_t;
enum { NCOUNTS = sizeof(counts_t) / sizeof(double) };

static double seconds_of(struct timeval time)
{
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double own_cpu_us(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e6 * (seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}

static uint64_t thread_cpu_ns(int pid, const char *thread)
{
  char path[320];
  uint64_t ns = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, thread);
  FILE *file = fopen(path, "re");
  if (file && fscanf(file, "%" SCNu64, &ns) != 1)
    ns = 0;
  if (file)
    fclose(file);
  return ns;
}

double sfperf_process_cpu_us(int pid)
{
  char path[64];
  uint64_t ns = 0;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *threads = opendir(path);
  if (!threads)
    return 0;
  for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
    if (entry->d_name[0] != '.')
      ns += thread_cpu_ns(pid, entry->d_name);
  closedir(threads);
  return 1e-3 * (double)ns;
}

/* Bytes that all interfaces of this host have sent. Loopback is one of them: nodes may share a host. */
static double interface_bytes(void)
{
  char line[512];
  double total = 0;
  FILE *file = fopen("/proc/net/dev", "re");
  while (file && fgets(line, sizeof line, file)) {
    uint64_t sent;
    if (sscanf(line, " %*[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &sent) == 1)
      total += (double)sent;
  }
  if (file)
    fclose(file);
  return total;
}

/* Whether this rank is the first of its host, as MPI knows hosts. */
static bool is_first_of_host(void)
{
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank == 0;
}

static void add_cpu(counts_t *counts, int daemon_pid, double sign)
{
  counts->cpu_us += sign * (own_cpu_us() + (daemon_pid > 0 ? sfperf_process_cpu_us(daemon_pid) : 0));
}

static void add_wire(counts_t *counts, bool first_of_host, double sign)
{
  counts->wire += sign * (first_of_host ? interface_bytes() : 0);
}

/* The query takes longer than some operations: it is outside of the interval of the kernel's counters. */
static void add_told(counts_t *counts, const sfperf_nodes_t *nodes, double sign)
{
  sfperf_traffic_t traffic;
  if (!nodes->is_first || nodes->count < 2)
    return;
  if (!sfperf_daemon_traffic(&traffic)) {
    counts->silent++;
    return;
  }
  counts->told++;
  counts->messages += sign * (double)traffic.messages;
  counts->payload += sign * (double)traffic.payload;
}

sfperf_costs_t sfperf_costs_of(const sfperf_contender_t *contender, int64_t iterations, const sfperf_nodes_t *nodes)
{
  counts_t counts = {0};
  double total[NCOUNTS];
  bool first_of_host = is_first_of_host();
  int daemon_pid = nodes->is_first ? sfperf_daemon_pid() : 0;
  contender->run(contender->state, 1); /* as when it is timed: nothing of the first time counts */
  MPI_Barrier(MPI_COMM_WORLD);
  add_told(&counts, nodes, -1);
  MPI_Barrier(MPI_COMM_WORLD);
  add_wire(&counts, first_of_host, -1);
  add_cpu(&counts, daemon_pid, -1);
  contender->run(contender->state, iterations);
  add_cpu(&counts, daemon_pid, 1);
  MPI_Barrier(MPI_COMM_WORLD); /* a rank that only sends may finish long before the others */
  add_wire(&counts, first_of_host, 1);
  add_told(&counts, nodes, 1);
  MPI_Allreduce(&counts, total, NCOUNTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const counts_t *all = (const counts_t *)total;
  double operations = (double)iterations * contender->operations;
  return (sfperf_costs_t){
      .cpu_us = all->cpu_us / operations,
      .wire = all->wire / operations,
      .told = all->told > 0 && !(all->silent > 0),
      .messages = all->messages / operations,
      .payload = all->payload / operations,
  };
}

void sfperf_costs_of_pairs(int rank, const sfperf_edges_t *edges, const sfperf_nodes_t *nodes, double *messages_p,
                           double *payload_p)
{
  double counts[2] = {0};
  for (int other = 0; other < edges->size; other++)
    if (nodes->of_rank[other] != nodes->of_rank[rank] && edges->leaf_count[other] > 0) {
      counts[0]++;
      counts[1] += (double)edges->leaf_count[other] * sizeof(double);
    }
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  *messages_p = counts[0];
  *payload_p = counts[1];
}
