/* Many ranks on one node: what each costs the daemon, and that a rank has memory for those only with whom it shares an
 * edge; SFTEST_RANKS says how many, if not as many as below. And one rank with an edge to each of more ranks than it
 * looks at edges to see in which order they are. */
#include "tests/system/cluster.h"
#include "tests/system/work.h"

#define FEW 8
#define MANY 64
#define STAR 270
#define EACH_KIB 1024 /* that a rank may cost the daemon */
#define VALUES 1000
#define ROUNDS 3

typedef struct shared {
  _Atomic int ready;
  _Atomic int go;
  _Atomic long most_kib; /* shared memory that a rank has touched */
} shared_t;

static long own_kib(const char *field)
{
  char line[128], format[64];
  long kib = -1;
  FILE *file = fopen("/proc/self/status", "r");
  snprintf(format, sizeof format, "%s: %%ld", field);
  while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, format, &kib) != 1)
      kib = -1;
  if (file != NULL)
    fclose(file);
  return kib;
}

SFTEST_JOINED(work_as_one_of_many)
{
  shared_t *shared = self->argument;
  sf_graph_t *graph;
  SFTEST_OK(self, sftest_ring_create(world, VALUES, SF_GRAPH_DEFAULT, &graph));
  for (int i = 0; i < ROUNDS; i++)
    sftest_ring_expect_working(self, world, graph, VALUES);
  long kib = own_kib("RssShmem");
  SFTEST_REQUIRE(self, kib >= 0);
  for (long most = shared->most_kib; kib > most && !atomic_compare_exchange_weak(&shared->most_kib, &most, kib);)
    ;
  atomic_fetch_add(&shared->ready, 1);
  while (atomic_load(&shared->go) == 0)
    sftest_sleep_ms(5);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

typedef struct found {
  long daemon_kib; /* that all ranks cost it */
  long rank_kib;   /* that a rank has in shared memory */
} found_t;

/* Dealt to the nodes in turn, so that with several all edges of the ring lead to another node; of the daemons the first
 * is looked at. */
static found_t run_ranks(const sftest_node_t nodes[], int32_t nnodes, int32_t size)
{
  int32_t places[SFTEST_RANKS_MAX];
  shared_t *shared = sftest_shared(sizeof *shared);
  sftest_job_t job;
  found_t found;
  long before_kib = sftest_node_resident_kib(&nodes[0]);
  sftest_places_cyclic(places, size, nnodes);
  sftest_job_start_over(&job, nodes, places, size, work_as_one_of_many, shared);
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (atomic_load(&shared->ready) < size) {
    ck_assert_msg(!sftest_job_poll(&job) && sftest_now_ms() < until, "%d of %d ranks are ready",
                  atomic_load(&shared->ready), size);
    sftest_sleep_ms(5);
  }
  found = (found_t){sftest_node_resident_kib(&nodes[0]) - before_kib, shared->most_kib};
  atomic_store(&shared->go, 1);
  sftest_job_end_well(&job);
  return found;
}

static int32_t many(int32_t most)
{
  const char *text = getenv("SFTEST_RANKS");
  int32_t n = text != NULL ? atoi(text) : MANY;
  return n < most ? n : most;
}

SFTEST(on_one_node)
{
  int32_t size = many(SFTEST_RANKS_MAX);
  sftest_node_t node;
  sftest_node_start(&node, NULL);
  found_t few = run_ranks(&node, 1, FEW), all = run_ranks(&node, 1, size);
  printf("%d ranks: %ld KiB of the daemon each; %ld KiB of shared memory in a rank, %ld with %d ranks\n", size,
         all.daemon_kib / size, all.rank_kib, few.rank_kib, FEW);
  ck_assert_int_lt(all.daemon_kib / size, EACH_KIB);
  /* The ring has two neighbours, however many ranks there are. */
  ck_assert_int_lt(all.rank_kib, 2 * few.rank_kib);
  sftest_node_stop(&node);
}

SFTEST(on_two_nodes)
{
  int32_t size = many(SFTEST_RANKS_MAX / 2);
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  found_t all = run_ranks(cluster.nodes, 2, 2 * size);
  printf("%d ranks on each of two nodes: %ld KiB of the daemon each, exchanges and rings included\n", size,
         all.daemon_kib / size);
  ck_assert_int_lt(all.daemon_kib / size, EACH_KIB);
  sftest_cluster_stop(&cluster);
}

/* Everybody has a root, and rank 0 a leaf on each of the others'. */
static sf_graph_t *create_star(sftest_rank_t *self, sf_context_t *context)
{
  int32_t ranks[STAR];
  int64_t roots[STAR] = {0};
  sf_graph_t *graph;
  for (int32_t r = 0; r < STAR; r++)
    ranks[r] = r;
  SFTEST_OK(self, sf_graph_create(sf_group_world(context), 1, self->rank == 0 ? STAR - 1 : 0, NULL, ranks + 1, roots,
                                  SF_GRAPH_DEFAULT, &graph));
  return graph;
}

SFTEST_JOINED_JOB(one_with_an_edge_to_each, 1, sftest_run_alone(STAR, ranks, NULL))
{
  int32_t root = 7 * self->rank + 1, leaves[STAR] = {0};
  sf_graph_t *graph = create_star(self, context);
  SFTEST_OK(self, sf_bcast(graph, SF_INT32, &root, leaves, SF_REPLACE));
  for (int32_t r = 1; r < STAR && self->rank == 0; r++) {
    SFTEST_REQUIRE(self, leaves[r - 1] == 7 * r + 1);
    leaves[r - 1] = r;
  }
  SFTEST_OK(self, sf_reduce(graph, SF_INT32, leaves, &root, SF_SUM));
  SFTEST_REQUIRE(self, root == (self->rank == 0 ? 1 : 8 * self->rank + 1));
  SFTEST_OK(self, sf_graph_destroy(graph));
}
