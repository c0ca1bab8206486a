/* What sfctl metrics prints of given answers: values, and the rules of OpenMetrics. */
#include "proto/report/metrics.h"

#include "tests/unit/tools/openmetrics.h"

static char *word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

static Sfproto__Message messages[5];
static sfreport_item_t items[5];
static Sfproto__StatusInfo status_info;
static Sfproto__JobInfo job_info;
static Sfproto__RankInfo rank_info;
static Sfproto__GraphInfo graph_info;
static Sfproto__PeerInfo peer_info;
static Sfproto__RegionInfo regions[3];
static Sfproto__RegionInfo *region_pointers[] = {&regions[0], &regions[1], &regions[2]};
static Sfproto__PeerTraffic traffic[2];
static Sfproto__PeerTraffic *traffic_pointers[] = {&traffic[0], &traffic[1]};
static sfreport_metrics_t metrics;

/* It must be escaped, and holds a byte that is not valid UTF-8. */
#define NAME "c\\g\n\"x\"\xff\xc3\xa9"
#define JOB "job_id=\"7\",job_name=\"c\\\\g\\n\\\"x\\\"\xef\xbf\xbd\xc3\xa9\""

static sfreport_list_t one(size_t i, Sfproto__Message__BodyCase body)
{
  messages[i] = (Sfproto__Message)SFPROTO__MESSAGE__INIT;
  messages[i].body_case = body;
  items[i] = (sfreport_item_t){.message = &messages[i]};
  return (sfreport_list_t){.items = &items[i], .count = 1};
}

static void set_counts(sfreport_item_t *item)
{
  uint64_t next = 100;
  item->ncounted = 2;
#define SET(field, text) item->counts.field = next++;
  SFSHM_COUNTER_TABLE(SET)
#undef SET
  item->counts.bytes_received = UINT64_MAX;
  item->sleeps = 12;
}

static void set_status(void)
{
  metrics.status = one(0, SFPROTO__MESSAGE__BODY_STATUS_INFO);
  messages[0].status_info = &status_info;
  status_info = (Sfproto__StatusInfo)SFPROTO__STATUS_INFO__INIT;
  status_info.software = word("sfd 0.1.0");
  status_info.protocol = 1;
  status_info.socket = word("/s");
  status_info.uptime_s = 3725.5;
  status_info.cores = 2;
  status_info.jobs_total = UINT64_C(10000000000);
  status_info.costs_measured = true;
}

static void set_job(void)
{
  metrics.jobs = one(1, SFPROTO__MESSAGE__BODY_JOB_INFO);
  messages[1].job_info = &job_info;
  job_info = (Sfproto__JobInfo)SFPROTO__JOB_INFO__INIT;
  job_info.job_id = 7;
  job_info.name = word(NAME);
  job_info.uid = 1000;
  job_info.size = 4;
  job_info.state = word("running");
}

static void set_rank(void)
{
  static const char *const methods[] = {"slots", "in-place", "slots"};
  metrics.ranks = one(2, SFPROTO__MESSAGE__BODY_RANK_INFO);
  messages[2].rank_info = &rank_info;
  set_counts(&items[2]);
  rank_info = (Sfproto__RankInfo)SFPROTO__RANK_INFO__INIT;
  rank_info.job_id = 7;
  rank_info.job = word(NAME);
  rank_info.rank = 3;
  rank_info.pid = 42;
  rank_info.state = word("on holiday");
  rank_info.program = word("./cg");
  for (size_t i = 0; i < 3; i++) {
    regions[i] = (Sfproto__RegionInfo)SFPROTO__REGION_INFO__INIT;
    regions[i].kind = word("alloc");
    regions[i].length = 1000 * (i + 1);
    regions[i].method = word(methods[i]);
  }
  rank_info.regions = region_pointers;
  rank_info.n_regions = 3;
}

static void set_graph(void)
{
  metrics.graphs = one(3, SFPROTO__MESSAGE__BODY_GRAPH_INFO);
  messages[3].graph_info = &graph_info;
  set_counts(&items[3]);
  graph_info = (Sfproto__GraphInfo)SFPROTO__GRAPH_INFO__INIT;
  graph_info.graph = UINT64_MAX;
  graph_info.job_id = 7;
  graph_info.job = word(NAME);
  graph_info.nroots = INT64_C(5000000000);
  graph_info.state = word("ready");
}

static void set_peer(void)
{
  metrics.peers = one(4, SFPROTO__MESSAGE__BODY_PEER_INFO);
  messages[4].peer_info = &peer_info;
  peer_info = (Sfproto__PeerInfo)SFPROTO__PEER_INFO__INIT;
  peer_info.node = 2;
  peer_info.description = word("node 2 (tcp h:7411)");
  peer_info.state = word("opening");
  peer_info.wire_sent = 2000;
  peer_info.queued_bytes = 5;
  for (size_t i = 0; i < 2; i++) {
    traffic[i] = (Sfproto__PeerTraffic)SFPROTO__PEER_TRAFFIC__INIT;
    traffic[i].kind = word(i == 0 ? "data" : "credit");
    traffic[i].payload_sent = 10 + i;
  }
  peer_info.traffic = traffic_pointers;
  peer_info.n_traffic = 2;
}

static void setup(void)
{
  set_status();
  set_job();
  set_rank();
  set_graph();
  set_peer();
}

SFTEST_FIXTURE(setup, NULL);

static char *print(void)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_int_eq(sfreport_metrics_print(&metrics, file), SF_OK);
  fclose(file);
  sftest_check_openmetrics(text);
  return text;
}

/* Whole lines. */
static void expect_lines(const char *const lines[])
{
  char *text = print(), wanted[400];
  for (; *lines != NULL; lines++) {
    snprintf(wanted, sizeof wanted, "\n%s\n", *lines);
    ck_assert_msg(strstr(text, wanted) != NULL, "no line \"%s\" in: %s", *lines, text);
  }
  free(text);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

SFTEST(the_daemon)
{
  expect_lines(LINES("# TYPE sfd_uptime_seconds gauge", "# UNIT sfd_uptime_seconds seconds",
                     "# HELP sfd_uptime_seconds Time since the daemon's start.", "sfd_uptime_seconds 3725.500",
                     "sfd_build_info{software=\"sfd 0.1.0\",protocol=\"1\",fabric=\"none\"} 1",
                     "sfd_jobs_started_total 10000000000", "sfd_costs_measured 1"));
}

/* An older daemon does not tell of nodes; what is no number is said to be none. */
SFTEST(what_is_not_known)
{
  char *text = print();
  ck_assert_ptr_null(strstr(text, "\nsfd_nodes "));
  free(text);
  status_info.has_nodes = true;
  status_info.nodes = 2;
  status_info.uptime_s = 1.0 / 0.0;
  items[2].ncounted = 0;
  expect_lines(LINES("sfd_nodes 2", "sfd_uptime_seconds NaN",
                     "sfd_graph_ranks_counted{" JOB ",graph=\"18446744073709551615\"} 2"));
  text = print();
  ck_assert_ptr_null(strstr(text, "\nsfd_rank_bcasts_total"));
  free(text);
}

SFTEST(jobs)
{
  expect_lines(LINES("sfd_job_user_info{" JOB ",uid=\"1000\"} 1", "sfd_job_ranks{" JOB "} 4",
                     "sfd_job_state{" JOB ",sfd_job_state=\"joining\"} 0",
                     "sfd_job_state{" JOB ",sfd_job_state=\"running\"} 1"));
}

SFTEST(ranks)
{
#define RANK JOB ",rank=\"3\""
  expect_lines(LINES(
      "sfd_rank_process_info{" RANK ",pid=\"42\",program=\"./cg\"} 1",
      "sfd_rank_state{" RANK ",sfd_rank_state=\"running\"} 0",
      "sfd_rank_state{" RANK ",sfd_rank_state=\"on holiday\"} 1", "sfd_rank_bcasts_total{" RANK "} 100",
      "sfd_rank_sent_bytes_total{" RANK ",way=\"inline\"} 108", "sfd_rank_sent_bytes_total{" RANK ",way=\"nodes\"} 115",
      "sfd_rank_received_bytes_total{" RANK ",way=\"ranks\"} 18446744073709551615",
      "sfd_rank_sleeps_total{" RANK "} 12", "sfd_rank_regions{" RANK ",kind=\"alloc\",method=\"slots\"} 2",
      "sfd_rank_region_bytes{" RANK ",kind=\"alloc\",method=\"slots\"} 4000",
      "sfd_rank_region_bytes{" RANK ",kind=\"alloc\",method=\"in-place\"} 2000"));
}

SFTEST(graphs)
{
#define GRAPH JOB ",graph=\"18446744073709551615\""
  expect_lines(LINES("sfd_graph_roots{" GRAPH "} 5000000000", "sfd_graph_reduces_total{" GRAPH "} 101",
                     "sfd_graph_fetch_ops_total{" GRAPH "} 104",
                     "sfd_graph_state{" GRAPH ",sfd_graph_state=\"ready\"} 1"));
}

SFTEST(latency)
{
  items[3].latency.operations[0][6] = 2;
  items[3].latency.operations[0][10] = 3;
  items[3].latency.operations[0][31] = 4;
  items[3].latency.sum_ns[0] = UINT64_C(20000000123);
  items[3].latency.operations[4][12] = 1;
#define LATENCY(suffix, labels) "sfd_graph_latency_seconds_" suffix "{" GRAPH ",kind=" labels
  expect_lines(LINES("# TYPE sfd_graph_latency_seconds histogram", LATENCY("bucket", "\"bcast\",le=\"2.55e-07\"} 2"),
                     LATENCY("bucket", "\"bcast\",le=\"1.023e-06\"} 2"),
                     LATENCY("bucket", "\"bcast\",le=\"2.047e-06\"} 5"),
                     LATENCY("bucket", "\"bcast\",le=\"2.147483647\"} 5"),
                     LATENCY("bucket", "\"bcast\",le=\"+Inf\"} 9"), LATENCY("count", "\"bcast\"} 9"),
                     LATENCY("sum", "\"bcast\"} 20.000000123"), LATENCY("count", "\"fetch_op\"} 1")));
  char *text = print();
  ck_assert_ptr_null(strstr(text, "kind=\"reduce\""));
  free(text);
}

/* Asked by number, nodes tell who they are. */
SFTEST(of_nodes)
{
  for (int i = 0; i < 5; i++) {
    messages[i].has_told_by = true;
    messages[i].told_by = 3;
  }
  expect_lines(LINES("sfd_build_info{node=\"3\",software=\"sfd 0.1.0\",protocol=\"1\",fabric=\"none\"} 1",
                     "sfd_costs_measured{node=\"3\"} 1", "sfd_job_ranks{node=\"3\"," JOB "} 4",
                     "sfd_rank_sleeps_total{node=\"3\"," RANK "} 12", "sfd_graph_ranks_counted{node=\"3\"," GRAPH "} 2",
                     "sfd_peer_queued_bytes{node=\"3\",peer=\"2\"} 5"));
}

SFTEST(peers)
{
  expect_lines(LINES("sfd_peer_address_info{peer=\"2\",description=\"node 2 (tcp h:7411)\"} 1",
                     "sfd_peer_state{peer=\"2\",sfd_peer_state=\"opening\"} 1",
                     "sfd_peer_wire_sent_bytes_total{peer=\"2\"} 2000", "sfd_peer_queued_bytes{peer=\"2\"} 5",
                     "sfd_peer_payload_sent_bytes_total{peer=\"2\",kind=\"credit\"} 11"));
}

SFTEST(nothing_but_the_daemon)
{
  metrics.jobs.count = metrics.ranks.count = metrics.graphs.count = metrics.peers.count = 0;
  free(print());
  ck_assert_int_gt(sftest_openmetrics_families(), 50);
  metrics.status.count = 0;
  ck_assert_int_eq(sfreport_metrics_print(&metrics, stdout), SF_ERR_PROTO);
}
