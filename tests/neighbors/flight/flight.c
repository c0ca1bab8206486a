/* Many neighborhood collectives in flight, threads, and memory of devices. Each process of a periodic ring sends blocks
 * that tell who sent them, in which call, and checks what it receives. Plain MPI.
 *
 * usage: flight orders     processes wait for many operations in different orders
 *        flight elsewhere  half of the processes wait in other functions of MPI for the others to end theirs
 *        flight threads    two threads at the same time, each on a communicator of its own
 *        flight handed     one thread begins, another one waits
 *        flight fork       children that call no MPI, and end, while many operations are in flight
 *        flight nothing    arguments that say nothing, as there is no neighbour or nothing to send; large counts in
 * types flight devices    half of the processes have their blocks in memory of a device, of the driver SFTEST_DRIVER
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name
#else
#define PERSISTENT(name) MPI_##name
#endif

#define MANY 100
#define LARGE 3000 /* values of a large block */
#define ROUNDS 60  /* of a thread */

static int rank, size;

static void must(int code, const char *what)
{
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS)
    return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A ring, its neighbours in the order of blocks, and operations on it. */
typedef struct flight {
  MPI_Comm ring;
  int neighbors[2];
  int n; /* values of a block */
  int *sent[MANY];
  int *received[MANY];
  MPI_Request requests[MANY];
} flight_t;

static void make_flight(flight_t *flight, int n)
{
  const int both[2] = {(rank + size - 1) % size, (rank + 1) % size};
  memcpy(flight->neighbors, both, sizeof both);
  flight->n = n;
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, MPI_UNWEIGHTED, 2, both, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                      0, &flight->ring),
       "MPI_Dist_graph_create_adjacent");
  must(MPI_Comm_set_errhandler(flight->ring, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  for (int i = 0; i < MANY; i++) {
    flight->sent[i] = calloc(2 * (size_t)n, sizeof(int));
    flight->received[i] = calloc(2 * (size_t)n, sizeof(int));
    flight->requests[i] = MPI_REQUEST_NULL;
  }
}

static void free_flight(flight_t *flight)
{
  for (int i = 0; i < MANY; i++) {
    free(flight->sent[i]);
    free(flight->received[i]);
  }
  must(MPI_Comm_free(&flight->ring), "MPI_Comm_free");
}

static int value(int from, int call, int i)
{
  return from * 1000000 + call * 1000 + i % 1000;
}

static void fill(flight_t *flight, int slot, int call)
{
  for (int i = 0; i < 2 * flight->n; i++) {
    flight->sent[slot][i] = value(rank, call, i % flight->n);
    flight->received[slot][i] = -1;
  }
}

static void check(const flight_t *flight, int slot, int call)
{
  for (int i = 0; i < 2 * flight->n; i++) {
    int expected = value(flight->neighbors[i / flight->n], call, i % flight->n), found = flight->received[slot][i];
    if (found == expected)
      continue;
    fprintf(stderr, "rank %d: call %d: value %d is %d, expected %d\n", rank, call, i, found, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void begin(flight_t *flight, int slot, int call)
{
  fill(flight, slot, call);
  must(MPI_Ineighbor_alltoall(flight->sent[slot], flight->n, MPI_INT, flight->received[slot], flight->n, MPI_INT,
                              flight->ring, &flight->requests[slot]),
       "MPI_Ineighbor_alltoall");
}

/* ---- Many in flight ---------------------------------------------------------------------------------------------- */

static void wait_in_order(flight_t *flight, int order)
{
  for (int k = 0; k < MANY && order < 2; k++)
    must(MPI_Wait(&flight->requests[order == 0 ? k : MANY - 1 - k], MPI_STATUS_IGNORE), "MPI_Wait");
  for (int k = 0, i; k < MANY && order == 2; k++)
    must(MPI_Waitany(MANY, flight->requests, &i, MPI_STATUS_IGNORE), "MPI_Waitany");
  if (order == 3)
    must(MPI_Waitall(MANY, flight->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

static void run_orders(int n)
{
  flight_t flight;
  make_flight(&flight, n);
  for (int order = 0; order < 4; order++) {
    for (int i = 0; i < MANY; i++)
      begin(&flight, i, i);
    wait_in_order(&flight, (order + rank) % 4);
    for (int i = 0; i < MANY; i++)
      check(&flight, i, i);
  }
  free_flight(&flight);
}

static void run_elsewhere(int n)
{
  flight_t flight;
  make_flight(&flight, n);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MANY; i++)
      begin(&flight, i, i);
    if (rank % 2 == round)
      must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    wait_in_order(&flight, 3);
    if (rank % 2 != round)
      must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    for (int i = 0; i < MANY; i++)
      check(&flight, i, i);
  }
  free_flight(&flight);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *use_own(void *argument)
{
  flight_t *flight = argument;
  for (int round = 0; round < ROUNDS; round++) {
    int slot = round % 8;
    begin(flight, slot, round);
    begin(flight, slot + 8, round + 1);
    must(MPI_Wait(&flight->requests[slot + 8], MPI_STATUS_IGNORE), "MPI_Wait");
    must(MPI_Waitall(MANY, flight->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    check(flight, slot, round);
    check(flight, slot + 8, round + 1);
  }
  return NULL;
}

static void run_threads(int n)
{
  flight_t flights[2];
  pthread_t other;
  for (int i = 0; i < 2; i++)
    make_flight(&flights[i], n);
  pthread_create(&other, NULL, use_own, &flights[1]);
  use_own(&flights[0]);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; i++)
    free_flight(&flights[i]);
}

static void *wait_for_all(void *argument)
{
  flight_t *flight = argument;
  must(MPI_Waitall(MANY, flight->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
  return NULL;
}

/* Half of the processes wait in the thread that began, so that operations of both kinds meet. */
static void run_handed(int n)
{
  flight_t flight;
  pthread_t other;
  make_flight(&flight, n);
  for (int i = 0; i < 2; i++)
    must(PERSISTENT(Neighbor_alltoall_init)(flight.sent[i], n, MPI_INT, flight.received[i], n, MPI_INT, flight.ring,
                                            MPI_INFO_NULL, &flight.requests[i]),
         "MPI_Neighbor_alltoall_init");
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 2; i++)
      fill(&flight, i, round);
    must(MPI_Startall(2, flight.requests), "MPI_Startall");
    begin(&flight, 2, round);
    if (rank % 2 == 0) {
      pthread_create(&other, NULL, wait_for_all, &flight);
      pthread_join(other, NULL);
    } else {
      wait_for_all(&flight);
    }
    for (int i = 0; i < 3; i++)
      check(&flight, i, round);
  }
  for (int i = 0; i < 2; i++)
    must(MPI_Request_free(&flight.requests[i]), "MPI_Request_free");
  free_flight(&flight);
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

static void run_fork(int n)
{
  flight_t flight;
  int status = -1;
  make_flight(&flight, n);
  for (int i = 0; i < MANY; i++)
    begin(&flight, i, i);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    void *room = malloc((size_t)n * 1000);
    exit(room != NULL ? 0 : 1);
  }
  if (waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "rank %d: the child ended with status 0x%x\n", rank, (unsigned)status);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  wait_in_order(&flight, 3);
  for (int i = 0; i < MANY; i++)
    check(&flight, i, i);
  free_flight(&flight);
}

/* ---- Memory of devices ------------------------------------------------------------------------------------------- */

typedef void *alloc_t(int device, size_t len_bytes);
typedef void copy_t(void *to, const void *from, size_t len_bytes);

/* Two values for each neighbor, the second one behind a gap. */
static void run_devices(int n)
{
  flight_t flight;
  int room[4 * LARGE] = {0}, count = 2 * n;
  size_t bytes = 2 * (size_t)count * sizeof(int);
  MPI_Datatype vector, spread;
  void *driver = dlopen(getenv("SFTEST_DRIVER"), RTLD_NOW | RTLD_GLOBAL);
  alloc_t *alloc = driver != NULL ? (alloc_t *)dlsym(driver, "sftest_cuda_alloc") : NULL;
  copy_t *copy = driver != NULL ? (copy_t *)dlsym(driver, "sftest_cuda_copy") : NULL;
  if (alloc == NULL || copy == NULL)
    MPI_Abort(MPI_COMM_WORLD, 3);
  make_flight(&flight, n);
  bool mine = rank % 2 == 0;
  int *out = mine ? alloc(0, bytes) : calloc(1, bytes), *in = mine ? alloc(0, bytes) : calloc(1, bytes);
  for (int stride = 1; stride <= 2; stride++) {
    must(MPI_Type_vector(n, 1, stride, MPI_INT, &vector), "MPI_Type_vector");
    must(MPI_Type_create_resized(vector, 0, (MPI_Aint)sizeof(int) * stride * n, &spread), "MPI_Type_create_resized");
    must(MPI_Type_commit(&spread), "MPI_Type_commit");
    fill(&flight, 0, stride);
    for (int i = 0; i < count; i++)
      room[stride * i] = flight.sent[0][i];
    copy(out, room, bytes);
    must(MPI_Neighbor_alltoall(out, 1, spread, in, 1, spread, flight.ring), "MPI_Neighbor_alltoall");
    copy(room, in, bytes);
    for (int i = 0; i < count; i++)
      flight.received[0][i] = room[stride * i];
    check(&flight, 0, stride);
    must(MPI_Type_free(&vector), "MPI_Type_free");
    must(MPI_Type_free(&spread), "MPI_Type_free");
  }
  free_flight(&flight);
}

/* A chain, whose ends have neighbours on one side and give NULL for the other one, as empty vectors do. */
static void pass_along(int n)
{
  int left = rank - 1, right = rank + 1, nin = rank > 0, nout = rank < size - 1, zero = 0;
  int *sent = calloc((size_t)n, sizeof *sent), *received = calloc((size_t)n, sizeof *received);
  MPI_Aint begin = 0;
  MPI_Datatype type = MPI_INT;
  MPI_Comm chain;
  MPI_Request request;
  sent[n - 1] = 1 + rank;
  must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, nin, &left, MPI_UNWEIGHTED, nout, &right, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &chain),
       "MPI_Dist_graph_create_adjacent");
#define OR_NULL(n, pointer) ((n) > 0 ? (pointer) : NULL)
  for (int way = 0; way < 3; way++) {
    received[n - 1] = -1;
    if (way == 0)
      must(MPI_Neighbor_alltoallv(OR_NULL(nout, sent), OR_NULL(nout, &n), OR_NULL(nout, &zero), MPI_INT,
                                  OR_NULL(nin, received), OR_NULL(nin, &n), OR_NULL(nin, &zero), MPI_INT, chain),
           "MPI_Neighbor_alltoallv");
    else if (way == 1)
      must(MPI_Neighbor_alltoallw(OR_NULL(nout, sent), OR_NULL(nout, &n), OR_NULL(nout, &begin), OR_NULL(nout, &type),
                                  OR_NULL(nin, received), OR_NULL(nin, &n), OR_NULL(nin, &begin), OR_NULL(nin, &type),
                                  chain),
           "MPI_Neighbor_alltoallw");
    else {
      must(MPI_Ineighbor_alltoallw(OR_NULL(nout, sent), OR_NULL(nout, &n), OR_NULL(nout, &begin), OR_NULL(nout, &type),
                                   OR_NULL(nin, received), OR_NULL(nin, &n), OR_NULL(nin, &begin), OR_NULL(nin, &type),
                                   chain, &request),
           "MPI_Ineighbor_alltoallw");
      must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    if (received[n - 1] != (nin ? rank : -1))
      MPI_Abort(MPI_COMM_WORLD, 4);
  }
  must(MPI_Comm_free(&chain), "MPI_Comm_free");
  free(sent);
  free(received);
}

/* To the right only, along a line. No values go to the left: of no datatype, or of one that was not committed. */
static void pass_nothing(MPI_Datatype none, MPI_Datatype one)
{
  int open = 0, sent = 1 + rank, received = 0, out[] = {0, 1}, in[] = {1, 0};
  const MPI_Aint begin[] = {0, 0};
  MPI_Datatype to[] = {none, one}, from[] = {one, none};
  MPI_Comm line;
  must(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &line), "MPI_Cart_create");
  if (rank == 0)
    from[0] = none;
  in[0] = rank > 0;
  must(MPI_Neighbor_alltoallw(&sent, out, begin, to, &received, in, begin, from, line), "MPI_Neighbor_alltoallw");
  if (received != rank)
    MPI_Abort(MPI_COMM_WORLD, 4);
  must(MPI_Comm_free(&line), "MPI_Comm_free");
}

static void run_nothing(int n)
{
  MPI_Datatype uncommitted;
  pass_along(n);
  must(MPI_Type_contiguous(n, MPI_INT, &uncommitted), "MPI_Type_contiguous");
  pass_nothing(MPI_DATATYPE_NULL, MPI_INT);
  pass_nothing(uncommitted, MPI_INT);
#if MPI_VERSION >= 4
  MPI_Datatype large;
  must(MPI_Type_contiguous_c(1, MPI_INT, &large), "MPI_Type_contiguous_c");
  must(MPI_Type_commit(&large), "MPI_Type_commit");
  pass_nothing(uncommitted, large);
  must(MPI_Type_free(&large), "MPI_Type_free");
#endif
  must(MPI_Type_free(&uncommitted), "MPI_Type_free");
}

int main(int argc, char *argv[])
{
  static const struct {
    const char *name;
    void (*run)(int n);
  } cases[] = {{"orders", run_orders}, {"elsewhere", run_elsewhere}, {"threads", run_threads}, {"handed", run_handed},
               {"fork", run_fork},     {"nothing", run_nothing},     {"devices", run_devices}};
  int level, ran = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int a = 1; a < argc; a++)
      if (strcmp(argv[a], cases[i].name) == 0) {
        cases[i].run(1);
        cases[i].run(LARGE);
        ran++;
      }
  if (level < MPI_THREAD_MULTIPLE || ran != argc - 1)
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("ok\n");
  MPI_Finalize();
  return 0;
}
