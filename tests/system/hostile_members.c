/* Hostile clients that are ranks of a job: see hostile.h. Nothing that they call has to succeed; they only must not
 * stop trying. */
#include <errno.h>
#include <sys/socket.h>

#include "proto/conn.h"
#include "shm/observe/counters.h"
#include "shm/region/inbox.h"
#include "tests/system/attacker.h"
#include "tests/system/work.h"

/* ---- Members of jobs of their own -------------------------------------------------------------------------------- */

/* A member of a job of one. */
typedef struct member {
  sfproto_conn_t *conn;
  int alerts;     /* our end of the alert socket */
  uint64_t group; /* of the job's only rank */
} member_t;

static void leave(member_t *member)
{
  sfproto_conn_destroy(member->conn);
  close(member->alerts);
}

/* Says hello with the three descriptors, and awaits the welcome. */
static bool say_hello(const sftest_attacker_t *attacker, member_t *member, const int fds[3])
{
  char job[64];
  Sfproto__Hello hello;
  Sfproto__Message message;
  sfproto_incoming_t incoming;
  snprintf(job, sizeof job, "hostile-%d-%lld", (int)getpid(), (long long)attacker->assault->attempts++);
  sftest_make_hello(attacker, job, &hello, &message);
  if (sfproto_conn_send(member->conn, &message, fds, 3) != SF_OK ||
      sfproto_conn_receive(member->conn, 5000, &incoming) != SF_OK)
    return false;
  bool welcome = incoming.message->body_case == SFPROTO__MESSAGE__BODY_WELCOME;
  if (welcome)
    member->group = incoming.message->welcome->job_id;
  sfproto_incoming_free(&incoming);
  return welcome;
}

static bool make_regions(sfshm_region_t *inbox, sfshm_region_t *counters)
{
  *inbox = *counters = (sfshm_region_t){.fd = -1};
  return sfshm_region_create("hostile", SFSHM_REGION_INBOX, 65536, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL, inbox) == SF_OK &&
         sfshm_region_create("hostile", SFSHM_REGION_COUNTERS, sizeof(sfshm_counters_t), SFSHM_SEAL_FUTURE_WRITE,
                             SFSHM_COMMIT_ALL, counters) == SF_OK;
}

static bool join(const sftest_attacker_t *attacker, member_t *member)
{
  sfshm_region_t inbox, counters;
  int ends[2] = {-1, -1}, fd = sftest_attacker_connect(attacker);
  bool ok = fd >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  *member = (member_t){.alerts = ends[0]};
  ok = fd >= 0 && sfproto_conn_create(fd, &member->conn) == SF_OK && ok;
  ok = make_regions(&inbox, &counters) && ok;
  int fds[] = {ends[1], inbox.fd, counters.fd};
  ok = ok && say_hello(attacker, member, fds);
  close(ends[1]);
  sfshm_region_destroy(&inbox);
  sfshm_region_destroy(&counters);
  if (!ok)
    leave(member);
  return ok;
}

/* A hello as one of two, who is never there for long. */
static size_t first_hello_frame(const sftest_attacker_t *attacker, uint8_t frame[SFTEST_MAX_PACKED])
{
  char job[256];
  Sfproto__Hello hello;
  Sfproto__Message message;
  int n = snprintf(job, sizeof job, "hostile-%d-%lld-", (int)getpid(), (long long)attacker->assault->attempts);
  memset(job + n, 'x', sizeof job - 1 - (size_t)n);
  job[sizeof job - 1] = '\0';
  sftest_make_hello(attacker, job, &hello, &message);
  hello.size = 2;
  return sftest_pack_frame(&message, 3, frame);
}

void sftest_flood_joins(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  uint8_t frame[SFTEST_MAX_PACKED];
  sfshm_region_t inbox, counters;
  int ends[2];
  SFTEST_REQUIRE(self,
                 make_regions(&inbox, &counters) && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const int fds[] = {ends[1], inbox.fd, counters.fd};
  for (; !attacker.assault->over; attacker.assault->attempts++) {
    int fd = sftest_attacker_connect(&attacker);
    if (fd >= 0)
      sftest_send_bytes(fd, frame, first_hello_frame(&attacker, frame), fds, 3);
    close(fd);
  }
}

/* A request with random contents. Numbers are small, so that some of them are those of real things. */
static size_t random_request(sftest_attacker_t *attacker, uint8_t frame[SFTEST_MAX_PACKED])
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  Sfproto__SegmentGet get = SFPROTO__SEGMENT_GET__INIT;
  Sfproto__RegionAdd region = SFPROTO__REGION_ADD__INIT;
  Sfproto__GroupCreate group = SFPROTO__GROUP_CREATE__INIT;
  Sfproto__GraphCreate graph = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__GraphCommit commit = SFPROTO__GRAPH_COMMIT__INIT;
  Sfproto__GraphFail graph_fail = SFPROTO__GRAPH_FAIL__INIT;
  int32_t ranks[100] = {0};
  message.request = sftest_random(&attacker->random);
  switch (sftest_below(&attacker->random, 6)) {
  case 0:
    get.segment = (uint64_t)sftest_below(&attacker->random, 2);
    message.segment_get = &get;
    message.body_case = SFPROTO__MESSAGE__BODY_SEGMENT_GET;
    break;
  case 1:
    region.region = sftest_random(&attacker->random);
    region.length = sftest_random(&attacker->random);
    message.region_add = &region;
    message.body_case = SFPROTO__MESSAGE__BODY_REGION_ADD;
    break;
  case 2:
    group.n_ranks = (size_t)sftest_below(&attacker->random, 100);
    group.ranks = ranks;
    message.group_create = &group;
    message.body_case = SFPROTO__MESSAGE__BODY_GROUP_CREATE;
    break;
  case 3:
    graph.group = (uint64_t)sftest_below(&attacker->random, 100);
    graph.nroots = graph.nleaves = (int64_t)(sftest_random(&attacker->random) >> 1);
    message.graph_create = &graph;
    message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
    break;
  case 4:
    commit.graph = (uint64_t)sftest_below(&attacker->random, 100);
    message.graph_commit = &commit;
    message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_COMMIT;
    break;
  default:
    graph_fail.graph = (uint64_t)sftest_below(&attacker->random, 100);
    graph_fail.detail = (char *)(uintptr_t) "because";
    message.graph_fail = &graph_fail;
    message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_FAIL;
    break;
  }
  return sftest_pack_frame(&message, 0, frame);
}

void sftest_flood_requests(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  uint8_t frame[SFTEST_MAX_PACKED];
  member_t member;
  while (!attacker.assault->over) {
    if (!join(&attacker, &member))
      continue;
    int fd = sfproto_conn_fd(member.conn);
    while (!attacker.assault->over &&
           (sftest_send_bytes(fd, frame, random_request(&attacker, frame), NULL, 0) || errno == EAGAIN))
      attacker.assault->attempts++;
    leave(&member);
  }
}

/* Sends a request, waits for its answer, and gives the number of the graph in it, if one is. */
static bool call(sfproto_conn_t *conn, Sfproto__Message *message, uint64_t *graph)
{
  sfproto_incoming_t incoming;
  message->request = 5;
  if (sfproto_conn_send(conn, message, NULL, 0) != SF_OK || sfproto_conn_receive(conn, 5000, &incoming) != SF_OK)
    return false;
  bool ok = incoming.message->body_case != SFPROTO__MESSAGE__BODY_ERROR;
  if (incoming.message->body_case == SFPROTO__MESSAGE__BODY_GRAPH_REPLY)
    *graph = incoming.message->graph_reply->graph;
  sfproto_incoming_free(&incoming);
  return ok;
}

/* Makes and destroys a graph: its end is an alert. */
static bool provoke_alert(const member_t *member)
{
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  Sfproto__GraphCreate create = SFPROTO__GRAPH_CREATE__INIT;
  Sfproto__GraphCommit commit = SFPROTO__GRAPH_COMMIT__INIT;
  Sfproto__GraphDestroy destroy = SFPROTO__GRAPH_DESTROY__INIT;
  create.group = member->group;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_CREATE;
  message.graph_create = &create;
  if (!call(member->conn, &message, &commit.graph))
    return false;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_COMMIT;
  message.graph_commit = &commit;
  if (!call(member->conn, &message, &commit.graph))
    return false;
  destroy.graph = commit.graph;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_DESTROY;
  message.graph_destroy = &destroy;
  return call(member->conn, &message, &commit.graph);
}

void sftest_flood_alerts(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  member_t member;
  while (!attacker.assault->over) {
    if (!join(&attacker, &member))
      continue;
    while (!attacker.assault->over && provoke_alert(&member))
      attacker.assault->attempts++;
    leave(&member);
  }
}

/* ---- Members of a job with others -------------------------------------------------------------------------------- */

/* Overwrites a word here and there, also of those that the library's own thread in this process uses: on purpose no
 * matter for the thread sanitizer. */
__attribute__((no_sanitize_thread)) static void scribble_on(sftest_attacker_t *attacker, char *from, const char *to)
{
  for (size_t i = 0, n = (size_t)(to - from) / sizeof(uint64_t); i < n;
       i += (size_t)sftest_below(&attacker->random, 64)) {
    uint64_t word = sftest_random(&attacker->random);
    memcpy(from + i * sizeof word, &word, sizeof word);
  }
}

/* All that this process has mapped of its own and its neighbours' shared memory, where it may write. */
static void scribble_everywhere(sftest_attacker_t *attacker)
{
  char line[256], access[8];
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL)
    return;
  while (fgets(line, sizeof line, maps) != NULL) {
    void *from, *to;
    if (strstr(line, "memfd:sf-") != NULL && sscanf(line, "%p-%p %7s", &from, &to, access) == 3 && access[1] == 'w')
      scribble_on(attacker, from, to);
  }
  fclose(maps);
}

void sftest_scribble(sftest_rank_t *self)
{
  sftest_attacker_t attacker = sftest_attacker(self);
  sf_context_t *context = NULL;
  sf_graph_t *graph = NULL;
  void *memory = NULL;
  double roots[1000] = {0}, leaves[1000];
  if (sf_init(&self->options, &context) != SF_OK || sf_alloc(context, 100000, &memory) != SF_OK ||
      sftest_ring_create(sf_group_world(context), 1000, 0, &graph) != SF_OK)
    return;
  if (self->rank == 0 && sf_bcast(graph, SF_DOUBLE, roots, leaves, SF_REPLACE) == SF_OK)
    attacker.assault->attempts++;
  for (; !attacker.assault->over; attacker.assault->attempts++)
    scribble_everywhere(&attacker);
  _exit(0); /* nothing here can be taken apart in good order any more */
}
