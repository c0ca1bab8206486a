/* What sfctl prints of given answers, and that the man page names every member of its JSON. Runs in the root of the
 * repository. */
#include "tools/sfctl/print/print.h"

#include "tests/unit/sfctl_print.h"

static const sfctl_print_style_t plain;

/* A name that must be escaped: a terminal would obey it, and it is not valid UTF-8. */
#define HOSTILE "p\x1b[2J\xff\""

static Sfproto__StatusInfo status_info;
static Sfproto__JobInfo job_info;
static Sfproto__RankInfo rank_info;
static Sfproto__GraphInfo graph_info;

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
  "\"bcasts\":1234567,\"reduces\":8,\"gathers\":8,\"scatters\":9,\"fetch_ops\":10,\"exchanges\":10,\"completed\":10,"  \
  "\"messages_sent\":14,\"bytes_inline\":13,"                                                                          \
  "\"bytes_slots\":1610612736,\"bytes_in_place\":15,\"bytes_vm_read\":14,\"bytes_self\":11,\"messages_received\":18,"  \
  "\"bytes_received\":18446744073709551615,\"bytes_to_nodes\":15,\"bytes_from_nodes\":17,\"bytes_saved\":12,\"node_"   \
  "messages_sent\":19,\"node_bytes_sent\":16,\"node_values_sent\":17,\"node_messages_received\":23,\"node_bytes_"      \
  "received\":20,\"node_values_received\":21,\"values_wanted\":14,\"values_carried\":15,\"waits\":6,\"waited_ns\":10," \
  "\"waited_nodes_ns\":16,\"samples\":8,\"pack_ns\":8,\"unpack_ns\":10"

/* ---- The daemon ---- */

static void set_status(void)
{
  status_info = (Sfproto__StatusInfo)SFPROTO__STATUS_INFO__INIT;
  status_info.software = sftest_print_word("sfd 0.1.0");
  status_info.protocol = 1;
  status_info.pid = 42;
  status_info.socket = sftest_print_word("/run/sfd.sock");
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

SFTEST_FIXTURE(sftest_print_setup, NULL);

SFTEST(status)
{
  set_status();
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__STATUS, false, STATUS_BEGIN STATUS_END);
  status_info.fabric = sftest_print_word("none");
  status_info.has_node = status_info.has_nodes = true;
  status_info.nodes = 1;
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__STATUS, false,
                           STATUS_BEGIN "fabric   none; this sfd is alone\n" STATUS_END);
  status_info.fabric = sftest_print_word("tcp");
  status_info.node = 3;
  status_info.nodes = 5;
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__STATUS, false,
                           STATUS_BEGIN "fabric   tcp; this is node 3 of 5\n" STATUS_END);
}

SFTEST(status_as_json)
{
  set_status();
  sftest_print_expect_json(SFPROTO__QUERY__WHAT__STATUS,
                           "{\"software\":\"sfd 0.1.0\",\"protocol\":1,\"pid\":42,\"socket\":\"/run/sfd.sock\","
                           "\"uptime_s\":3725.500,\"uid\":1000,\"cores\":2,\"jobs\":1,\"ranks\":4,\"graphs\":3,"
                           "\"jobs_total\":10000000000,\"jobs_failed\":2,\"refused\":1,\"costs_measured\":true,"
                           "\"payloads\":null,\"fabric\":null,\"node\":null,\"nodes\":null,\"drained\":false}\n");
  status_info.fabric = sftest_print_word("tcp");
  status_info.has_node = status_info.has_nodes = true;
  status_info.nodes = 2;
  status_info.payloads = sftest_print_word("past caches");
  char *text = sftest_print(SFPROTO__QUERY__WHAT__STATUS, true, false);
  ck_assert_ptr_nonnull(
      strstr(text, "\"payloads\":\"past caches\",\"fabric\":\"tcp\",\"node\":0,\"nodes\":2,\"drained\":false}\n"));
  free(text);
}

SFTEST(status_missing)
{
  const sfreport_list_t nothing = {0};
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__STATUS, &nothing, &plain, stdout), SF_ERR_PROTO);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__STATUS, &nothing, &plain, stdout), SF_ERR_PROTO);
}

/* ---- Jobs ---- */

SFTEST(jobs)
{
  job_info = (Sfproto__JobInfo)SFPROTO__JOB_INFO__INIT;
  job_info.job_id = 7;
  job_info.name = sftest_print_word("cg");
  job_info.uid = 1000;
  job_info.size = 4;
  job_info.joined = 3;
  job_info.state = sftest_print_word("failed");
  job_info.groups = 1;
  job_info.graphs = 2;
  job_info.age_s = 61;
  job_info.detail = sftest_print_word("rank 2\nis gone");
  message.body_case = SFPROTO__MESSAGE__BODY_JOB_INFO;
  message.job_info = &job_info;
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__JOBS, false,
                           "ID  JOB  PROGRAM  STATE   JOINED         AGE   UID  NODES  HERE  GRAPHS  GROUPS\n"
                           " 7  cg   -        failed     3/4  1 min 01 s  1000      -     -       2       1\n"
                           "    rank 2\\nis gone\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__JOBS,
      "[\n{\"job_id\":7,\"job\":\"cg\",\"uid\":1000,\"size\":4,\"joined\":3,\"state\":\"failed\",\"groups\":1,"
      "\"graphs\":2,\"age_s\":61.000,\"program\":null,\"detail\":\"rank 2\\nis "
      "gone\",\"here\":null,\"nodes\":null,\"stalled\":null}\n]\n");
  job_info.has_here = job_info.has_nodes = true;
  job_info.program = sftest_print_word("solver");
  job_info.here = 2;
  job_info.nodes = 12;
  job_info.detail = NULL;
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__JOBS, false,
                           "ID  JOB  PROGRAM  STATE   JOINED         AGE   UID  NODES  HERE  GRAPHS  GROUPS\n"
                           " 7  cg   solver   failed     3/4  1 min 01 s  1000     12     2       2       1\n");
}

/* ---- Ranks ---- */

static Sfproto__RegionInfo regions[4];
static Sfproto__RegionInfo *region_pointers[4];

static void set_region(size_t i, const char *kind, uint64_t length, const char *method)
{
  regions[i] = (Sfproto__RegionInfo)SFPROTO__REGION_INFO__INIT;
  regions[i].region = i;
  regions[i].kind = sftest_print_word(kind);
  regions[i].length = length;
  regions[i].method = sftest_print_word(method);
  region_pointers[i] = &regions[i];
}

static void set_rank(void)
{
  rank_info = (Sfproto__RankInfo)SFPROTO__RANK_INFO__INIT;
  rank_info.job_id = 7;
  rank_info.job = sftest_print_word("cg");
  rank_info.rank = 3;
  rank_info.pid = 4711;
  rank_info.state = sftest_print_word("running");
  rank_info.program = sftest_print_word(HOSTILE);
  message.body_case = SFPROTO__MESSAGE__BODY_RANK_INFO;
  message.rank_info = &rank_info;
}

#define RANK_TITLES                                                                                                    \
  "JOB  RANK   PID  STATE     BCASTS  REDUCES     SENT  RECEIVED  TO-NODES  FROM-NODES  OTHERS  SELF  SLEEPS  RING  "  \
  "OFFLOADED  PROGRAM        REGIONS\n"
#define RANK_LINE                                                                                                      \
  "cg      3  4711  running  1234567        8  1.5 GiB  16.0 EiB      15 B        17 B      37  11 B      12     5  "  \
  "  3.0 KiB  p\\x1b[2J\\xff\"  "

SFTEST(ranks)
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
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__RANKS, false,
                           RANK_TITLES RANK_LINE "1 slots (64.0 KiB), 2 in-place (1.5 MiB), 1 vm-read (100 B)\n");
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__RANKS, true,
                           RANK_TITLES RANK_LINE "4\n"
                                                 "    inbox         64.0 KiB  slots     region 0\n"
                                                 "    alloc          1.0 MiB  in-place  region 1\n"
                                                 "    registered       100 B  vm-read   region 2\n"
                                                 "    alloc        512.0 KiB  in-place  region 3\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__RANKS,
      "[\n{\"job_id\":7,\"job\":\"cg\",\"rank\":3,\"pid\":4711,\"state\":\"running\","
      "\"program\":\"p\\u001b[2J\\ufffd\\\"\",\"counters\":{" COUNTS
      ",\"sleeps\":12,\"waited_for_ns\":0,\"oldest_wait_ns\":0},\"regions\":["
      "{\"region\":0,\"kind\":\"inbox\",\"length_bytes\":65536,\"method\":\"slots\"},"
      "{\"region\":1,\"kind\":\"alloc\",\"length_bytes\":1048576,\"method\":\"in-place\"},"
      "{\"region\":2,\"kind\":\"registered\",\"length_bytes\":100,\"method\":\"vm-read\"},"
      "{\"region\":3,\"kind\":\"alloc\",\"length_bytes\":524288,\"method\":\"in-place\"}],\"ring_depth\":5,"
      "\"offloaded_bytes\":3072}\n]\n");
}

SFTEST(ranks_without_counters)
{
  set_rank();
  rank_info.program = sftest_print_word("");
  sftest_print_expect_text(
      SFPROTO__QUERY__WHAT__RANKS, false,
      "JOB  RANK   PID  STATE    BCASTS  REDUCES  SENT  RECEIVED  TO-NODES  FROM-NODES  OTHERS  SELF  SLEEPS  RING  "
      "OFFLOADED  PROGRAM  REGIONS\n"
      "cg      3  4711  running       -        -     -         -         -           -       -     -       -     -  "
      "        -  -        -\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__RANKS,
      "[\n{\"job_id\":7,\"job\":\"cg\",\"rank\":3,\"pid\":4711,\"state\":\"running\",\"program\":\"\","
      "\"counters\":null,\"regions\":[],\"ring_depth\":null,"
      "\"offloaded_bytes\":null}\n]\n");
}

/* More ways than are known today, with names of any length, fit or are left out. */
SFTEST(many_methods)
{
  enum { N = 40 };
  static Sfproto__RegionInfo many[N], *pointers[N];
  static char names[N][100];
  for (int i = 0; i < N; i++) {
    memset(names[i], 'a' + i % 26, sizeof names[i] - 2);
    names[i][sizeof names[i] - 2] = (char)('0' + i / 26);
    many[i] = (Sfproto__RegionInfo)SFPROTO__REGION_INFO__INIT;
    many[i].kind = sftest_print_word("new");
    many[i].method = names[i];
    many[i].length = UINT64_MAX;
    pointers[i] = &many[i];
  }
  set_rank();
  rank_info.regions = pointers;
  rank_info.n_regions = N;
  char *text = sftest_print(SFPROTO__QUERY__WHAT__RANKS, false, false);
  ck_assert_ptr_nonnull(strstr(text, "1 aaaaaaaaaaaaaaaaaaaa"));
  free(text);
}

/* ---- Graphs ---- */

static int32_t job_ranks[] = {2, 0};

static void set_graph(void)
{
  graph_info = (Sfproto__GraphInfo)SFPROTO__GRAPH_INFO__INIT;
  graph_info.graph = 9;
  graph_info.job_id = 7;
  graph_info.job = sftest_print_word("cg");
  graph_info.size = 2;
  graph_info.nroots = INT64_C(5000000000);
  graph_info.nleaves = 6;
  graph_info.pairs = 2;
  graph_info.state = sftest_print_word("ready");
  graph_info.job_ranks = job_ranks;
  graph_info.n_job_ranks = 2;
  message.body_case = SFPROTO__MESSAGE__BODY_GRAPH_INFO;
  message.graph_info = &graph_info;
}

SFTEST(graphs)
{
  set_graph();
  set_counts();
  sftest_print_expect_text(
      SFPROTO__QUERY__WHAT__GRAPHS, false,
      "GRAPH  JOB  STATE  RANKS       ROOTS  LEAVES   BCASTS  REDUCES  OTHERS  PAIRS  INLINE    SLOTS  IN-PLACE  "
      "VM-READ  SELF  TO-NODES\n"
      "    9  cg   ready      2  5000000000       6  1234567        8      37      2    13 B  1.5 GiB      15 B  "
      "   14 B  11 B      15 B\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__GRAPHS,
      "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
      "\"state\":\"ready\",\"detail\":null,\"place\":null,\"multi_of\":null,\"job_ranks\":[2,0],\"counters\":"
      "{\"ranks_"
      "counted\":2," COUNTS ",\"latency\":[{\"kind\":\"reduce\",\"from_ns\":1024,\"operations\":7}],"
      "\"most_on_roots\":{\"rank\":0,\"edges\":0,\"all_edges\":0},"
      "\"most_on_leaves\":{\"rank\":0,\"edges\":0,\"all_edges\":0},\"top_root\":null}}\n]\n");
}

SFTEST(graphs_that_failed)
{
  set_graph();
  graph_info.state = sftest_print_word("failed");
  graph_info.detail = sftest_print_word("bcast here, reduce there");
  item.multi_of = 3;
  sftest_print_expect_text(
      SFPROTO__QUERY__WHAT__GRAPHS, false,
      "GRAPH  JOB  STATE   RANKS       ROOTS  LEAVES  BCASTS  REDUCES  OTHERS  PAIRS  INLINE  SLOTS  IN-PLACE  "
      "VM-READ  SELF  TO-NODES\n"
      "    9  cg   failed      2  5000000000       6       -        -       -      2       -      -         -  "
      "      -     -         -\n"
      "    the multi-graph of graph 3\n"
      "    bcast here, reduce there\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__GRAPHS,
      "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
      "\"state\":\"failed\",\"detail\":\"bcast here, reduce there\",\"place\":null,\"multi_of\":3,\"job_ranks\":[2,0],"
      "\"counters\":null}\n]\n");
}

SFTEST(nothing_there)
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
