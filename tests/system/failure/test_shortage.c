/* Ranks and daemons that lack descriptors, or can't send, while graphs are made: what fails, and for whom. Nobody waits
 * for what will not come. */
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/system/cluster.h"
#include "tests/system/sfctl.h"

/* ---- Answers that can't be taken --------------------------------------------------------------------------------- */

/* A root, and a leaf on that of the rank. */
static sf_status_t make_one_leaf(sf_group_t *group, int32_t rank, sf_graph_t **graph_p)
{
  const int64_t root = 0;
  return sf_graph_create(group, 1, 1, NULL, &rank, &root, SF_GRAPH_DEFAULT, graph_p);
}

/* No descriptor is left for what the daemon sends. */
static void leave_no_descriptor(sftest_rank_t *self, struct rlimit *before)
{
  int lowest = dup(0);
  SFTEST_REQUIRE(self, lowest >= 0 && close(lowest) == 0 && getrlimit(RLIMIT_NOFILE, before) == 0);
  struct rlimit none = {(rlim_t)lowest, before->rlim_max};
  SFTEST_REQUIRE(self, setrlimit(RLIMIT_NOFILE, &none) == 0);
}

/* Rank 1 can't take the memory of rank 2: it fails for all, and no call of it waits for what will not come. */
SFTEST_JOB(answer_not_taken, 1, sftest_run_alone(3, ranks, NULL))
{
  sf_context_t *context = sftest_join(self);
  sf_graph_t *first = NULL, *second = NULL;
  sf_group_t *world = sf_group_world(context), *group;
  bool starved = self->rank == 1;
  sf_status_t expected = starved ? SF_ERR_LIMIT : SF_ERR_RANK_FAILED;
  struct rlimit before;
  double root = 0, leaf;
  if (self->rank != 2) {
    SFTEST_OK(self, sf_group_create(context, 2, (int32_t[]){0, 1}, 0, &group));
    SFTEST_OK(self, make_one_leaf(group, 0, &first));
  }
  if (starved)
    leave_no_descriptor(self, &before);
  sf_status_t status = make_one_leaf(world, 1, &second);
  if (status == SF_OK) /* it is ready before rank 1 finds that out */
    status = sf_bcast(second, SF_DOUBLE, &root, &leaf, SF_REPLACE);
  SFTEST_EXPECT(self, status, expected);
  SFTEST_DETAIL(self, "limit of open files");
  SFTEST_DETAIL(self, starved ? "descriptors" : "rank 1 ");
  if (starved)
    SFTEST_REQUIRE(self, setrlimit(RLIMIT_NOFILE, &before) == 0);
  SFTEST_EXPECT(self, sf_group_create(context, 3, (int32_t[]){0, 1, 2}, 0, &group), expected);
  if (starved)
    SFTEST_EXPECT(self, sf_bcast(first, SF_DOUBLE, &root, &leaf, SF_REPLACE), expected);
  SFTEST_EXPECT(self, sf_finalize(context), expected);
}

/* ---- Requests that can't be sent --------------------------------------------------------------------------------- */

/* Messages of this process that are sent before one is not. */
static int good_messages = -1;
static bool for_ever;
static int nfailed;

/* In place of the C library's. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
  if (good_messages == 0 && (nfailed == 0 || for_ever)) {
    nfailed++;
    errno = ENOBUFS;
    return -1;
  }
  good_messages -= good_messages > 0;
  return syscall(SYS_sendmsg, fd, msg, flags);
}

/* Each rank but the last has a leaf on the next one, none on that before it. */
static sf_status_t make_chain(sftest_rank_t *self, sf_group_t *group, sf_graph_t **graph_p)
{
  int32_t next = self->rank + 1;
  const int64_t root = 0;
  return sf_graph_create(group, 1, next < self->size ? 1 : 0, NULL, &next, &root, SF_GRAPH_DEFAULT, graph_p);
}

/* All that is asked of the daemon for others. */
static sf_status_t ask_for_all(sftest_rank_t *self, sf_context_t *context)
{
  sf_group_t *group;
  sf_graph_t *chain = NULL, *again = NULL, *loop = NULL, *part = NULL;
  double root = self->rank, leaf = -1, slots[4];
  const int64_t first = 0;
  sf_status_t status = sf_group_create(context, 3, (int32_t[]){0, 1, 2}, 0, &group);
  if (status == SF_OK)
    status = make_chain(self, group, &chain);
  if (status == SF_OK)
    status = make_chain(self, group, &again);
  if (status == SF_OK)
    status = make_one_leaf(group, (self->rank + 1) % 3, &loop);
  if (status == SF_OK)
    status = sf_graph_embed_leaves(loop, 1, &first, &part);
  if (status == SF_OK)
    status = sf_bcast(part, SF_DOUBLE, &root, &leaf, SF_REPLACE);
  if (status == SF_OK)
    SFTEST_REQUIRE(self, leaf == (self->rank + 1) % 3);
  if (status == SF_OK)
    status = sf_gather(loop, SF_DOUBLE, &leaf, slots);
  return status;
}

typedef struct unsent {
  int good_messages;
  bool for_ever;
  _Atomic int nfailed; /* of rank 1 */
} unsent_t;

/* Whatever rank 1 can't say: nobody waits for it. */
static void lose_request(sftest_rank_t *self)
{
  unsent_t *unsent = self->argument;
  sf_context_t *context = sftest_join(self);
  if (self->rank == 1) {
    good_messages = unsent->good_messages;
    for_ever = unsent->for_ever;
  }
  sftest_at(self, "message %d%s is not sent", unsent->good_messages, unsent->for_ever ? " and later ones" : "");
  sf_status_t status = ask_for_all(self, context);
  if (self->rank == 1)
    atomic_store(&unsent->nfailed, nfailed);
  /* Not everything that can't be said is needed. */
  if (status != SF_OK && (self->rank == 1 || status != SF_ERR_RANK_FAILED)) {
    SFTEST_EXPECT(self, status, SF_ERR_SYS);
    SFTEST_DETAIL(self, "cannot write to the control connection");
  } else if (status != SF_OK) {
    SFTEST_DETAIL(self, "rank 1 ");
  }
  good_messages = -1;
  (void)sf_finalize(context);
}

SFTEST_FOR(request_not_sent, 2)
{
  unsent_t *unsent = sftest_shared(sizeof *unsent);
  int n = 0;
  do {
    *unsent = (unsent_t){.good_messages = n++, .for_ever = _i != 0};
    sftest_run_alone(3, lose_request, unsent);
  } while (atomic_load(&unsent->nfailed) > 0);
  ck_assert_int_gt(n, 6);
}

/* Rank 1 can't say that it has destroyed a graph. It does so when it can: then nothing of the graph is left. */
SFTEST_JOINED_JOB(destruction_not_sent, 1, sftest_run_alone(2, ranks, NULL))
{
  sf_graph_t *first, *second;
  double root = 0, leaf;
  SFTEST_OK(self, make_one_leaf(world, (self->rank + 1) % 2, &first));
  good_messages = self->rank == 1 ? 0 : -1;
  SFTEST_OK(self, sf_graph_destroy(first));
  SFTEST_REQUIRE(self, nfailed == (self->rank == 1));
  SFTEST_OK(self, make_one_leaf(world, (self->rank + 1) % 2, &second));
  if (self->rank == 0) {
    sftest_sfctl(self->options.socket_path, WORDS("status", "--json"), 0);
    SFTEST_REQUIRE(self, sftest_sfctl_number("\"graphs\":", "graphs") == 1);
  }
  SFTEST_OK(self, sf_bcast(second, SF_DOUBLE, &root, &leaf, SF_REPLACE)); /* nobody leaves before */
  SFTEST_OK(self, sf_graph_destroy(second));
}

/* ---- Alerts that can't be taken ---------------------------------------------------------------------------------- */

static _Atomic bool deaf;
static pthread_t main_thread;

/* In place of the C library's: the listener has no memory for what comes. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
  if (atomic_load(&deaf) && !pthread_equal(pthread_self(), main_thread)) {
    errno = ENOMEM;
    return -1;
  }
  return syscall(SYS_recvmsg, fd, msg, flags);
}

/* Rank 1 can't hear that nobody uses the graph any more, or of whatever comes: it fails for all, while the others wait
 * for it. */
SFTEST_JOB(alert_not_taken, 1, sftest_run_alone(3, ranks, NULL))
{
  sf_context_t *context = sftest_join(self);
  sf_group_t *world = sf_group_world(context), *group, *alone;
  sf_graph_t *graph, *own;
  double root = 0, leaf;
  sf_status_t status;
  SFTEST_OK(self, make_one_leaf(world, (self->rank + 1) % 3, &graph));
  SFTEST_OK(self, sf_group_create(context, 1, &self->rank, 0, &alone));
  SFTEST_OK(self, make_one_leaf(alone, 0, &own));
  main_thread = pthread_self();
  atomic_store(&deaf, self->rank == 1);
  SFTEST_OK(self, sf_graph_destroy(graph));
  if (self->rank != 1) {
    status = sf_group_create(context, 3, (int32_t[]){0, 1, 2}, 0, &group);
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
    SFTEST_DETAIL(self, "rank 1 ");
  } else {
    do
      status = sf_bcast(own, SF_DOUBLE, &root, &leaf, SF_REPLACE);
    while (status == SF_OK);
    SFTEST_EXPECT(self, status, SF_ERR_NOMEM);
  }
  SFTEST_DETAIL(self, "cannot read from the control connection");
  (void)sf_finalize(context);
}

/* ---- Daemons without descriptors --------------------------------------------------------------------------------- */

/* The lowest descriptor that a process does not have. */
static rlim_t lowest_free(pid_t pid)
{
  char path[64];
  rlim_t fd = 0;
  do
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd++);
  while (access(path, F_OK) == 0);
  return fd - 1;
}

/* The same of the daemon, which may close what it does not need any more a little later. */
static rlim_t lowest_free_for_good(pid_t daemon)
{
  enum { STEADY = 40 }; /* looks, of 5 ms */
  rlim_t lowest = lowest_free(daemon);
  for (int same = 0; same < STEADY; same++) {
    usleep(5000);
    rlim_t now = lowest_free(daemon);
    same = now == lowest ? same : 0;
    lowest = now;
  }
  return lowest;
}

enum { NVALUES = 72000 };

/* Every second or third root: too many for a short trunk map, and no pattern. */
static int64_t root_of(int64_t leaf)
{
  return 2 * leaf + (leaf * leaf / 7) % 2;
}

/* Leaves of rank 1 on roots of rank 0, from the first on. */
static sf_status_t make_scattered(sftest_rank_t *self, sf_group_t *group, int64_t first, sf_graph_t **graph_p)
{
  int64_t n = self->rank == 1 ? NVALUES : 0, nroots = self->rank == 0 ? 3 * NVALUES : 0;
  int32_t *ranks = calloc((size_t)n + 1, sizeof *ranks);
  int64_t *roots = calloc((size_t)n + 1, sizeof *roots);
  for (int64_t i = 0; i < n; i++)
    roots[i] = first + root_of(i);
  sf_status_t status = sf_graph_create(group, nroots, n, NULL, ranks, roots, SF_GRAPH_DEFAULT, graph_p);
  free(ranks);
  free(roots);
  return status;
}

static sf_status_t bcast(sftest_rank_t *self, sf_graph_t *graph, int64_t leaves[])
{
  int64_t nroots = self->rank == 0 ? 3 * NVALUES : 0, *roots = calloc((size_t)nroots + 1, sizeof *roots);
  for (int64_t i = 0; i < nroots; i++)
    roots[i] = i;
  sf_status_t status = sf_bcast(graph, SF_INT64, roots, leaves, SF_REPLACE);
  free(roots);
  return status;
}

static void check_scattered(sftest_rank_t *self, sf_graph_t *graph, int64_t first, int64_t step)
{
  int64_t *leaves = calloc(NVALUES, sizeof *leaves);
  SFTEST_OK(self, bcast(self, graph, leaves));
  for (int64_t i = 0; i < NVALUES && self->rank == 1; i++)
    SFTEST_REQUIRE(self, leaves[i] == (i % step == 0 ? first + root_of(i) : 0));
  free(leaves);
}

static sf_status_t take_thirds(sftest_rank_t *self, sf_graph_t *whole, sf_graph_t **part_p)
{
  int64_t n = self->rank == 1 ? NVALUES / 3 : 0, *chosen = calloc((size_t)n + 1, sizeof *chosen);
  for (int64_t i = 0; i < n; i++)
    chosen[i] = 3 * i;
  sf_status_t status = sf_graph_embed_leaves(whole, n, chosen, part_p);
  free(chosen);
  return status;
}

/* Rank 0 takes all descriptors from its daemon, or gives them back. */
static void limit_daemon(sftest_rank_t *self, bool on, struct rlimit *before)
{
  pid_t daemon = sftest_case_cluster.nodes[0].pid;
  if (self->rank != 0)
    return;
  if (on)
    SFTEST_REQUIRE(self, prlimit(daemon, RLIMIT_NOFILE, NULL, before) == 0);
  struct rlimit none = {on ? lowest_free_for_good(daemon) : 0, before->rlim_max};
  SFTEST_REQUIRE(self, prlimit(daemon, RLIMIT_NOFILE, on ? &none : before, NULL) == 0);
}

/* When daemon 0 finds that it can't, that of rank 1 has told its ranks that the graph is there. That graph alone fails,
 * for both ranks. */
SFTEST_JOINED(lack_map)
{
  const bool *part = self->argument;
  sf_graph_t *whole, *bad, *good;
  struct rlimit before;
  int64_t *leaves = calloc(NVALUES, sizeof *leaves);
  SFTEST_OK(self, make_scattered(self, world, 0, &whole));
  check_scattered(self, whole, 0, 1); /* it has all that it will need */
  limit_daemon(self, true, &before);
  SFTEST_OK(self, *part ? take_thirds(self, whole, &bad) : make_scattered(self, world, 1, &bad));
  SFTEST_EXPECT(self, bcast(self, bad, leaves), SF_ERR_SYS);
  SFTEST_DETAIL(self, "node 0 can't make its part of the graph");
  SFTEST_DETAIL(self, "Too many open files");
  check_scattered(self, whole, 0, 1); /* behind which rank 0 knows that rank 1 is here */
  limit_daemon(self, false, &before);
  SFTEST_OK(self, sf_graph_destroy(bad));
  SFTEST_OK(self, *part ? take_thirds(self, whole, &good) : make_scattered(self, world, 1, &good));
  check_scattered(self, good, *part ? 0 : 1, *part ? 3 : 1);
  SFTEST_OK(self, sf_graph_destroy(good));
  SFTEST_OK(self, sf_graph_destroy(whole));
  free(leaves);
}

SFTEST_FIXTURE(sftest_two_nodes, sftest_stop_nodes);

SFTEST_FOR(map_not_made, 2)
{
  static const int32_t places[] = {0, 1};
  static const bool part[] = {false, true};
  sftest_cluster_run(&sftest_case_cluster, places, 2, lack_map, (void *)(uintptr_t)&part[_i]);
}

/* Rank 1 has a descriptor for its edge list, and none to send it: that is everybody's error, and all goes on. */
SFTEST_JOINED(lack_descriptor)
{
  sf_graph_t *graph;
  struct rlimit before, one;
  SFTEST_REQUIRE(self, getrlimit(RLIMIT_NOFILE, &before) == 0);
  one = (struct rlimit){lowest_free(getpid()) + 1, before.rlim_max};
  if (self->rank == 1)
    SFTEST_REQUIRE(self, setrlimit(RLIMIT_NOFILE, &one) == 0);
  SFTEST_EXPECT(self, make_scattered(self, world, 0, &graph), SF_ERR_LIMIT);
  SFTEST_DETAIL(self, "sf_graph_create: rank 1: cannot duplicate descriptor");
  SFTEST_REQUIRE(self, setrlimit(RLIMIT_NOFILE, &before) == 0);
  SFTEST_OK(self, make_scattered(self, world, 0, &graph));
  check_scattered(self, graph, 0, 1);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

SFTEST(list_not_sent)
{
  static const int32_t places[] = {0, 1};
  sftest_cluster_run(&sftest_case_cluster, places, 2, lack_descriptor, NULL);
}
