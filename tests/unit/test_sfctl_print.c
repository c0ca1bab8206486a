/* What sfctl prints of given answers, and that the man page names every member of its JSON. Runs in the root of the
 * repository. */
#include "tools/sfctl/print.h"

#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "tests/unit/runner.h"

static const sfctl_print_style_t plain;

#define MAN_PAGE "docs/man/sfctl.1"

/* A name that must be escaped: a terminal would obey it, and it is not valid UTF-8. */
#define HOSTILE "p\x1b[2J\xff\""

static Sfproto__Message message;
static sfreport_item_t item;
static const sfreport_list_t list = {.items = &item, .count = 1};

static Sfproto__StatusInfo status_info;
static Sfproto__JobInfo job_info;
static Sfproto__RankInfo rank_info;
static Sfproto__GraphInfo graph_info;
static Sfproto__PeerInfo peer_info;
static Sfproto__PlanInfo plan_info;

static char *word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

static void setup(void)
{
  message = (Sfproto__Message)SFPROTO__MESSAGE__INIT;
  item = (sfreport_item_t){.message = &message};
}

static char *print(Sfproto__Query__What what, bool json, bool regions)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  const sfctl_print_style_t style = {.regions = regions};
  sf_status_t status = json ? sfctl_print_json(what, &list, &style, file) : sfctl_print_text(what, &list, &style, file);
  ck_assert_int_eq(status, SF_OK);
  fclose(file);
  return text;
}

/* Every name before a colon stands in the man page. */
static void expect_documented(const char *json)
{
  static char man[1 << 16];
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "no " MAN_PAGE " in the current directory");
  man[fread(man, 1, sizeof man - 1, file)] = '\0';
  fclose(file);
  const char *section = strstr(man, "\n.SH JSON\n");
  ck_assert_ptr_nonnull(section);
  for (const char *end = json; (end = strstr(end, "\":")) != NULL; end++) {
    const char *begin = end;
    while (begin[-1] != '"')
      begin--;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
    ck_assert_msg(strstr(section, name) != NULL, "\"%s\" is not in " MAN_PAGE, name);
  }
}

static void expect_text(Sfproto__Query__What what, bool regions, const char *expected)
{
  char *text = print(what, false, regions);
  ck_assert_str_eq(text, expected);
  free(text);
}

static void expect_json(Sfproto__Query__What what, const char *expected)
{
  char *text = print(what, true, false);
  ck_assert_str_eq(text, expected);
  expect_documented(text);
  free(text);
}

static void set_counts(void)
{
  item.ncounted = 2;
  item.sleeps = 12;
#define SET(field, text) item.counts.field = sizeof #field;
  SFSHM_COUNTER_TABLE(SET)
#undef SET
  item.counts.bcasts = 1234567;
  item.counts.bytes_slots = UINT64_C(3) << 29;
  item.counts.bytes_received = UINT64_MAX;
  item.latency.operations[1][10] = 7;
}

#define COUNTS                                                                                                         \
  "\"bcasts\":1234567,\"reduces\":8,\"gathers\":8,\"scatters\":9,\"fetch_ops\":10,\"completed\":10,\"messages_sent\":" \
  "14,\"bytes_inline\":13,"                                                                                            \
  "\"bytes_slots\":1610612736,\"bytes_in_place\":15,\"bytes_vm_read\":14,\"bytes_self\":11,\"messages_received\":18,"  \
  "\"bytes_received\":18446744073709551615,\"bytes_to_nodes\":15,\"bytes_from_nodes\":17,\"bytes_saved\":12,\"node_"   \
  "messages_sent\":19,\"node_bytes_sent\":16,\"node_values_sent\":17,\"node_messages_received\":23,\"node_bytes_"      \
  "received\":20,\"node_values_received\":21,\"values_wanted\":14,\"values_carried\":15,\"waits\":6,\"waited_ns\":10," \
  "\"samples\":8,\"pack_ns\":8,\"unpack_ns\":10"

/* ---- The daemon ---- */

static void set_status(void)
{
  status_info = (Sfproto__StatusInfo)SFPROTO__STATUS_INFO__INIT;
  status_info.software = word("sfd 0.1.0");
  status_info.protocol = 1;
  status_info.pid = 42;
  status_info.socket = word("/run/sfd.sock");
  status_info.uptime_s = 3725.5;
  status_info.uid = 1000;
  status_info.cores = 2;
  status_info.jobs = 1;
  status_info.ranks = 4;
  status_info.graphs = 3;
  status_info.jobs_total = UINT64_C(10000000000);
  status_info.jobs_failed = 2;
  status_info.refused = 1;
  status_info.costs_measured = true;
  message.body_case = SFPROTO__MESSAGE__BODY_STATUS_INFO;
  message.status_info = &status_info;
}

#define STATUS_BEGIN                                                                                                   \
  "daemon   sfd 0.1.0, protocol version 1\n"                                                                           \
  "process  42, of uid 1000\n"                                                                                         \
  "socket   /run/sfd.sock\n"                                                                                           \
  "up       1 h 02 min\n"                                                                                              \
  "cores    2\n"                                                                                                       \
  "costs    measured\n"                                                                                                \
  "jobs     1; since it started 10000000000, of which 2 failed\n"                                                      \
  "ranks    4\n"                                                                                                       \
  "graphs   3\n"
#define STATUS_END "refused  1 connection\n"

START_TEST(status)
{
  set_status();
  expect_text(SFPROTO__QUERY__WHAT__STATUS, false, STATUS_BEGIN STATUS_END);
  status_info.fabric = word("none");
  status_info.has_node = status_info.has_nodes = true;
  status_info.nodes = 1;
  expect_text(SFPROTO__QUERY__WHAT__STATUS, false, STATUS_BEGIN "fabric   none; this sfd is alone\n" STATUS_END);
  status_info.fabric = word("tcp");
  status_info.node = 3;
  status_info.nodes = 5;
  expect_text(SFPROTO__QUERY__WHAT__STATUS, false, STATUS_BEGIN "fabric   tcp; this is node 3 of 5\n" STATUS_END);
}
END_TEST

START_TEST(status_as_json)
{
  set_status();
  expect_json(SFPROTO__QUERY__WHAT__STATUS,
              "{\"software\":\"sfd 0.1.0\",\"protocol\":1,\"pid\":42,\"socket\":\"/run/sfd.sock\","
              "\"uptime_s\":3725.500,\"uid\":1000,\"cores\":2,\"jobs\":1,\"ranks\":4,\"graphs\":3,"
              "\"jobs_total\":10000000000,\"jobs_failed\":2,\"refused\":1,\"costs_measured\":true,"
              "\"fabric\":null,\"node\":null,\"nodes\":null,\"drained\":false}\n");
  status_info.fabric = word("tcp");
  status_info.has_node = status_info.has_nodes = true;
  status_info.nodes = 2;
  char *text = print(SFPROTO__QUERY__WHAT__STATUS, true, false);
  ck_assert_ptr_nonnull(strstr(text, "\"fabric\":\"tcp\",\"node\":0,\"nodes\":2,\"drained\":false}\n"));
  free(text);
}
END_TEST

START_TEST(status_missing)
{
  const sfreport_list_t nothing = {0};
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__STATUS, &nothing, &plain, stdout), SF_ERR_PROTO);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__STATUS, &nothing, &plain, stdout), SF_ERR_PROTO);
}
END_TEST

/* ---- Jobs ---- */

START_TEST(jobs)
{
  job_info = (Sfproto__JobInfo)SFPROTO__JOB_INFO__INIT;
  job_info.job_id = 7;
  job_info.name = word("cg");
  job_info.uid = 1000;
  job_info.size = 4;
  job_info.joined = 3;
  job_info.state = word("failed");
  job_info.groups = 1;
  job_info.graphs = 2;
  job_info.age_s = 61;
  job_info.detail = word("rank 2\nis gone");
  message.body_case = SFPROTO__MESSAGE__BODY_JOB_INFO;
  message.job_info = &job_info;
  expect_text(SFPROTO__QUERY__WHAT__JOBS, false,
              "ID  JOB   UID  STATE   JOINED  HERE  NODES  GROUPS  GRAPHS         AGE\n"
              " 7  cg   1000  failed     3/4     -      -       1       2  1 min 01 s\n"
              "    rank 2\\nis gone\n");
  expect_json(SFPROTO__QUERY__WHAT__JOBS,
              "[\n{\"job_id\":7,\"job\":\"cg\",\"uid\":1000,\"size\":4,\"joined\":3,\"state\":\"failed\",\"groups\":1,"
              "\"graphs\":2,\"age_s\":61.000,\"detail\":\"rank 2\\nis "
              "gone\",\"here\":null,\"nodes\":null}\n]\n");
  job_info.has_here = job_info.has_nodes = true;
  job_info.here = 2;
  job_info.nodes = 12;
  job_info.detail = NULL;
  expect_text(SFPROTO__QUERY__WHAT__JOBS, false,
              "ID  JOB   UID  STATE   JOINED  HERE  NODES  GROUPS  GRAPHS         AGE\n"
              " 7  cg   1000  failed     3/4     2     12       1       2  1 min 01 s\n");
}
END_TEST

/* ---- Ranks ---- */

static Sfproto__RegionInfo regions[4];
static Sfproto__RegionInfo *region_pointers[4];

static void set_region(size_t i, const char *kind, uint64_t length, const char *method)
{
  regions[i] = (Sfproto__RegionInfo)SFPROTO__REGION_INFO__INIT;
  regions[i].region = i;
  regions[i].kind = word(kind);
  regions[i].length = length;
  regions[i].method = word(method);
  region_pointers[i] = &regions[i];
}

static void set_rank(void)
{
  rank_info = (Sfproto__RankInfo)SFPROTO__RANK_INFO__INIT;
  rank_info.job_id = 7;
  rank_info.job = word("cg");
  rank_info.rank = 3;
  rank_info.pid = 4711;
  rank_info.state = word("running");
  rank_info.program = word(HOSTILE);
  message.body_case = SFPROTO__MESSAGE__BODY_RANK_INFO;
  message.rank_info = &rank_info;
}

#define RANK_TITLES                                                                                                    \
  "JOB  RANK   PID  STATE    PROGRAM         BCASTS  REDUCES  OTHERS     SENT  RECEIVED  SELF  TO-NODES  FROM-NODES  " \
  "SLEEPS  RING  OFFLOADED  REGIONS\n"
#define RANK_LINE                                                                                                      \
  "cg      3  4711  running  p\\x1b[2J\\xff\"  1234567        8      27  1.5 GiB  16.0 EiB  11 B      15 B        17 " \
  "B  "                                                                                                                \
  "    12"

START_TEST(ranks)
{
  set_rank();
  rank_info.has_ring_depth = true;
  rank_info.ring_depth = 5;
  rank_info.has_offloaded_bytes = true;
  rank_info.offloaded_bytes = 3072;
  set_counts();
  set_region(0, "inbox", 1 << 16, "slots");
  set_region(1, "alloc", 1 << 20, "in-place");
  set_region(2, "registered", 100, "vm-read");
  set_region(3, "alloc", 1 << 19, "in-place");
  rank_info.regions = region_pointers;
  rank_info.n_regions = 4;
  expect_text(SFPROTO__QUERY__WHAT__RANKS, false,
              RANK_TITLES RANK_LINE "     5    3.0 KiB  "
                                    "1 slots (64.0 KiB), 2 in-place (1.5 MiB), 1 vm-read (100 B)\n");
  expect_text(SFPROTO__QUERY__WHAT__RANKS, true,
              RANK_TITLES RANK_LINE "     5    3.0 KiB  4\n"
                                    "    inbox         64.0 KiB  slots     region 0\n"
                                    "    alloc          1.0 MiB  in-place  region 1\n"
                                    "    registered       100 B  vm-read   region 2\n"
                                    "    alloc        512.0 KiB  in-place  region 3\n");
  expect_json(SFPROTO__QUERY__WHAT__RANKS,
              "[\n{\"job_id\":7,\"job\":\"cg\",\"rank\":3,\"pid\":4711,\"state\":\"running\","
              "\"program\":\"p\\u001b[2J\\ufffd\\\"\",\"counters\":{" COUNTS ",\"sleeps\":12},\"regions\":["
              "{\"region\":0,\"kind\":\"inbox\",\"length_bytes\":65536,\"method\":\"slots\"},"
              "{\"region\":1,\"kind\":\"alloc\",\"length_bytes\":1048576,\"method\":\"in-place\"},"
              "{\"region\":2,\"kind\":\"registered\",\"length_bytes\":100,\"method\":\"vm-read\"},"
              "{\"region\":3,\"kind\":\"alloc\",\"length_bytes\":524288,\"method\":\"in-place\"}],\"ring_depth\":5,"
              "\"offloaded_bytes\":3072}\n]\n");
}
END_TEST

START_TEST(ranks_without_counters)
{
  set_rank();
  rank_info.program = word("");
  expect_text(SFPROTO__QUERY__WHAT__RANKS, false,
              "JOB  RANK   PID  STATE    PROGRAM  BCASTS  REDUCES  OTHERS  SENT  RECEIVED  SELF  TO-NODES  FROM-NODES  "
              "SLEEPS  RING  OFFLOADED  REGIONS\n"
              "cg      3  4711  running  -             -        -       -     -         -     -         -           -  "
              "     -     -          -  -\n");
  expect_json(SFPROTO__QUERY__WHAT__RANKS,
              "[\n{\"job_id\":7,\"job\":\"cg\",\"rank\":3,\"pid\":4711,\"state\":\"running\",\"program\":\"\","
              "\"counters\":null,\"regions\":[],\"ring_depth\":null,"
              "\"offloaded_bytes\":null}\n]\n");
}
END_TEST

/* More ways than are known today, with names of any length, fit or are left out. */
START_TEST(many_methods)
{
  enum { N = 40 };
  static Sfproto__RegionInfo many[N];
  static Sfproto__RegionInfo *pointers[N];
  static char names[N][100];
  for (int i = 0; i < N; i++) {
    memset(names[i], 'a' + i % 26, sizeof names[i] - 2);
    names[i][sizeof names[i] - 2] = (char)('0' + i / 26);
    many[i] = (Sfproto__RegionInfo)SFPROTO__REGION_INFO__INIT;
    many[i].kind = word("new");
    many[i].method = names[i];
    many[i].length = UINT64_MAX;
    pointers[i] = &many[i];
  }
  set_rank();
  rank_info.regions = pointers;
  rank_info.n_regions = N;
  char *text = print(SFPROTO__QUERY__WHAT__RANKS, false, false);
  ck_assert_ptr_nonnull(strstr(text, "1 aaaaaaaaaaaaaaaaaaaa"));
  free(text);
}
END_TEST

/* ---- Graphs ---- */

static int32_t job_ranks[] = {2, 0};

static void set_graph(void)
{
  graph_info = (Sfproto__GraphInfo)SFPROTO__GRAPH_INFO__INIT;
  graph_info.graph = 9;
  graph_info.job_id = 7;
  graph_info.job = word("cg");
  graph_info.size = 2;
  graph_info.nroots = INT64_C(5000000000);
  graph_info.nleaves = 6;
  graph_info.pairs = 2;
  graph_info.state = word("ready");
  graph_info.job_ranks = job_ranks;
  graph_info.n_job_ranks = 2;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_INFO;
  message.graph_info = &graph_info;
}

START_TEST(graphs)
{
  set_graph();
  set_counts();
  expect_text(
      SFPROTO__QUERY__WHAT__GRAPHS, false,
      "GRAPH  JOB  RANKS       ROOTS  LEAVES  PAIRS  STATE   BCASTS  REDUCES  OTHERS  INLINE    SLOTS  IN-PLACE  "
      "VM-READ  SELF  TO-NODES\n"
      "    9  cg       2  5000000000       6      2  ready  1234567        8      27    13 B  1.5 GiB      15 B  "
      "   14 B  11 B      15 B\n");
  expect_json(SFPROTO__QUERY__WHAT__GRAPHS,
              "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
              "\"state\":\"ready\",\"detail\":null,\"multi_of\":null,\"runs_of\":null,\"job_ranks\":[2,0],\"counters\":"
              "{\"ranks_"
              "counted\":2," COUNTS ",\"latency\":[{\"kind\":\"reduce\",\"from_ns\":1024,\"operations\":7}]}}\n]\n");
}
END_TEST

START_TEST(graphs_that_failed)
{
  set_graph();
  graph_info.state = word("failed");
  graph_info.detail = word("bcast here, reduce there");
  item.multi_of = 3;
  item.runs_of = 4; /* no graph is both */
  expect_text(SFPROTO__QUERY__WHAT__GRAPHS, false,
              "GRAPH  JOB  RANKS       ROOTS  LEAVES  PAIRS  STATE   BCASTS  REDUCES  OTHERS  INLINE  SLOTS  IN-PLACE  "
              "VM-READ  SELF  TO-NODES\n"
              "    9  cg       2  5000000000       6      2  failed       -        -       -       -      -         -  "
              "      -     -         -\n"
              "    the multi-graph of graph 3\n"
              "    carries contributions of graph 4 between nodes\n"
              "    bcast here, reduce there\n");
  expect_json(
      SFPROTO__QUERY__WHAT__GRAPHS,
      "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
      "\"state\":\"failed\",\"detail\":\"bcast here, reduce there\",\"multi_of\":3,\"runs_of\":4,\"job_ranks\":[2,0],"
      "\"counters\":null}\n]\n");
}
END_TEST

/* ---- Over nodes ---- */

static Sfproto__PeerTraffic traffic[6];
static Sfproto__PeerTraffic *traffic_pointers[6];

static void set_traffic(size_t i, const char *kind, uint64_t messages, uint64_t bytes)
{
  traffic[i] = (Sfproto__PeerTraffic)SFPROTO__PEER_TRAFFIC__INIT;
  traffic[i].kind = word(kind);
  traffic[i].messages_sent = messages;
  traffic[i].messages_received = 10 * messages;
  traffic[i].payload_sent = bytes;
  traffic[i].payload_received = 2 * bytes;
  traffic_pointers[i] = &traffic[i];
}

static void set_peer(void)
{
  peer_info = (Sfproto__PeerInfo)SFPROTO__PEER_INFO__INIT;
  peer_info.node = 2;
  peer_info.description = word("node 2 (tcp h\x1b:7411)");
  peer_info.state = word("open");
  peer_info.frames_sent = 5;
  peer_info.frames_received = 60;
  peer_info.wire_sent = 2000;
  peer_info.wire_received = UINT64_MAX;
  peer_info.queued_messages = 3;
  peer_info.queued_bytes = 1536;
  message.body_case = SFPROTO__MESSAGE__BODY_PEER_INFO;
  message.peer_info = &peer_info;
}

/* Kinds that are neither data nor credits are counted together, also those of a later daemon. */
START_TEST(peers)
{
  set_peer();
  set_traffic(0, "control", 1, 100);
  set_traffic(1, "plan", 2, 0);
  set_traffic(2, "data", 4, 1000);
  set_traffic(3, "credit", 3, 0);
  set_traffic(4, "new", 1, 0);
  peer_info.traffic = traffic_pointers;
  peer_info.n_traffic = 5;
  expect_text(SFPROTO__QUERY__WHAT__PEERS, false,
              "NODE  PEER                     STATE  MESSAGES  DATA  CREDIT  CONTROL  FRAMES          PAYLOAD"
              "              WIRE       QUEUED\n"
              "   2  node 2 (tcp h\\x1b:7411)  open     11/110  4/40    3/30     4/40    5/60  1.1 KiB/2.1 KiB"
              "  2.0 KiB/16.0 EiB  3 (1.5 KiB)\n");
  peer_info.n_traffic = 1;
  expect_json(SFPROTO__QUERY__WHAT__PEERS,
              "[\n{\"node\":2,\"description\":\"node 2 (tcp h\\u001b:7411)\",\"state\":\"open\",\"traffic\":["
              "{\"kind\":\"control\",\"messages_sent\":1,\"messages_received\":10,\"payload_sent\":100,"
              "\"payload_received\":200}],\"frames_sent\":5,\"frames_received\":60,\"wire_sent\":2000,"
              "\"wire_received\":18446744073709551615,\"queued_messages\":3,\"queued_bytes\":1536}\n]\n");
}
END_TEST

static Sfproto__PlanSide sides[2];
static Sfproto__PlanSide *side_pointers[2] = {&sides[0], &sides[1]};

static void set_plan(void)
{
  plan_info = (Sfproto__PlanInfo)SFPROTO__PLAN_INFO__INIT;
  plan_info.graph = 9;
  plan_info.job_id = 7;
  plan_info.job = word("c\ng");
  plan_info.size = 8;
  plan_info.state = word("ready");
  plan_info.node = 1;
  message.body_case = SFPROTO__MESSAGE__BODY_PLAN_INFO;
  message.plan_info = &plan_info;
}

static void set_sides(void)
{
  sides[0] = (Sfproto__PlanSide)SFPROTO__PLAN_SIDE__INIT;
  sides[0].as_root = true;
  sides[0].members = 2;
  sides[0].bcast_values = INT64_C(5000000000);
  sides[0].reduce_values = 6;
  sides[0].contiguous_values = INT64_C(4999999999);
  sides[0].has_box_values = true;
  sides[0].box_values = INT64_C(500000000);
  sides[0].messages_sent = 11;
  sides[1] = (Sfproto__PlanSide)SFPROTO__PLAN_SIDE__INIT;
  sides[1].node = 2;
  sides[1].members = 3;
  sides[1].bcast_values = 1000;
  sides[1].reduce_values = 1000;
  sides[1].has_values_before = true;
  sides[1].values_before = 3000;
  sides[1].contiguous_values = 3000;
  sides[1].messages_received = 12;
  plan_info.sides = side_pointers;
  plan_info.n_sides = 2;
}

/* A share below all is not rounded up to all. */
START_TEST(plan)
{
  set_plan();
  set_sides();
  expect_text(SFPROTO__QUERY__WHAT__PLAN, false,
              "graph 9 of job c\\ng: ready, 8 ranks, seen from node 1\n"
              "NODE  HERE    MEMBERS  BCAST  REDUCE      VALUES  REDUCED  BEFORE  CONTIGUOUS  BOXES  SENT  RECEIVED\n"
              "   0  roots         2  1 out    1 in  5000000000        6       -         99%    10%    11         0\n"
              "   2  leaves        3   1 in   1 out        1000     1000    3000        100%      -     0        12\n");
  expect_json(SFPROTO__QUERY__WHAT__PLAN,
              "{\"graph\":9,\"job_id\":7,\"job\":\"c\\ng\",\"size\":8,\"state\":\"ready\",\"node\":1,\"sides\":["
              "{\"node\":0,\"here\":\"roots\",\"members\":2,\"bcast_messages\":1,\"bcast_values\":5000000000,"
              "\"reduce_messages\":1,\"reduce_values\":6,\"values_before\":null,"
              "\"contiguous_values\":4999999999,\"box_values\":500000000,\"messages_sent\":11,\"messages_received\":0},"
              "{\"node\":2,\"here\":\"leaves\",\"members\":3,\"bcast_messages\":1,\"bcast_values\":1000,"
              "\"reduce_messages\":1,\"reduce_values\":1000,\"values_before\":3000,\"contiguous_values\":3000,"
              "\"box_values\":null,\"messages_sent\":0,\"messages_received\":12}]}\n");
}
END_TEST

START_TEST(plan_in_several_messages)
{
  static Sfproto__PlanInfo more;
  static Sfproto__Message second;
  static sfreport_item_t items[2];
  const sfreport_list_t both = {.items = items, .count = 2};
  char *text;
  size_t length;
  set_plan();
  set_sides();
  more = plan_info;
  plan_info.n_sides = 1;
  more.n_sides = 1;
  more.sides = side_pointers + 1;
  second = (Sfproto__Message)SFPROTO__MESSAGE__INIT;
  second.body_case = SFPROTO__MESSAGE__BODY_PLAN_INFO;
  second.plan_info = &more;
  items[0].message = &message;
  items[1].message = &second;
  FILE *file = open_memstream(&text, &length);
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__PLAN, &both, &plain, file), SF_OK);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__PLAN, &both, &plain, file), SF_OK);
  fclose(file);
  ck_assert_ptr_nonnull(strstr(text, "\n   2  leaves "));
  ck_assert_ptr_nonnull(strstr(text, "},{\"node\":2,\"here\":\"leaves\""));
  free(text);
}
END_TEST

START_TEST(plan_without_edges_to_other_nodes)
{
  const sfreport_list_t nothing = {0};
  set_plan();
  expect_text(SFPROTO__QUERY__WHAT__PLAN, false,
              "graph 9 of job c\\ng: ready, 8 ranks, seen from node 1\n"
              "no edges between this node and others\n");
  expect_json(SFPROTO__QUERY__WHAT__PLAN,
              "{\"graph\":9,\"job_id\":7,\"job\":\"c\\ng\",\"size\":8,\"state\":\"ready\",\"node\":1,"
              "\"sides\":[]}\n");
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__PLAN, &nothing, &plain, stdout), SF_ERR_PROTO);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__PLAN, &nothing, &plain, stdout), SF_ERR_PROTO);
}
END_TEST

START_TEST(nothing_there)
{
  static const struct {
    Sfproto__Query__What what;
    const char *expected;
  } cases[] = {{SFPROTO__QUERY__WHAT__JOBS, "no jobs\n[]\n"},
               {SFPROTO__QUERY__WHAT__RANKS, "no ranks\n[]\n"},
               {SFPROTO__QUERY__WHAT__GRAPHS, "no graphs\n[]\n"},
               {SFPROTO__QUERY__WHAT__PEERS, "no peers: this sfd is alone\n[]\n"}};
  const sfreport_list_t nothing = {0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    ck_assert_int_eq(sfctl_print_text(cases[i].what, &nothing, &plain, file), SF_OK);
    ck_assert_int_eq(sfctl_print_json(cases[i].what, &nothing, &plain, file), SF_OK);
    fclose(file);
    ck_assert_str_eq(text, cases[i].expected);
    free(text);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *s = suite_create("sfctl: printing");
  TCase *tc = tcase_create("print");
  tcase_add_checked_fixture(tc, setup, NULL);
  tcase_add_test(tc, status);
  tcase_add_test(tc, status_as_json);
  tcase_add_test(tc, status_missing);
  tcase_add_test(tc, jobs);
  tcase_add_test(tc, ranks);
  tcase_add_test(tc, ranks_without_counters);
  tcase_add_test(tc, many_methods);
  tcase_add_test(tc, graphs);
  tcase_add_test(tc, graphs_that_failed);
  tcase_add_test(tc, peers);
  tcase_add_test(tc, plan);
  tcase_add_test(tc, plan_in_several_messages);
  tcase_add_test(tc, plan_without_edges_to_other_nodes);
  tcase_add_test(tc, nothing_there);
  suite_add_tcase(s, tc);
  return s;
}

int main(void)
{
  return sftest_run(suite());
}
