/* Slots of trunks on devices (a stand-in for the driver, daemons over the loop fabric): requests for them that no
 * client of ours would make, and what becomes of slots that nobody can use. */
#include <stdlib.h>

#include "client/core/context.h"
#include "client/graph/graph.h"
#include "shm/device/device_load.h"
#include "tests/system/fake_device.h"
#include "tests/system/loop/cluster.h"
#include "tests/system/work.h"
#include "tests/unit/runner.h"

#define LIMIT_MS 30000
#define NODES 2
#define UNITS 20000 /* doubles: worth slots on a device */
#define UNKNOWN UINT64_C(123456789)

static sftest_loop_cluster_t cluster;

static void setup(void)
{
  sftest_loop_take_devices();
  sftest_loop_cluster_start(&cluster, NODES, 1, 0);
}

static void teardown(void)
{
  sftest_loop_cluster_stop(&cluster);
}

static void run(int32_t size, sftest_rank_fn_t run_rank, void *argument)
{
  static const int32_t places[] = {0, 1, 0, 1};
  sftest_job_t job;
  sftest_job_start_over(&job, cluster.nodes, places, size, run_rank, argument);
  sftest_job_end_well(&job, sftest_limit_ms(LIMIT_MS));
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static sf_status_t tell(sf_context_t *context, Sfproto__Message *message)
{
  return sfc_daemon_tell(&context->control, message, NULL, 0);
}

static sf_status_t ask_of(sf_context_t *context, uint64_t graph, uint64_t class_bytes, size_t identity_bytes)
{
  sfshm_device_identity_t identity;
  Sfproto__TrunkAsk ask = SFPROTO__TRUNK_ASK__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  if (!sftest_device_is_there() || sfshm_device_loaded()->identify(0, &identity) != SF_OK)
    return SF_ERR_SYS;
  ask.graph = graph;
  ask.class_bytes = class_bytes;
  ask.device = (ProtobufCBinaryData){identity_bytes, identity.bytes};
  ask.roots = ask.leaves = ask.sees_adapters = true;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_ASK;
  message.trunk_ask = &ask;
  return tell(context, &message);
}

static sf_status_t ask(sf_context_t *context, uint64_t graph)
{
  return ask_of(context, graph, sizeof(double), sizeof(sfshm_device_identity_t));
}

/* Without slots there is SF_ERR_UNSUPPORTED. */
static sf_status_t get(sf_context_t *context, uint64_t graph)
{
  sfproto_incoming_t incoming;
  Sfproto__TrunkGet wanted = SFPROTO__TRUNK_GET__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  wanted.graph = graph;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_GET;
  message.trunk_get = &wanted;
  sf_status_t status =
      sfc_daemon_call(&context->control, &message, NULL, 0, SFPROTO__MESSAGE__BODY_TRUNK_SLOTS, &incoming);
  if (status != SF_OK)
    return status;
  status = incoming.message->trunk_slots->has_handle ? SF_OK : SF_ERR_UNSUPPORTED;
  sfproto_incoming_free(&incoming);
  return status;
}

static sf_status_t have(sf_context_t *context, uint64_t graph, bool closed)
{
  Sfproto__TrunkHave having = SFPROTO__TRUNK_HAVE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  having.graph = graph;
  having.has_closed = having.closed = closed;
  message.body_case = SFPROTO__MESSAGE__BODY_TRUNK_HAVE;
  message.trunk_have = &having;
  return tell(context, &message);
}

static sf_status_t fail_graph(sf_context_t *context, uint64_t graph)
{
  Sfproto__GraphFail failing = SFPROTO__GRAPH_FAIL__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  failing.graph = graph;
  failing.detail = (char[]){"so says the test"};
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_FAIL;
  message.graph_fail = &failing;
  return tell(context, &message);
}

/* A context in which the driver has been loaded, and a graph over both nodes. */
static sf_context_t *join(sftest_rank_t *self, sf_graph_t **graph_p)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  sf_context_t *context = sftest_join(self);
  double *memory = sftest_device_alloc(0, sizeof *memory);
  sf_region_t *region;
  SFTEST_OK(self, sf_register(context, memory, sizeof *memory, SF_MEMORY_CUDA, &region));
  SFTEST_OK(self, sf_unregister(region));
  sftest_device_free(memory);
  SFTEST_OK(self, sftest_ring_create(sf_group_world(context), UNITS, SF_GRAPH_DEFAULT, graph_p));
  return context;
}

/* ---- Out of order ------------------------------------------------------------------------------------------------ */

static int ask_out_of_order(sftest_rank_t *self)
{
  sf_graph_t *graph;
  sf_context_t *context = join(self, &graph);
  SFTEST_EXPECT(self, ask(context, UNKNOWN), SF_ERR_NOT_FOUND);
  SFTEST_EXPECT(self, get(context, UNKNOWN), SF_ERR_NOT_FOUND);
  SFTEST_EXPECT(self, have(context, UNKNOWN, true), SF_ERR_NOT_FOUND);
  for (int i = 0; i < 2; i++)
    SFTEST_EXPECT(self, have(context, graph->number, i == 1), SF_ERR_STATE);
  SFTEST_EXPECT(self, get(context, graph->number), SF_ERR_STATE);
  SFTEST_DETAIL(self, "has not asked");
  SFTEST_OK(self, ask(context, graph->number));
  SFTEST_EXPECT(self, ask(context, graph->number), SF_ERR_STATE);
  SFTEST_DETAIL(self, "twice");
  SFTEST_OK(self, get(context, graph->number));
  SFTEST_OK(self, get(context, graph->number));
  SFTEST_OK(self, have(context, graph->number, true));
  SFTEST_EXPECT(self, get(context, graph->number), SF_ERR_UNSUPPORTED);
  SFTEST_OK(self, have(context, graph->number, false)); /* too late */
  sftest_ring_expect_working(self, sf_group_world(context), graph, UNITS);
  SFTEST_OK(self, have(context, graph->number, false));
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_out_of_order)
{
  run(NODES, ask_out_of_order, NULL);
  ck_assert_uint_eq(cluster.orders->device_bytes, 0);
}
END_TEST

/* What nobody will use any more is not allocated. */
static int ask_for_failed(sftest_rank_t *self)
{
  sf_graph_t *graph;
  sf_context_t *context = join(self, &graph);
  SFTEST_OK(self, fail_graph(context, graph->number));
  SFTEST_EXPECT(self, ask(context, graph->number), SF_ERR_STATE);
  SFTEST_DETAIL(self, "has failed");
  SFTEST_EXPECT(self, get(context, graph->number), SF_ERR_STATE);
  SFTEST_OK(self, sf_graph_destroy(graph));
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_failed)
{
  run(NODES, ask_for_failed, NULL);
}
END_TEST

/* ---- What can't be ----------------------------------------------------------------------------------------------- */

typedef struct malformed {
  uint64_t class_bytes;
  size_t identity_bytes;
} malformed_t;

static const malformed_t malformed[] = {{7, 16}, {0, 16}, {UINT64_MAX, 16}, {UINT64_C(1) << 63, 16}, {8, 15}, {8, 0}};
#define MALFORMED ((int)(sizeof malformed / sizeof malformed[0]))

static int ask_malformed(sftest_rank_t *self)
{
  const malformed_t *request = self->argument;
  sf_graph_t *graph;
  sf_context_t *context = join(self, &graph);
  if (self->rank == 0)
    SFTEST_REQUIRE(self, ask_of(context, graph->number, request->class_bytes, request->identity_bytes) != SF_OK);
  double root[UNITS] = {0}, leaf[UNITS];
  sf_status_t status;
  do
    status = sf_bcast(graph, SF_DOUBLE, root, leaf, SF_REPLACE);
  while (status == SF_OK);
  if (self->rank > 0)
    SFTEST_EXPECT(self, status, SF_ERR_RANK_FAILED);
  (void)sf_graph_destroy(graph);
  (void)sf_finalize(context);
  return 0;
}

/* It ends that client's connection, and so its job; others go on. */
START_TEST(test_malformed)
{
  sftest_bystander_t bystander;
  sftest_bystander_start_over(&bystander, cluster.nodes);
  run(NODES, ask_malformed, (void *)(uintptr_t)&malformed[_i]);
  sftest_bystander_stop(&bystander);
}
END_TEST

/* ---- Slots that a rank can't open -------------------------------------------------------------------------------- */

static int use_streams(sftest_rank_t *self)
{
  const pid_t *daemons = self->argument;
  size_t bytes = UNITS * sizeof(double);
  sf_graph_t *graph;
  sf_region_t *regions[2];
  double *data[2];
  if (self->rank == 1)
    setenv("SFTEST_CUDA_FAIL", "cuMemImportFromShareableHandle:1", 1);
  sf_context_t *context = join(self, &graph);
  void *stream = sftest_device_stream(0);
  for (int side = 0; side < 2; side++) {
    data[side] = sftest_device_alloc(0, bytes);
    SFTEST_OK(self, sf_register(context, data[side], bytes, SF_MEMORY_CUDA, &regions[side]));
  }
  SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, data[0], data[1], SF_REPLACE, stream));
  SFTEST_OK(self, sf_streams_wait(graph));
  sftest_at(self, "the daemon of node 1 frees its slots, that of node 0 has some");
  for (int64_t until = sftest_now_ms() + sftest_limit_ms(LIMIT_MS) / 2; sftest_device_held(*daemons) != 2;
       sftest_sleep_ms(1))
    SFTEST_REQUIRE(self, sftest_now_ms() < until);
  SFTEST_OK(self, sf_bcast_on_stream(graph, SF_DOUBLE, data[0], data[1], SF_REPLACE, stream));
  SFTEST_OK(self, sf_graph_destroy(graph));
  for (int side = 0; side < 2; side++) {
    SFTEST_OK(self, sf_unregister(regions[side]));
    sftest_device_free(data[side]);
  }
  sftest_device_stream_free(stream);
  sftest_leave(self, context);
  return 0;
}

START_TEST(test_not_opened)
{
  run(2 * NODES, use_streams, &cluster.pid);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("slots of trunks on devices");
  TCase *tests = tcase_create("slots");
  tcase_set_timeout(tests, 60);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_out_of_order);
  tcase_add_test(tests, test_failed);
  tcase_add_loop_test(tests, test_malformed, 0, MALFORMED);
  if (sftest_device_can_fail())
    tcase_add_test(tests, test_not_opened);
  suite_add_tcase(suite, tests);
  return sftest_device_run(suite);
}
