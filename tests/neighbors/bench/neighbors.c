/* Times of MPI_Neighbor_alltoallv and _allgatherv as MPI_X, which sfd carries, and as PMPI_X, MPI's own, in one program
 * of plain MPI. Prints records as sfperf --json does. tests/bench/run starts it:
 *     sfrun --neighbors -n 8 -- neighbors [--reps N] [--sample-ms N] [--sizes BYTES,...] [--link-gbit N]
 * Two processes exchange with each other (pair); others with the 26 neighbours of a periodic grid, of which several may
 * be the same process (grid26), and with all others (all). Contenders: sfd and the MPI's name; sfd_changing, where the
 * sizes of a quarter of the blocks are others at each call, of the same mean. Before each call all blocks are written
 * anew, as programs do; without that, caches would keep what the previous call has read.
 *
 * Bounds of the machine are beside them. On one node: vm_read reads the same blocks from the memory of the other
 * processes by process_vm_readv, as MPIs do; copy copies them from shared memory, in which no program has its blocks;
 * both once, between two barriers. Over nodes the records of ops with -link have the bytes that the first node has sent
 * through all its interfaces but lo, as the system counts them, per call; link is the time that those of sfd take on a
 * link of so many Gbit/s in each direction. One thread. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_NEIGHBORS 64
#define MAX_REPS 200
#define NVARIANTS 16 /* of changing sizes */

#ifdef OPEN_MPI
#define MPI_NAME "openmpi"
#else
#define MPI_NAME "mpich"
#endif

/* REWRITE calls nothing. */
typedef enum contender { SFD, MPI, SFD_CHANGING, VM_READ, COPY, REWRITE, NCONTENDERS } contender_t;
static const char *const names[REWRITE] = {"sfd_" MPI_NAME, MPI_NAME, "sfd_" MPI_NAME "_changing", "vm_read", "copy"};

/* A process, as the others read its memory. */
typedef struct process {
  pid_t pid;
  char *out;
} process_t;

typedef struct exchange {
  MPI_Comm comm;
  int n, ranks[MAX_NEIGHBORS]; /* the same in both directions */
  int counts[NVARIANTS][2][MAX_NEIGHBORS], displs[MAX_NEIGHBORS];
  char *out, *in;
  MPI_Win window; /* on one node: shared memory for the blocks, as long as out */
  char *shared;
  process_t *processes; /* by rank */
  bool gather;
} exchange_t;

static int rank, size, nnodes, reps = 15, sample_ms = 3;
static double link_gbit; /* per second; 0: unknown */
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
  exchange->processes = calloc((size_t)size, sizeof *exchange->processes);
  if (exchange->out == NULL || exchange->in == NULL || exchange->processes == NULL)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (nnodes == 1)
    check(PMPI_Win_allocate_shared((exchange->n + 1) * 2 * bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exchange->shared,
                                   &exchange->window));
  process_t own = {getpid(), exchange->out};
  check(PMPI_Allgather(&own, sizeof own, MPI_BYTE, exchange->processes, sizeof own, MPI_BYTE, MPI_COMM_WORLD));
}

/* ---- Times ---- */

static void rewrite(const exchange_t *e, char *out, int i)
{
  for (int k = 0; k < (e->gather ? 1 : e->n); k++)
    memset(out + e->displs[k], i, (size_t)e->counts[0][0][k]);
}

/* Gets block k of those that the process receives. Returns false if the system forbids it. */
typedef bool fetch_t(const exchange_t *e, int k);

/* These are, in all patterns, the blocks for the opposite neighbors of its neighbors. */
static size_t find_block(const exchange_t *e, int k)
{
  return (size_t)(e->gather ? 0 : e->displs[e->n - 1 - k]);
}

static bool read_block(const exchange_t *e, int k)
{
  const process_t *process = &e->processes[e->ranks[k]];
  struct iovec local = {e->in + e->displs[k], (size_t)e->counts[0][1][k]},
               remote = {process->out + find_block(e, k), local.iov_len};
  return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)local.iov_len;
}

static bool copy_block(const exchange_t *e, int k)
{
  MPI_Aint bytes;
  int unit;
  char *out;
  check(PMPI_Win_shared_query(e->window, e->ranks[k], &bytes, &unit, &out));
  memcpy(e->in + e->displs[k], out + find_block(e, k), (size_t)e->counts[0][1][k]);
  return true;
}

/* Between barriers: blocks are read when all have written theirs, and written anew when all have read them. */
static void fetch_blocks(const exchange_t *e, fetch_t *fetch)
{
  check(PMPI_Barrier(MPI_COMM_WORLD));
  for (int k = 0; k < e->n; k++)
    (void)fetch(e, k);
  check(PMPI_Barrier(MPI_COMM_WORLD));
}

static void call_mpi(const exchange_t *e, const int *out, const int *in)
{
  if (e->gather)
    check(PMPI_Neighbor_allgatherv(e->out, out[0], MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
  else
    check(PMPI_Neighbor_alltoallv(e->out, out, e->displs, MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
}

static void call_sfd(const exchange_t *e, const int *out, const int *in)
{
  if (e->gather)
    check(MPI_Neighbor_allgatherv(e->out, out[0], MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
  else
    check(MPI_Neighbor_alltoallv(e->out, out, e->displs, MPI_BYTE, e->in, in, e->displs, MPI_BYTE, e->comm));
}

static void call(const exchange_t *e, contender_t contender, int i)
{
  const int *out = e->counts[contender == SFD_CHANGING ? 1 + i % (NVARIANTS - 1) : 0][0], *in = out + MAX_NEIGHBORS;
  rewrite(e, contender == COPY ? e->shared : e->out, i);
  switch (contender) {
  case MPI:
    call_mpi(e, out, in);
    return;
  case VM_READ:
    fetch_blocks(e, read_block);
    return;
  case COPY:
    fetch_blocks(e, copy_block);
    return;
  case REWRITE:
    return;
  default:
    call_sfd(e, out, in);
  }
}

/* Bytes that this node's interfaces have sent. */
static double count_sent(void)
{
  char line[512], name[64];
  double all = 0, sent;
  FILE *file = fopen("/proc/net/dev", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, " %63[^:]: %*s %*s %*s %*s %*s %*s %*s %*s %lf", name, &sent) == 2 && strcmp(name, "lo") != 0)
      all += sent;
  if (file != NULL)
    fclose(file);
  return all;
}

/* A call: the time of the slowest process, and what the link has carried. */
typedef struct sample {
  double us;
  double link_bytes;
} sample_t;

static sample_t run(const exchange_t *exchange, contender_t contender, int ncalls)
{
  bool counts = nnodes > 1 && rank == 0;
  sample_t sample;
  check(PMPI_Barrier(MPI_COMM_WORLD));
  double sent = counts ? count_sent() : 0, start = MPI_Wtime();
  for (int i = 0; i < ncalls; i++)
    call(exchange, contender, i);
  double mine = (MPI_Wtime() - start) * 1e6 / ncalls;
  check(PMPI_Allreduce(&mine, &sample.us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  sample.link_bytes = counts ? (count_sent() - sent) / ncalls : 0;
  return sample;
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

/* Prints a record. rewrite: part of every sample that only rewrites the blocks. */
static void print(const char *name, const char *op, const char *contender, int bytes, const char *unit,
                  const double samples[], double rewrite)
{
  double value = median(samples);
  printf("{\"bench\":\"neighbors\",\"case\":\"%s-%d\",\"op\":\"%s\",\"contender\":\"%s\",\"bytes\":%d,\"ranks\":%d,"
         "\"nodes\":%d,\"median_%s\":%.5g,\"rewrite_%s\":%.5g,\"net_median_%s\":%.5g,\"reps\":%d,\"samples_%s\":[",
         name, bytes, op, contender, bytes, size, nnodes, unit, value, unit, rewrite, unit, value - rewrite, reps,
         unit);
  for (int i = 0; i < reps; i++)
    printf("%s%.5g", i > 0 ? "," : "", samples[i]);
  printf("]}\n");
  fflush(stdout);
}

/* Whether the contender can be measured; all processes come to the same result. */
static bool takes_part(const exchange_t *exchange, contender_t contender)
{
  if (contender != VM_READ && contender != COPY)
    return true;
  int can = nnodes == 1 && (contender == COPY || exchange->n == 0 || read_block(exchange, 0)), all_can;
  check(PMPI_Allreduce(&can, &all_can, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return all_can;
}

static double us[NCONTENDERS][MAX_REPS], link_bytes[NCONTENDERS][MAX_REPS];

static void take_samples(const exchange_t *exchange, const int ncalls[])
{
  for (int i = 0; i < reps; i++)
    for (contender_t contender = SFD; contender < NCONTENDERS; contender++)
      if (ncalls[contender] > 0) {
        sample_t sample = run(exchange, contender, ncalls[contender]);
        us[contender][i] = sample.us;
        link_bytes[contender][i] = sample.link_bytes;
      }
}

/* Bytes on the link, and the time that they take. */
static void print_link(const char *name, bool gather, int bytes)
{
  static double link_us[MAX_REPS];
  for (contender_t contender = SFD; contender <= SFD_CHANGING; contender++)
    print(name, gather ? "allgatherv-link" : "alltoallv-link", names[contender], bytes, "bytes", link_bytes[contender],
          0);
  if (link_gbit <= 0)
    return;
  for (int i = 0; i < reps; i++)
    link_us[i] = link_bytes[SFD][i] * 8 / 1000 / link_gbit;
  print(name, gather ? "allgatherv" : "alltoallv", "link", bytes, "us", link_us, 0);
}

static void measure(const char *name, exchange_t *exchange, int bytes)
{
  int ncalls[NCONTENDERS] = {0};
  set_sizes(exchange, bytes);
  for (contender_t contender = SFD; contender < NCONTENDERS; contender++) {
    if (!takes_part(exchange, contender))
      continue;
    (void)run(exchange, contender, 5);
    ncalls[contender] = 1 + (int)(sample_ms * 1000 / run(exchange, contender, 10).us);
  }
  take_samples(exchange, ncalls);
  for (contender_t contender = SFD; contender < REWRITE && rank == 0; contender++)
    if (ncalls[contender] > 0)
      print(name, exchange->gather ? "allgatherv" : "alltoallv", names[contender], bytes, "us", us[contender],
            median(us[REWRITE]));
  if (nnodes > 1 && rank == 0)
    print_link(name, exchange->gather, bytes);
  if (nnodes == 1)
    check(PMPI_Win_free(&exchange->window));
  free(exchange->out);
  free(exchange->in);
  free(exchange->processes);
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
    else if (strcmp(argv[i], "--link-gbit") == 0)
      link_gbit = atof(argv[i + 1]);
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
