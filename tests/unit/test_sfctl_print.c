/* What sfctl prints of given answers, and that the man page names every member of its JSON. Runs in the root of the
 * repository. */
#include "tools/sfctl/print.h"

#include <stdlib.h>
#include <string.h>

#include "shm/error.h"
#include "tests/unit/runner.h"

#define MAN_PAGE "docs/man/sfctl.1"

/* A name that must be escaped: a terminal would obey it, and it is not valid UTF-8. */
#define HOSTILE "p\x1b[2J\xff\""

static Sfproto__Message message;
static sfctl_item_t item;
static const sfctl_list_t list = {.items = &item, .count = 1};

static Sfproto__StatusInfo status_info;
static Sfproto__JobInfo job_info;
static Sfproto__RankInfo rank_info;
static Sfproto__GraphInfo graph_info;

static char *word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

static void setup(void)
{
  message = (Sfproto__Message)SFPROTO__MESSAGE__INIT;
  item = (sfctl_item_t){.message = &message};
}

static char *print(Sfproto__Query__What what, bool json, bool regions)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  sf_status_t status = json ? sfctl_print_json(what, &list, file) : sfctl_print_text(what, &list, regions, file);
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
}

#define COUNTS                                                                                                         \
  "\"bcasts\":1234567,\"reduces\":8,\"completed\":10,\"messages_sent\":14,\"bytes_inline\":13,"                        \
  "\"bytes_slots\":1610612736,\"bytes_in_place\":15,\"bytes_vm_read\":14,\"bytes_self\":11,\"messages_received\":18,"  \
  "\"bytes_received\":18446744073709551615"

/* ---- The daemon ---- */

START_TEST(status)
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
  expect_text(SFPROTO__QUERY__WHAT__STATUS, false,
              "daemon   sfd 0.1.0, protocol version 1\n"
              "process  42, of uid 1000\n"
              "socket   /run/sfd.sock\n"
              "up       1 h 02 min\n"
              "cores    2\n"
              "costs    measured\n"
              "jobs     1; since it started 10000000000, of which 2 failed\n"
              "ranks    4\n"
              "graphs   3\n"
              "refused  1 connection\n");
  expect_json(SFPROTO__QUERY__WHAT__STATUS,
              "{\"software\":\"sfd 0.1.0\",\"protocol\":1,\"pid\":42,\"socket\":\"/run/sfd.sock\","
              "\"uptime_s\":3725.500,\"uid\":1000,\"cores\":2,\"jobs\":1,\"ranks\":4,\"graphs\":3,"
              "\"jobs_total\":10000000000,\"jobs_failed\":2,\"refused\":1,\"costs_measured\":true}\n");
}
END_TEST

START_TEST(status_missing)
{
  const sfctl_list_t nothing = {0};
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__STATUS, &nothing, false, stdout), SF_ERR_PROTO);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__STATUS, &nothing, stdout), SF_ERR_PROTO);
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
              "ID  JOB   UID  STATE   JOINED  GROUPS  GRAPHS         AGE\n"
              " 7  cg   1000  failed     3/4       1       2  1 min 01 s\n"
              "    rank 2\\nis gone\n");
  expect_json(SFPROTO__QUERY__WHAT__JOBS,
              "[\n{\"job_id\":7,\"job\":\"cg\",\"uid\":1000,\"size\":4,\"joined\":3,\"state\":\"failed\",\"groups\":1,"
              "\"graphs\":2,\"age_s\":61.000,\"detail\":\"rank 2\\nis gone\"}\n]\n");
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

START_TEST(ranks)
{
  set_rank();
  set_counts();
  set_region(0, "inbox", 1 << 16, "slots");
  set_region(1, "alloc", 1 << 20, "in-place");
  set_region(2, "registered", 100, "vm-read");
  set_region(3, "alloc", 1 << 19, "in-place");
  rank_info.regions = region_pointers;
  rank_info.n_regions = 4;
  expect_text(SFPROTO__QUERY__WHAT__RANKS, false,
              "JOB  RANK   PID  STATE    PROGRAM         BCASTS  REDUCES     SENT  RECEIVED  SELF  SLEEPS  REGIONS\n"
              "cg      3  4711  running  p\\x1b[2J\\xff\"  1234567        8  1.5 GiB  16.0 EiB  11 B      12  "
              "1 slots (64.0 KiB), 2 in-place (1.5 MiB), 1 vm-read (100 B)\n");
  expect_text(SFPROTO__QUERY__WHAT__RANKS, true,
              "JOB  RANK   PID  STATE    PROGRAM         BCASTS  REDUCES     SENT  RECEIVED  SELF  SLEEPS  REGIONS\n"
              "cg      3  4711  running  p\\x1b[2J\\xff\"  1234567        8  1.5 GiB  16.0 EiB  11 B      12  4\n"
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
              "{\"region\":3,\"kind\":\"alloc\",\"length_bytes\":524288,\"method\":\"in-place\"}]}\n]\n");
}
END_TEST

START_TEST(ranks_without_counters)
{
  set_rank();
  rank_info.program = word("");
  expect_text(SFPROTO__QUERY__WHAT__RANKS, false,
              "JOB  RANK   PID  STATE    PROGRAM  BCASTS  REDUCES  SENT  RECEIVED  SELF  SLEEPS  REGIONS\n"
              "cg      3  4711  running  -             -        -     -         -     -       -  -\n");
  expect_json(SFPROTO__QUERY__WHAT__RANKS,
              "[\n{\"job_id\":7,\"job\":\"cg\",\"rank\":3,\"pid\":4711,\"state\":\"running\",\"program\":\"\","
              "\"counters\":null,\"regions\":[]}\n]\n");
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
  expect_text(SFPROTO__QUERY__WHAT__GRAPHS, false,
              "GRAPH  JOB  RANKS       ROOTS  LEAVES  PAIRS  STATE   BCASTS  REDUCES  INLINE    SLOTS  IN-PLACE  "
              "VM-READ  SELF\n"
              "    9  cg       2  5000000000       6      2  ready  1234567        8    13 B  1.5 GiB      15 B  "
              "   14 B  11 B\n");
  expect_json(SFPROTO__QUERY__WHAT__GRAPHS,
              "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
              "\"state\":\"ready\",\"detail\":null,\"job_ranks\":[2,0],\"counters\":{\"ranks_counted\":2," COUNTS
              "}}\n]\n");
}
END_TEST

START_TEST(graphs_that_failed)
{
  set_graph();
  graph_info.state = word("failed");
  graph_info.detail = word("bcast here, reduce there");
  expect_text(SFPROTO__QUERY__WHAT__GRAPHS, false,
              "GRAPH  JOB  RANKS       ROOTS  LEAVES  PAIRS  STATE   BCASTS  REDUCES  INLINE  SLOTS  IN-PLACE  "
              "VM-READ  SELF\n"
              "    9  cg       2  5000000000       6      2  failed       -        -       -      -         -  "
              "      -     -\n"
              "    bcast here, reduce there\n");
  expect_json(SFPROTO__QUERY__WHAT__GRAPHS,
              "[\n{\"graph\":9,\"job_id\":7,\"job\":\"cg\",\"size\":2,\"nroots\":5000000000,\"nleaves\":6,\"pairs\":2,"
              "\"state\":\"failed\",\"detail\":\"bcast here, reduce there\",\"job_ranks\":[2,0],"
              "\"counters\":null}\n]\n");
}
END_TEST

START_TEST(nothing_there)
{
  static const struct {
    Sfproto__Query__What what;
    const char *expected;
  } cases[] = {{SFPROTO__QUERY__WHAT__JOBS, "no jobs\n[]\n"},
               {SFPROTO__QUERY__WHAT__RANKS, "no ranks\n[]\n"},
               {SFPROTO__QUERY__WHAT__GRAPHS, "no graphs\n[]\n"}};
  const sfctl_list_t nothing = {0};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    ck_assert_int_eq(sfctl_print_text(cases[i].what, &nothing, false, file), SF_OK);
    ck_assert_int_eq(sfctl_print_json(cases[i].what, &nothing, file), SF_OK);
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
  tcase_add_test(tc, status_missing);
  tcase_add_test(tc, jobs);
  tcase_add_test(tc, ranks);
  tcase_add_test(tc, ranks_without_counters);
  tcase_add_test(tc, many_methods);
  tcase_add_test(tc, graphs);
  tcase_add_test(tc, graphs_that_failed);
  tcase_add_test(tc, nothing_there);
  suite_add_tcase(s, tc);
  return s;
}

int main(void)
{
  return sftest_run(suite());
}
