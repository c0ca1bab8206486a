/* Differential test of neighbourhood collectives: see differential.h. Run by mpirun with any number of processes:
 * differential [--seed N] [--rounds N] [--seconds N] [--carried 1]. One thread. Ends with the seed if something differs
 * or hangs. */
#include "tests/neighbors/differential.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CALLS 5
#define MAX_MESSAGES 24
#define TAG 77

static uint64_t seed = 1;
static int rounds = 30, limit_s = 120, world_rank;
static char note[256];
bool carried;

/* ---- Helpers ---- */

void must(int result, const char *what)
{
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (result == MPI_SUCCESS)
    return;
  MPI_Error_string(result, text, &length);
  fprintf(stderr, "rank %d: %s: %s (seed %llu)\n", world_rank, what, text, (unsigned long long)seed);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void *make_room(size_t bytes)
{
  void *room = calloc(1, bytes > 0 ? bytes : 1);
  if (room == NULL)
    MPI_Abort(MPI_COMM_WORLD, 1);
  return room;
}

uint64_t dice_mix(uint64_t a, uint64_t b)
{
  uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x2545f4914f6cdd1d);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int dice_below(dice_t *dice, int n)
{
  dice->state += UINT64_C(0x9e3779b97f4a7c15);
  return (int)(dice_mix(dice->state, 0) % (uint64_t)n);
}

bool dice_percent(dice_t *dice, int percent)
{
  return dice_below(dice, 100) < percent;
}

void dice_shuffle(dice_t *dice, int n, int values[])
{
  for (int i = n - 1; i > 0; i--) {
    int k = dice_below(dice, i + 1), kept = values[i];
    values[i] = values[k];
    values[k] = kept;
  }
}

void progress_note(const char *what, const char *which)
{
  snprintf(note + 64, sizeof note - 64, "%s %s", what, which);
}

static void on_alarm(int signal)
{
  char text[512];
  (void)signal;
  int n = snprintf(text, sizeof text, "rank %d hangs: %.63s: %s (seed %llu)\n", world_rank, note, note + 64,
                   (unsigned long long)seed);
  (void)!write(2, text, (size_t)n);
  _exit(3);
}

/* ---- Messages beside the collectives ---- */

typedef struct messages {
  int nrequests, nin, count;
  MPI_Request requests[2 * MAX_MESSAGES];
  int *in, *out;
} messages_t;

/* A message to each neighbour. The large ones need the sender's MPI to make progress. */
static void start_messages(messages_t *messages, const topology_t *topology, int count, bool receive)
{
  int nout = topology->nout < MAX_MESSAGES ? topology->nout : MAX_MESSAGES;
  *messages = (messages_t){.count = count, .nin = topology->nin < MAX_MESSAGES ? topology->nin : MAX_MESSAGES};
  messages->in = make_room(((size_t)messages->nin * (size_t)count + 1) * sizeof(int));
  messages->out = make_room((size_t)count * sizeof(int));
  for (int i = 0; i < count; i++)
    messages->out[i] = topology->rank * 1000 + i % 1000;
  for (int i = 0; i < messages->nin && receive; i++)
    must(MPI_Irecv(messages->in + (size_t)i * (size_t)count, count, MPI_INT, topology->in[i], TAG, topology->comm,
                   &messages->requests[messages->nrequests++]),
         "MPI_Irecv");
  for (int i = 0; i < nout; i++)
    must(MPI_Isend(messages->out, count, MPI_INT, topology->out[i], TAG, topology->comm,
                   &messages->requests[messages->nrequests++]),
         "MPI_Isend");
}

static void check_messages(messages_t *messages, const topology_t *topology)
{
  for (int i = 0; i < messages->nin * messages->count; i++) {
    int from = topology->in[i / messages->count];
    if (from == MPI_PROC_NULL || messages->in[i] == from * 1000 + i % messages->count % 1000)
      continue;
    fprintf(stderr, "rank %d: a message from %d has %d at %d (seed %llu)\n", world_rank, from, messages->in[i], i,
            (unsigned long long)seed);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(messages->in);
  free(messages->out);
}

/* Messages cross only when there are at most MAX_MESSAGES neighbours everywhere. */
static bool may_send(const topology_t *topology)
{
  return topology->size * 3 <= MAX_MESSAGES;
}

/* ---- Batches: some calls, begun in the same order everywhere ---- */

typedef struct batch {
  int n;
  call_t calls[MAX_CALLS];
  MPI_Request requests[NPATHS][MAX_CALLS];
  bool pmpi_first, start_all, free_early;
} batch_t;

static void start_path(batch_t *batch, path_t path)
{
  MPI_Request persistent[MAX_CALLS];
  int n = 0, from[MAX_CALLS];
  for (int i = 0; i < batch->n; i++)
    if (call_is_persistent(&batch->calls[i], path)) {
      from[n] = i;
      persistent[n++] = batch->requests[path][i];
    }
  progress_note("starting", "persistent operations");
  if (batch->start_all && n > 0)
    must(path == PATH_MPI ? MPI_Startall(n, persistent) : PMPI_Startall(n, persistent), "Startall");
  for (int k = 0; k < n && !batch->start_all; k++)
    must(path == PATH_MPI ? MPI_Start(&persistent[k]) : PMPI_Start(&persistent[k]), "Start");
  for (int k = 0; k < n; k++)
    batch->requests[path][from[k]] = persistent[k];
  for (int i = 0; i < batch->n; i++)
    call_start_replaced(&batch->calls[i], path, &batch->requests[path][i]);
}

/* Which operations of a batch: the same on all ranks. */
static void make_batch(batch_t *batch, const topology_t *topology, dice_t *shared, uint64_t number, dice_t *own)
{
  *batch = (batch_t){.n = 1 + dice_below(shared, MAX_CALLS)};
  batch->pmpi_first = dice_percent(shared, 50);
  batch->start_all = dice_percent(shared, 50);
  batch->free_early = carried && dice_percent(own, 70);
  for (int i = 0; i < batch->n; i++) {
    function_t function = (function_t)dice_below(shared, NFUNCTIONS);
    form_t form = (form_t)dice_below(shared, NFORMS);
    call_make(&batch->calls[i], topology, function, form, number + (uint64_t)i, own);
  }
}

static void begin_batch(batch_t *batch)
{
  for (int i = 0; i < batch->n; i++)
    for (int k = 0; k < NPATHS; k++) {
      path_t path = (k == 0) == batch->pmpi_first ? PATH_PMPI : PATH_MPI;
      call_begin(&batch->calls[i], path, &batch->requests[path][i]);
    }
  for (int i = 0; i < batch->n && batch->free_early; i++)
    call_free_types(&batch->calls[i]);
  for (int k = 0; k < NPATHS; k++)
    start_path(batch, (k == 0) == batch->pmpi_first ? PATH_PMPI : PATH_MPI);
}

/* Completes everything under way in one array, in random order; MPI's own requests of the batch sometimes apart. */
static void finish_batch(batch_t *batch, messages_t *messages, dice_t *own)
{
  MPI_Request *all[2 * MAX_CALLS + 2 * MAX_MESSAGES], shuffled[2 * MAX_CALLS + 2 * MAX_MESSAGES];
  int n = 0, order[2 * MAX_CALLS + 2 * MAX_MESSAGES];
  bool apart = dice_percent(own, 30);
  for (int i = 0; i < 2 * batch->n; i++)
    if (i % 2 == PATH_MPI || !apart)
      all[n++] = &batch->requests[i % 2][i / 2];
  for (int i = 0; i < messages->nrequests; i++)
    all[n++] = &messages->requests[i];
  for (int i = 0; i < n; i++)
    order[i] = i;
  dice_shuffle(own, n, order);
  for (int i = 0; i < n; i++)
    shuffled[i] = *all[order[i]];
  finish_all(own, n, shuffled);
  for (int i = 0; i < n; i++)
    *all[order[i]] = shuffled[i];
  progress_note("finishing", "MPI's own requests");
  if (apart)
    must(PMPI_Waitall(batch->n, batch->requests[PATH_PMPI], MPI_STATUSES_IGNORE), "PMPI_Waitall");
}

static void compare_batch(const batch_t *batch)
{
  bool same = true;
  for (int i = 0; i < batch->n; i++)
    same = call_compare(&batch->calls[i]) && same;
  for (int i = 0; i < 2 * batch->n; i++) {
    bool persistent = call_is_persistent(&batch->calls[i / 2], (path_t)(i % 2));
    if (persistent == (batch->requests[i % 2][i / 2] != MPI_REQUEST_NULL))
      continue;
    fprintf(stderr, "rank %d: a completed request is %s\n", world_rank, persistent ? "null" : "not null");
    same = false;
  }
  if (same)
    return;
  fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void end_batch(batch_t *batch)
{
  for (int i = 0; i < batch->n; i++) {
    for (int path = 0; path < NPATHS; path++)
      if (call_is_persistent(&batch->calls[i], (path_t)path))
        must(MPI_Request_free(&batch->requests[path][i]), "MPI_Request_free");
    if (!batch->free_early)
      call_free_types(&batch->calls[i]);
    call_free(&batch->calls[i]);
  }
}

static void run_batch(const topology_t *topology, dice_t *shared, uint64_t number, dice_t *own)
{
  batch_t batch;
  messages_t messages = {.nrequests = 0}, early = {.nrequests = 0};
  bool sends = may_send(topology) && dice_percent(shared, 60), before = sends && dice_percent(shared, 50);
  int count = dice_percent(shared, 70) ? 1 + dice_below(shared, 100) : 30000, repeats = 1 + dice_below(shared, 3);
  make_batch(&batch, topology, shared, number, own);
  if (before)
    start_messages(&early, topology, count, true);
  begin_batch(&batch);
  for (int i = 0; i < repeats; i++) {
    messages = (messages_t){.nrequests = 0};
    if (i > 0) {
      for (int k = 0; k < batch.n; k++)
        if (batch.calls[k].form == PERSISTENT)
          call_refill(&batch.calls[k], (uint64_t)i);
      for (int k = 0; k < NPATHS; k++)
        start_path(&batch, (k == 0) == batch.pmpi_first ? PATH_PMPI : PATH_MPI);
    }
    if (sends)
      start_messages(&messages, topology, count, true);
    finish_batch(&batch, &messages, own);
    compare_batch(&batch);
    if (sends)
      check_messages(&messages, topology);
  }
  if (before) {
    must(MPI_Waitall(early.nrequests, early.requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    check_messages(&early, topology);
  }
  end_batch(&batch);
}

/* ---- Progress: a send that was begun must go on while its sender waits in a collective ---- */

static void check_progress(const topology_t *topology)
{
  messages_t messages;
  int out = 0, count = 200000, n = topology->nin;
  if (!may_send(topology))
    return;
  progress_note("receiving", "before a collective that the senders are in");
  start_messages(&messages, topology, count, false);
  for (int i = 0; i < n && topology->rank % 2 == 1; i++)
    must(MPI_Recv(messages.in + (size_t)i * (size_t)count, count, MPI_INT, topology->in[i], TAG, topology->comm,
                  MPI_STATUS_IGNORE),
         "MPI_Recv");
  int *all = make_room((size_t)(n + 1) * sizeof *all);
  must(MPI_Neighbor_allgather(&out, 1, MPI_INT, all, 1, MPI_INT, topology->comm), "MPI_Neighbor_allgather");
  free(all);
  for (int i = 0; i < n && topology->rank % 2 == 0; i++)
    must(MPI_Recv(messages.in + (size_t)i * (size_t)count, count, MPI_INT, topology->in[i], TAG, topology->comm,
                  MPI_STATUS_IGNORE),
         "MPI_Recv");
  must(MPI_Waitall(messages.nrequests, messages.requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
  check_messages(&messages, topology);
}

/* ---- Program ---- */

static void parse(int argc, char *argv[])
{
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0)
      seed = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--rounds") == 0)
      rounds = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--seconds") == 0)
      limit_s = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--carried") == 0)
      carried = atoi(argv[i + 1]) != 0;
    else
      MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static void run_round(int round)
{
  dice_t shared = {dice_mix(seed, (uint64_t)round)}, own = {dice_mix(shared.state, (uint64_t)world_rank + 1)};
  topology_t topology;
  snprintf(note, 64, "round %d", round);
  progress_note("making", "a topology");
  topology_make(&shared, &topology);
  bool alone = topology.nin + topology.nout == 0, skips = alone && dice_percent(&own, 50);
  snprintf(note, 64, "round %d, %.39s", round, topology.name);
  for (int b = 0; b < 3 && topology.comm != MPI_COMM_NULL && !skips; b++) {
    dice_t dice = {dice_mix(shared.state, (uint64_t)b)};
    run_batch(&topology, &dice, (uint64_t)round * 1000 + (uint64_t)b * 100, &own);
  }
  if (dice_percent(&shared, 30) && topology.comm != MPI_COMM_NULL && !skips)
    check_progress(&topology);
  topology_free(&topology);
}

int main(int argc, char *argv[])
{
  must(MPI_Init(&argc, &argv), "MPI_Init");
  must(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank), "rank");
  parse(argc, argv);
  signal(SIGALRM, on_alarm);
  alarm((unsigned)limit_s);
  for (int round = 0; round < rounds; round++)
    run_round(round);
  must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  if (world_rank == 0)
    printf("ok: %d rounds, seed %llu\n", rounds, (unsigned long long)seed);
  must(MPI_Finalize(), "MPI_Finalize");
  return 0;
}
