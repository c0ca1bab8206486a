/* Particles that move between neighbours: each rank owns an interval of a periodic line, and hands over the particles
 * that leave it. A receiver does not know how many will come: it begins the exchange without memory, and supplies it
 * when it has learnt the sizes. No rank but the neighbours takes part in a step.
 *
 *   sfrun -n 4 -- particles [PARTICLES_PER_RANK] */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/job.h"

#define STEPS 200

/* On the line of length 1. */
typedef struct particle {
  int64_t number;
  double position, velocity;
} particle_t;

typedef struct swarm {
  int32_t n;
  particle_t *list;
} swarm_t;

static void append(swarm_t *swarm, const void *particles, size_t bytes)
{
  size_t before = (size_t)swarm->n * sizeof(particle_t);
  particle_t *list = realloc(swarm->list, before + bytes + 1);
  if (list == NULL)
    must(SF_ERR_NOMEM, "particles");
  memcpy((char *)list + before, particles, bytes);
  swarm->list = list;
  swarm->n += (int32_t)(bytes / sizeof(particle_t));
}

/* Faster ones drift from rank to rank; none crosses a whole interval in a step. */
static swarm_t make_swarm(const job_t *job, int32_t n)
{
  swarm_t swarm = {0, NULL};
  for (int32_t i = 0; i < n; i++) {
    int64_t number = (int64_t)job->rank * n + i;
    double along = (double)(number * 7919 % 1000) / 1000, speed = (double)(number * 104729 % 1999 - 999) / 1000;
    particle_t particle = {number, (job->rank + along) / job->size, 0.9 * speed / job->size};
    append(&swarm, &particle, sizeof particle);
  }
  return swarm;
}

/* Moves all particles by one step, and those that have left to the lists of the neighbours: 0 below, 1 above. */
static void move(const job_t *job, swarm_t *swarm, swarm_t leaving[2])
{
  double low = (double)job->rank / job->size, high = (double)(job->rank + 1) / job->size;
  int32_t kept = 0;
  for (int32_t i = 0; i < swarm->n; i++) {
    particle_t particle = swarm->list[i];
    particle.position += particle.velocity;
    if (particle.position >= low && particle.position < high) {
      swarm->list[kept++] = particle;
      continue;
    }
    bool above = particle.position >= high;
    if (particle.position < 0 || particle.position >= 1)
      particle.position += above ? -1 : 1;
    append(&leaving[above], &particle, sizeof particle);
  }
  swarm->n = kept;
}

/* Both neighbours may be the same rank, or this one: the first block to it is the first one from it. */
static void exchange(sf_graph_t *graph, swarm_t *swarm, swarm_t leaving[2])
{
  sf_block_t out[2], in[2];
  sf_request_t *request;
  size_t bytes[2];
  for (int side = 0; side < 2; side++)
    out[side] = (sf_block_t){leaving[side].list, (size_t)leaving[side].n * sizeof(particle_t)};
  must(sf_exchange_begin(graph, out, NULL, NULL, &request), "sf_exchange_begin");
  must(sf_exchange_probe(request, bytes), "sf_exchange_probe");
  char *arrived = malloc(bytes[0] + bytes[1] + 1);
  if (arrived == NULL)
    must(SF_ERR_NOMEM, "particles");
  in[0] = (sf_block_t){arrived, bytes[0]};
  in[1] = (sf_block_t){arrived + bytes[0], bytes[1]};
  must(sf_exchange_receive(request, in), "sf_exchange_receive");
  must(sf_wait(&request), "sf_wait");
  append(swarm, arrived, bytes[0] + bytes[1]);
  free(arrived);
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int32_t n = number_argument(argc, argv, "particles per rank", 1, 1000000, 10000);
  job_t job = job_join();
  int32_t below = (job.rank + job.size - 1) % job.size, above = (job.rank + 1) % job.size;
  const int32_t dests[] = {below, above}, sources[] = {above, below}; /* what goes down comes from above */
  swarm_t swarm = make_swarm(&job, n);
  sf_graph_t *graph;
  double moved = 0, sum = 0, numbers = (double)n * job.size;
  must(sf_exchange_graph_create(sf_group_world(job.context), 2, sources, 2, dests, SF_GRAPH_DEFAULT, &graph),
       "sf_exchange_graph_create");
  for (int step = 0; step < STEPS; step++) {
    swarm_t leaving[2] = {{0, NULL}, {0, NULL}};
    move(&job, &swarm, leaving);
    moved += leaving[0].n + leaving[1].n;
    exchange(graph, &swarm, leaving);
    free(leaving[0].list);
    free(leaving[1].list);
  }
  bool inside = true;
  for (int32_t i = 0; i < swarm.n; i++) {
    double rank = swarm.list[i].position * job.size;
    inside = inside && rank >= job.rank - 1e-9 && rank <= job.rank + 1 + 1e-9;
    sum += (double)swarm.list[i].number;
  }
  say(&job, "%d steps, %.0f particles handed over\n", STEPS, sum_over_ranks(moved));
  check(&job, sum_over_ranks(swarm.n) == numbers && sum_over_ranks(sum) == numbers * (numbers - 1) / 2,
        "no particle is lost, or there twice");
  check(&job, true_on_all_ranks(inside), "each is at the rank where it belongs");
  free(swarm.list);
  must(sf_graph_destroy(graph), "sf_graph_destroy");
  return job_end(&job);
}
