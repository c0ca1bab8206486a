/* Arrays: operations that one thread has begun do not keep another thread from its own, and operations on elements of
 * ranks that have left. */
#include <pthread.h>
#include <signal.h>

#include "tests/system/cluster.h"
#include "tests/unit/runner.h"

#define LARGE (INT64_C(1) << 20) /* twice as many values as the window of a rank has room for */
#define SMALL (INT64_C(32) << 10)

/* ---- Two threads ------------------------------------------------------------------------------------------------- */

typedef enum kind { GET, PUT, ACC, READ_INC, NKINDS } kind_t;

typedef struct side {
  sf_array_t *array;
  int64_t *values;
  int64_t lo, n;
  kind_t kind;
  bool by_request;
  sf_status_t status;
} side_t;

static sf_status_t begin(side_t *side, sf_request_t **request_p)
{
  if (side->kind == GET)
    return sf_array_get_begin(side->array, &side->lo, &side->n, side->values, NULL, request_p);
  if (side->kind == PUT)
    return sf_array_put_begin(side->array, &side->lo, &side->n, side->values, NULL, request_p);
  return sf_array_acc_begin(side->array, &side->lo, &side->n, side->values, NULL, NULL, request_p);
}

static sf_status_t block(side_t *side)
{
  int64_t previous;
  if (side->kind == GET)
    return sf_array_get(side->array, &side->lo, &side->n, side->values, NULL);
  if (side->kind == PUT)
    return sf_array_put(side->array, &side->lo, &side->n, side->values, NULL);
  if (side->kind == ACC)
    return sf_array_acc(side->array, &side->lo, &side->n, side->values, NULL, NULL);
  return sf_array_read_inc(side->array, &side->lo, 1, &previous);
}

static void *work(void *argument)
{
  side_t *side = argument;
  sf_request_t *request = NULL;
  if (!side->by_request) {
    side->status = block(side);
  } else {
    side->status = begin(side, &request);
    if (side->status == SF_OK)
      side->status = sf_wait(&request);
  }
  if (side->status == SF_OK)
    side->status = sf_array_flush(side->array, SF_ARRAY_ALL_RANKS);
  return NULL;
}

/* Elements of the other rank, all of which were first: 0, or 1 where something was put or added, once more by acc. */
static void check(sftest_rank_t *self, const side_t *side, int64_t first)
{
  int64_t n = side->kind == READ_INC ? 1 : side->n;
  int64_t added = side->kind == GET ? first : side->kind == PUT ? 1 : first + 1;
  int64_t *found = calloc((size_t)n, sizeof found[0]);
  SFTEST_OK(self, sf_array_get(side->array, &side->lo, &n, found, NULL));
  for (int64_t i = 0; i < n; i++)
    SFTEST_REQUIRE(self, found[i] == added && (side->kind != GET || side->values[i] == first));
  free(found);
}

static void fill(side_t *side)
{
  side->values = malloc((size_t)side->n * sizeof side->values[0]);
  for (int64_t i = 0; i < side->n; i++)
    side->values[i] = side->kind == GET ? -1 : 1;
}

/* The main thread begins a large operation, and ends it when the second thread has ended its own. */
static void try_both(sftest_rank_t *self, sf_array_t *const arrays[2], kind_t first, kind_t second, bool by_request)
{
  side_t main = {.array = arrays[0], .lo = LARGE, .n = LARGE, .kind = first};
  side_t other = {.array = arrays[1], .lo = SMALL, .n = SMALL, .kind = second, .by_request = by_request};
  sf_request_t *request;
  pthread_t thread;
  sftest_at(self, "kinds %d and %d%s", first, second, by_request ? " by a request" : "");
  fill(&main);
  fill(&other);
  SFTEST_OK(self, begin(&main, &request));
  SFTEST_REQUIRE(self, pthread_create(&thread, NULL, work, &other) == 0);
  pthread_join(thread, NULL);
  SFTEST_OK(self, other.status);
  SFTEST_OK(self, sf_wait(&request));
  SFTEST_OK(self, sf_array_flush(main.array, SF_ARRAY_ALL_RANKS));
  check(self, &main, 0);
  check(self, &other, 0);
  free(main.values);
  free(other.values);
}

SFTEST_JOINED(run_pairs)
{
  static const int64_t zero = 0;
  int64_t large = 2 * LARGE, small = 2 * SMALL;
  sf_array_t *arrays[2];
  SFTEST_OK(self, sf_array_create(world, SF_INT64, 1, &large, NULL, &arrays[0]));
  SFTEST_OK(self, sf_array_create(world, SF_INT64, 1, &small, NULL, &arrays[1]));
  for (int i = 0; i < READ_INC * (NKINDS + READ_INC); i++) {
    int second = i % (NKINDS + READ_INC);
    SFTEST_OK(self, sf_array_fill(arrays[0], &zero));
    SFTEST_OK(self, sf_array_fill(arrays[1], &zero));
    if (self->rank == 0)
      try_both(self, arrays, (kind_t)(i / (NKINDS + READ_INC)), (kind_t)(second % NKINDS), second >= NKINDS);
    SFTEST_OK(self, sf_array_sync(arrays[0]));
  }
  SFTEST_OK(self, sf_array_destroy(arrays[0]));
  SFTEST_OK(self, sf_array_destroy(arrays[1]));
}

SFTEST(a_begun_operation_does_not_keep_another_thread_waiting)
{
  static const int32_t places[] = {0, 1};
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  sftest_cluster_run(&cluster, places, 2, run_pairs, NULL);
  sftest_cluster_stop(&cluster);
}

/* ---- Elements of ranks that have left ---------------------------------------------------------------------------- */

typedef struct outlived {
  _Atomic int left;
  pid_t daemon; /* of node 0 */
} outlived_t;

/* The daemon of node 0 forgets the job when its only rank has left, and then dies with a request that it has not
 * answered. */
static void outlive(sftest_rank_t *self)
{
  outlived_t *outlived = self->argument;
  sf_request_t *request;
  int64_t n = 20, lo = 3, one = 1, value = 7;
  sf_context_t *context = sftest_join(self);
  sf_array_t *array;
  SFTEST_OK(self, sf_array_create(sf_group_world(context), SF_INT64, 1, &n, NULL, &array));
  if (self->rank == 0) {
    sftest_leave(self, context);
    atomic_store(&outlived->left, 1);
    return;
  }
  sftest_await(&outlived->left, 1);
  sf_status_t status = SF_OK;
  while (status == SF_OK) /* the daemon may not have heard of it yet */
    status = sf_array_get(array, &lo, &one, &value, NULL);
  SFTEST_EXPECT(self, status, SF_ERR_STATE);
  SFTEST_DETAIL(self, "node 0, with rank 0: "); /* the array has ended there, and a moment later the job */
  SFTEST_EXPECT(self, sf_array_read_inc(array, &lo, 1, &value), SF_ERR_STATE);
  SFTEST_OK(self, sf_array_put(array, &lo, &one, &value, NULL));
  SFTEST_EXPECT(self, sf_array_flush(array, 0), SF_ERR_STATE);
  SFTEST_REQUIRE(self, kill(outlived->daemon, SIGSTOP) == 0);
  SFTEST_OK(self, sf_array_get_begin(array, &lo, &one, &value, NULL, &request));
  SFTEST_REQUIRE(self, kill(outlived->daemon, SIGKILL) == 0);
  SFTEST_EXPECT(self, sf_wait(&request), SF_ERR_STATE);
  SFTEST_EXPECT(self, sf_array_get(array, &lo, &one, &value, NULL), SF_ERR_STATE); /* nobody listens there */
  lo = 12;
  SFTEST_OK(self, sf_array_get(array, &lo, &one, &value, NULL)); /* its own */
  sftest_leave(self, context);
}

SFTEST(operations_on_elements_of_a_node_that_has_left)
{
  static const int32_t places[] = {0, 1};
  outlived_t *outlived = sftest_shared(sizeof *outlived);
  sftest_cluster_t cluster;
  sftest_cluster_start_warm(&cluster, 2);
  outlived->daemon = cluster.nodes[0].pid;
  sftest_cluster_run(&cluster, places, 2, outlive, outlived);
  sftest_cluster_kill(&cluster, 0);
  sftest_cluster_stop(&cluster);
}
