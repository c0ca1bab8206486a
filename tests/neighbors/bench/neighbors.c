/* Times of MPI_Neighbor_alltoallv and _allgatherv as MPI_X, which sfd carries, and as PMPI_X, MPI's own, in one program
 * of plain MPI. Prints records as sfperf --json does. tests/bench/run starts it:
 *     sfrun --neighbors -n 8 -- neighbors [--reps N] [--sample-ms N] [--sizes BYTES,...]
 * Two processes exchange with each other (pair); others with the 26 neighbours of a periodic grid, of which several may
 * be the same process (grid26), and with all others (all). Contenders: sfd and the MPI's name; sfd_changing, where the
 * sizes of a quarter of the blocks are others at each call, of the same mean. Before each call all blocks are written
 * anew, as programs do; without that, caches would keep what the previous call has read. One thread. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NEIGHBORS 64
#define MAX_REPS 200
#define NVARIANTS 16 /* of changing sizes */

#ifdef OPEN_MPI
#define MPI_NAME "openmpi"
#else
#define MPI_NAME "mpich"
#endif

typedef enum contender { SFD, MPI, SFD_CHANGING, REWRITE, NCONTENDERS } contender_t; /* REWRITE: calls nothing */
static const char *const names[REWRITE] = {"sfd_" MPI_NAME, MPI_NAME, "sfd_" MPI_NAME "_changing"};

typedef struct exchange {
  MPI_Comm comm;
  int n, ranks[MAX_NEIGHBORS]; /* the same in both directions */
  int counts[NVARIANTS][2][MAX_NEIGHBORS], displs[MAX_NEIGHBORS];
  char *out, *in;
  bool gather;
} exchange_t;

static int rank, size, nnodes, reps = 15, sample_ms = 3;
static char sizes[256] = "8,512,4096,65536";

static void check(int result)
{
  if (result != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Patterns ---- */

static void add(exchange_t *exchange, int neighbor)
{
  if (exchange->n < MAX_NEIGHBORS)
    exchange->ranks[exchange->n++] = neighbor;
}

static void add_grid(exchange_t *exchange)
{
  int dims[3] = {0, 0, 0};
  check(MPI_Dims_create(size, 3, dims));
  int x = rank / (dims[1] * dims[2]), y = rank / dims[2] % dims[1], z = rank % dims[2];
  for (int k = 0; k < 27; k++) {
    int i = (x + k / 9 - 1 + dims[0]) % dims[0], j = (y + k / 3 % 3 - 1 + dims[1]) % dims[1];
    if (k != 13)
      add(exchange, (i * dims[1] + j) * dims[2] + (z + k % 3 - 1 + dims[2]) % dims[2]);
  }
}

static void make_comm(exchange_t *exchange)
{
  int in[MAX_NEIGHBORS];
  for (int i = 0; i < exchange->n; i++)
    in[i] = exchange->ranks[i];
  check(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, exchange->n, in, MPI_UNWEIGHTED, exchange->n, exchange->ranks,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &exchange->comm));
}

/* Sizes of variant v, the same on both sides: they depend on the pair of processes only. Variant 0 has equal sizes. */
static int block_bytes(int from, int to, int v, int bytes)
{
  unsigned mix = (unsigned)(from * 31 + to * 17 + v * 7919) * 2654435761u >> 16;
  if (v == 0 || mix % 4 != 0)
    return bytes;
  return mix % 8 == 0 ? bytes / 2 : bytes + bytes / 2;
}

static void set_sizes(exchange_t *exchange, int bytes)
{
  for (int v = 0; v < NVARIANTS; v++)
    for (int i = 0; i < exchange->n; i++) {
      exchange->counts[v][0][i] = block_bytes(rank, exchange->gather ? -1 : exchange->ranks[i], v, bytes);
      exchange->counts[v][1][i] = block_bytes(exchange->ranks[i], exchange->gather ? -1 : rank, v, bytes);
      exchange->displs[i] = i * 2 * bytes;
    }
  exchange->out = calloc((size_t)exchange->n + 1, 2 * (size_t)bytes);
  exchange->in = calloc((size_t)exchange->n + 1, 2 * (size_t)bytes);
  if (exchange->out == NULL || exchange->in == NULL)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Times ---- */

static void rewrite(const exchange_t *e, int i)
{
  for (int k = 0; k < (e->gather ? 1 : e->n); k++)
    memset(e->out + e->displs[k], i, (size_t)e->counts[0][0][k]);
}

static void call(const exchange_t *e, contender_t contender, int i)
{
  rewrite(e, i);
  if (contender == REWRITE)
    return;
  const int *out = e->counts[contender == SFD_CHANGING ? 1 + i % (NVARIANTS - 1) : 0][0], *in = out + MAX_NEIGHBORS;
  if (e->gather && contender == MPI)
    check(PMPI_Neighbor_allgatherv(e->out, out[0], MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
  else if (e->gather)
    check(MPI_Neighbor_allgatherv(e->out, out[0], MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
  else if (contender == MPI)
    check(PMPI_Neighbor_alltoallv(e->out, out, e->displs, MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
  else
    check(MPI_Neighbor_alltoallv(e->out, out, e->displs, MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
}

/* Microseconds of a call, of the slowest process. */
static double run(const exchange_t *exchange, contender_t contender, int ncalls)
{
  check(PMPI_Barrier(MPI_COMM_WORLD));
  double start = MPI_Wtime();
  for (int i = 0; i < ncalls; i++)
    call(exchange, contender, i);
  double mine = (MPI_Wtime() - start) * 1e6 / ncalls, slowest;
  check(PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return slowest;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double samples[])
{
  double sorted[MAX_REPS];
  memcpy(sorted, samples, (size_t)reps * sizeof *sorted);
  qsort(sorted, (size_t)reps, sizeof *sorted, by_value);
  return sorted[reps / 2];
}

static void print(const char *name, const char *op, contender_t contender, int bytes, const double samples[],
                  double rewrite_us)
{
  double median_us = median(samples);
  printf("{\"bench\":\"neighbors\",\"case\":\"%s-%d\",\"op\":\"%s\",\"contender\":\"%s\",\"bytes\":%d,\"ranks\":%d,"
         "\"nodes\":%d,\"median_us\":%.5g,\"rewrite_us\":%.5g,\"net_median_us\":%.5g,\"reps\":%d,\"samples_us\":[",
         name, bytes, op, names[contender], bytes, size, nnodes, median_us, rewrite_us, median_us - rewrite_us, reps);
  for (int i = 0; i < reps; i++)
    printf("%s%.5g", i > 0 ? "," : "", samples[i]);
  printf("]}\n");
  fflush(stdout);
}

static void measure(const char *name, exchange_t *exchange, int bytes)
{
  static double samples[NCONTENDERS][MAX_REPS];
  int ncalls[NCONTENDERS];
  set_sizes(exchange, bytes);
  for (contender_t contender = SFD; contender < NCONTENDERS; contender++) {
    double us = run(exchange, contender, 5);
    us = run(exchange, contender, 10);
    ncalls[contender] = 1 + (int)(sample_ms * 1000 / us);
  }
  for (int i = 0; i < reps; i++)
    for (contender_t contender = SFD; contender < NCONTENDERS; contender++)
      samples[contender][i] = run(exchange, contender, ncalls[contender]);
  double rewrite_us = median(samples[REWRITE]);
  for (contender_t contender = SFD; contender < REWRITE && rank == 0; contender++)
    print(name, exchange->gather ? "allgatherv" : "alltoallv", contender, bytes, samples[contender], rewrite_us);
  free(exchange->out);
  free(exchange->in);
}

static void measure_all(const char *name, bool grid, bool gather)
{
  exchange_t exchange = {.gather = gather};
  for (int other = 1; other < size && !grid; other++)
    add(&exchange, (rank + other) % size);
  if (grid)
    add_grid(&exchange);
  make_comm(&exchange);
  char list[sizeof sizes], *rest = NULL;
  strcpy(list, sizes);
  for (char *text = strtok_r(list, ",", &rest); text != NULL; text = strtok_r(NULL, ",", &rest))
    measure(name, &exchange, atoi(text));
  check(MPI_Comm_free(&exchange.comm));
}

/* As MPI sees them: processes with common memory. */
static int count_nodes(void)
{
  MPI_Comm node;
  int place, first, nfirst;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  check(MPI_Comm_rank(node, &place));
  first = place == 0;
  check(MPI_Allreduce(&first, &nfirst, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  check(MPI_Comm_free(&node));
  return nfirst;
}

int main(int argc, char *argv[])
{
  check(MPI_Init(&argc, &argv));
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &size));
  nnodes = count_nodes();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--reps") == 0)
      reps = atoi(argv[i + 1]) < MAX_REPS ? atoi(argv[i + 1]) : MAX_REPS;
    else if (strcmp(argv[i], "--sample-ms") == 0)
      sample_ms = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--sizes") == 0)
      snprintf(sizes, sizeof sizes, "%s", argv[i + 1]);
  }
  if (size == 2) {
    measure_all("pair", false, false);
  } else {
    measure_all("grid26", true, false);
    measure_all("all", false, false);
    measure_all("all", false, true);
  }
  check(MPI_Finalize());
  return 0;
}
