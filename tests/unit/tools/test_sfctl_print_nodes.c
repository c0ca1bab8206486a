/* What sfctl prints of what daemons have to do with those of other nodes: peers, and plans of graphs. */
#include "tests/unit/sfctl_print.h"
#include "tools/sfctl/print/matrix.h"
#include "tools/sfctl/print/print.h"

static const sfctl_print_style_t plain;

static Sfproto__PeerInfo peer_info;
static Sfproto__PlanInfo plan_info;

static Sfproto__PeerTraffic traffic[6];
static Sfproto__PeerTraffic *traffic_pointers[6];

static void set_traffic(size_t i, const char *kind, uint64_t messages, uint64_t bytes)
{
  traffic[i] = (Sfproto__PeerTraffic)SFPROTO__PEER_TRAFFIC__INIT;
  traffic[i].kind = sftest_print_word(kind);
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
  peer_info.description = sftest_print_word("node 2 (tcp h\x1b:7411)");
  peer_info.state = sftest_print_word("open");
  peer_info.frames_sent = 5;
  peer_info.frames_received = 60;
  peer_info.wire_sent = 2000;
  peer_info.wire_received = UINT64_MAX;
  peer_info.queued_messages = 3;
  peer_info.queued_bytes = 1536;
  peer_info.has_send_queue_bytes = peer_info.has_rtt_us = peer_info.has_retransmits = peer_info.has_busy_us = true;
  peer_info.send_queue_bytes = 1 << 20;
  peer_info.rtt_us = 123;
  peer_info.retransmits = 17;
  peer_info.busy_us = 4500000;
  message.body_case = SFPROTO__MESSAGE__BODY_PEER_INFO;
  message.peer_info = &peer_info;
}

SFTEST_FIXTURE(sftest_print_setup, NULL);

/* Kinds that are neither data nor credits are counted together, also those of a later daemon. */
SFTEST(peers)
{
  set_peer();
  set_traffic(0, "control", 1, 100);
  set_traffic(1, "plan", 2, 0);
  set_traffic(2, "data", 4, 1000);
  set_traffic(3, "credit", 3, 0);
  set_traffic(4, "new", 1, 0);
  peer_info.traffic = traffic_pointers;
  peer_info.n_traffic = 5;
  sftest_print_expect_text(
      SFPROTO__QUERY__WHAT__PEERS, false,
      "NODE  PEER                     STATE       QUEUED    SENDQ       RTT  RETRANS   BUSY  MESSAGES              WIRE"
      "          PAYLOAD  FRAMES  DATA  CREDIT  CONTROL\n"
      "   2  node 2 (tcp h\\x1b:7411)  open   3 (1.5 KiB)  1.0 MiB  0.123 ms       17  4.5 s    11/110  2.0 KiB/16.0 "
      "EiB  1.1 KiB/2.1 KiB"
      "    5/60  4/40    3/30     4/40\n");
  peer_info.has_retransmits = false;
  peer_info.n_traffic = 1;
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__PEERS,
      "[\n{\"node\":2,\"description\":\"node 2 (tcp h\\u001b:7411)\",\"state\":\"open\",\"traffic\":["
      "{\"kind\":\"control\",\"messages_sent\":1,\"messages_received\":10,\"payload_sent\":100,"
      "\"payload_received\":200}],\"frames_sent\":5,\"frames_received\":60,\"wire_sent\":2000,"
      "\"wire_received\":18446744073709551615,\"queued_messages\":3,\"queued_bytes\":1536,"
      "\"send_queue_bytes\":1048576,\"rtt_us\":123,\"retransmits\":null,\"busy_us\":4500000}\n]\n");
}

static Sfproto__PlanSide sides[2];
static Sfproto__PlanSide *side_pointers[2] = {&sides[0], &sides[1]};

static void set_plan(void)
{
  plan_info = (Sfproto__PlanInfo)SFPROTO__PLAN_INFO__INIT;
  plan_info.graph = 9;
  plan_info.job_id = 7;
  plan_info.job = sftest_print_word("c\ng");
  plan_info.size = 8;
  plan_info.state = sftest_print_word("ready");
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
SFTEST(plan)
{
  set_plan();
  set_sides();
  sftest_print_expect_text(
      SFPROTO__QUERY__WHAT__PLAN, false,
      "graph 9 of job c\\ng: ready, 8 ranks, seen from node 1\n"
      "NODE  HERE    MEMBERS  BCAST  REDUCE      VALUES  REDUCED  BEFORE  CONTIGUOUS  BOXES  SENT  RECEIVED\n"
      "   0  roots         2  1 out    1 in  5000000000        6       -         99%    10%    11         0\n"
      "   2  leaves        3   1 in   1 out        1000     1000    3000        100%      -     0        12\n");
  sftest_print_expect_json(
      SFPROTO__QUERY__WHAT__PLAN,
      "{\"graph\":9,\"job_id\":7,\"job\":\"c\\ng\",\"size\":8,\"state\":\"ready\",\"node\":1,\"sides\":["
      "{\"node\":0,\"here\":\"roots\",\"members\":2,\"bcast_messages\":1,\"bcast_values\":5000000000,"
      "\"reduce_messages\":1,\"reduce_values\":6,\"values_before\":null,"
      "\"contiguous_values\":4999999999,\"box_values\":500000000,\"messages_sent\":11,\"messages_received\":0},"
      "{\"node\":2,\"here\":\"leaves\",\"members\":3,\"bcast_messages\":1,\"bcast_values\":1000,"
      "\"reduce_messages\":1,\"reduce_values\":1000,\"values_before\":3000,\"contiguous_values\":3000,"
      "\"box_values\":null,\"messages_sent\":0,\"messages_received\":12}]}\n");
}

SFTEST(plan_in_several_messages)
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

SFTEST(plan_without_edges_to_other_nodes)
{
  const sfreport_list_t nothing = {0};
  set_plan();
  sftest_print_expect_text(SFPROTO__QUERY__WHAT__PLAN, false,
                           "graph 9 of job c\\ng: ready, 8 ranks, seen from node 1\n"
                           "no edges between this node and others\n");
  sftest_print_expect_json(SFPROTO__QUERY__WHAT__PLAN,
                           "{\"graph\":9,\"job_id\":7,\"job\":\"c\\ng\",\"size\":8,\"state\":\"ready\",\"node\":1,"
                           "\"sides\":[]}\n");
  ck_assert_int_eq(sfctl_print_text(SFPROTO__QUERY__WHAT__PLAN, &nothing, &plain, stdout), SF_ERR_PROTO);
  ck_assert_int_eq(sfctl_print_json(SFPROTO__QUERY__WHAT__PLAN, &nothing, &plain, stdout), SF_ERR_PROTO);
}

/* ---- Pictures ---- */

/* Every text that begins at the left ends before that limit, if a letter takes 6 pixels. */
static void expect_room(const char *svg, const char *begin, int limit)
{
  int x;
  ck_assert_msg((svg = strstr(svg, begin)) != NULL, "no %s", begin);
  for (; svg != NULL; svg = strstr(svg + 1, begin)) {
    const char *text = strchr(svg, '>') + 1;
    ck_assert_int_eq(sscanf(svg, "<text x=\"%d\"", &x), 1);
    ck_assert_msg(x + 6 * (int)strcspn(text, "<") <= limit, "beyond %d pixels: %.120s", limit, svg);
  }
}

static void expect_picture(const char *job, uint64_t lowest, uint64_t highest)
{
  sfctl_flow_t flows[2] = {{.to = {.number = 1}, .messages = lowest}, {.from = {.number = 1}, .messages = highest}};
  sfctl_traffic_t sent = {.flows = flows, .nflows = 2};
  char *svg;
  size_t length;
  int width, bar;
  strcpy(sent.job, job);
  FILE *file = open_memstream(&svg, &length);
  ck_assert_int_eq(sfctl_matrix_print_svg(&sent, &(sfctl_matrix_style_t){.messages = true}, file), SF_OK);
  fclose(file);
  ck_assert_int_eq(sscanf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\"", &width), 1);
  char *caption = strstr(svg, "<text x=\"4\"");
  ck_assert_ptr_nonnull(caption);
  expect_room(caption, "<text x=", width);
  ck_assert_int_eq(sscanf(strstr(caption, "<rect"), "<rect x=\"%d\"", &bar), 1);
  *strstr(caption, "<g ") = '\0'; /* the text before ends at the bar */
  expect_room(strstr(caption, "a row sends"), "<text x=\"4\"", bar);
  free(svg);
}

SFTEST(captions_of_pictures)
{
  expect_picture("a", 1, 2);
  expect_picture("a", 1, 12345678);
  expect_picture("a", 123456789012, 1234567890123);
  expect_picture("a_job_of_the_longest_name_that_fits_into_its_63_characters_ABCD", 1, 2);
}
