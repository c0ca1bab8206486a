/* Traces: the ring under writers that overwrite, and what sfctl makes of events: flows, clocks, JSON. */
#include "tools/sfctl/trace/trace.h"

#include <pthread.h>

#include "shm/lane/message.h"
#include "tests/unit/runner.h"

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

static sfshm_trace_t *ring;

static void make_ring(void)
{
  ring = aligned_alloc(_Alignof(sfshm_trace_t), sizeof *ring);
  ck_assert_ptr_nonnull(ring);
  memset(ring, 0, sizeof *ring);
}

static void free_ring(void)
{
  free(ring);
}

/* All fields are functions of one number. */
static sfshm_trace_record_t record_of(uint64_t value)
{
  return (sfshm_trace_record_t){.begin_ns = value,
                                .end_ns = value + 1,
                                .graph = value * 3,
                                .sequence = value * 5,
                                .message = value * 7,
                                .bytes = value * 11,
                                .peer = (int32_t)value,
                                .kind = (uint8_t)value,
                                .flags = (uint8_t)(value >> 8),
                                .thread = (uint16_t)(value >> 16)};
}

static bool is_whole(const sfshm_trace_record_t *record)
{
  sfshm_trace_record_t expected = record_of(record->begin_ns);
  expected.number = record->number;
  return memcmp(record, &expected, sizeof expected) == 0;
}

static void write_values(uint64_t first, uint64_t n)
{
  for (uint64_t i = first; i < first + n; i++) {
    const sfshm_trace_record_t record = record_of(i);
    sfshm_trace_write(ring, &record);
  }
}

SFTEST_FIXTURE(make_ring, free_ring);

SFTEST(what_is_written_is_read)
{
  sfshm_trace_record_t records[10];
  uint64_t next = 0, lost = 0;
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 0);
  write_values(100, 15);
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 10);
  ck_assert_uint_eq(records[0].number, 1);
  ck_assert_uint_eq(records[9].begin_ns, 109);
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 5);
  ck_assert_uint_eq(records[4].begin_ns, 114);
  ck_assert(is_whole(&records[4]));
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 0);
  ck_assert_uint_eq(lost, 0);
}

SFTEST(the_oldest_go)
{
  sfshm_trace_record_t *records = calloc(SFSHM_TRACE_EVENTS, sizeof *records);
  uint64_t next = 5, lost = 0;
  write_values(1, SFSHM_TRACE_EVENTS + 1000);
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, SFSHM_TRACE_EVENTS, &lost), SFSHM_TRACE_EVENTS);
  ck_assert_uint_eq(lost, 1001 - 5);
  for (uint64_t i = 0; i < SFSHM_TRACE_EVENTS; i++)
    ck_assert(records[i].number == 1001 + i && records[i].begin_ns == 1001 + i && is_whole(&records[i]));
  free(records);
}

SFTEST(nonsense)
{
  sfshm_trace_record_t records[10];
  uint64_t next = 0, lost = 0;
  memset(ring, 0xff, sizeof *ring);
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 0);
  next = lost = 0;
  memset(ring, 0, sizeof *ring);
  ring->next = UINT64_MAX / 2;
  ck_assert_uint_eq(sfshm_trace_read(ring, &next, records, 10, &lost), 0);
  ck_assert_str_eq(sfshm_trace_kind_name(99), "?");
  ck_assert_str_eq(sfshm_trace_phase_name(99), "?");
}

#define WRITERS 2
#define WRITES 60000

static void *write_many(void *argument)
{
  write_values((uint64_t)(uintptr_t)argument, WRITES);
  return NULL;
}

/* Two threads write at full speed, and more than the ring holds; what is read is whole, and in order. */
SFTEST(writers_at_full_speed)
{
  static sfshm_trace_record_t records[1024];
  pthread_t threads[WRITERS];
  uint64_t next = 0, lost = 0, read = 0, last = 0;
  for (uintptr_t i = 0; i < WRITERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, (void *)(1000000 * (i + 1))), 0);
  do {
    uint32_t n = sfshm_trace_read(ring, &next, records, 1024, &lost);
    for (uint32_t i = 0; i < n; i++) {
      ck_assert(is_whole(&records[i]));
      ck_assert_uint_gt(records[i].number, last);
      last = records[i].number;
    }
    read += n;
  } while (next <= WRITERS * WRITES);
  for (int i = 0; i < WRITERS; i++)
    pthread_join(threads[i], NULL);
  ck_assert_uint_eq(read + lost, WRITERS * WRITES);
}

/* ---- What sfctl makes of it -------------------------------------------------------------------------------------- */

static sfctl_trace_t trace;
static char text[1 << 16];

static void clear_trace(void)
{
  sfctl_trace_clear(&trace);
}

static void tell(uint64_t job_id, int32_t rank, int32_t node, const sfshm_trace_record_t records[], size_t n)
{
  char job[] = "cg", program[] = "a\"b", place[] = "cg.c:7";
  Sfproto__Place where = SFPROTO__PLACE__INIT, *places[] = {&where};
  Sfproto__TraceInfo info = SFPROTO__TRACE_INFO__INIT;
  where.graph = 5;
  where.place = place;
  info.job_id = job_id;
  info.rank = rank;
  info.node = node;
  info.job = job;
  info.program = program;
  info.now_ns = 1000000;
  info.places = places;
  info.n_places = 1;
  info.events = (ProtobufCBinaryData){n * sizeof records[0], (uint8_t *)(uintptr_t)records};
  ck_assert_int_eq(sfctl_trace_add(&trace, &info), SF_OK);
}

#define EVENT(k, b, e, p, m, f)                                                                                        \
  {                                                                                                                    \
    .kind = SFSHM_TRACE_##k, .begin_ns = b, .end_ns = e, .peer = p, .message = m, .flags = f, .graph = 5,              \
    .sequence = 1, .thread = 1                                                                                         \
  }

/* Rank 0 sends message 1 to rank 1 of its node; ranks 0 and 1 of node 0 pack message 3, the daemons carry it, rank 2 of
 * node 1 unpacks it. */
static void tell_scene(void)
{
  const sfshm_trace_record_t zero[] = {EVENT(SEND, 1000, 1100, 1, 1, 0),
                                       EVENT(SEND, 1200, 1300, 1, 3, SFSHM_TRACE_TO_NODE),
                                       EVENT(SEND, 1400, 1500, 1, 2, 0) /* nobody has unpacked it */};
  const sfshm_trace_record_t one[] = {EVENT(UNPACK, 1150, 1250, 0, 1, 0),
                                      EVENT(SEND, 1260, 1270, 1, 3, SFSHM_TRACE_TO_NODE)};
  const sfshm_trace_record_t two[] = {EVENT(UNPACK, 9000, 9100, 0, 3, SFSHM_TRACE_TO_NODE),
                                      EVENT(UNPACK, 9200, 9300, 0, 3, SFSHM_TRACE_TO_NODE | SFSHM_TRACE_REDUCE)};
  const sfshm_trace_record_t here[] = {EVENT(DEPART, 2000, 2000, 1, 3, SFSHM_TRACE_TO_NODE),
                                       EVENT(FRAME_OUT, 2100, 2200, 1, 1, SFSHM_TRACE_TO_NODE)};
  const sfshm_trace_record_t there[] = {EVENT(ARRIVE, 8000, 8000, 0, 3, SFSHM_TRACE_TO_NODE),
                                        EVENT(FRAME_IN, 7900, 7900, 0, 1, SFSHM_TRACE_TO_NODE)};
  tell(7, 0, 0, zero, 3);
  tell(7, 1, 0, one, 2);
  tell(7, 2, 1, two, 2);
  tell(0, -1, 0, here, 2);
  tell(0, -1, 1, there, 2);
}

static bool has_flow(const sfctl_flow_t flows[], size_t n, uint32_t from, uint64_t from_ns, uint32_t to, uint64_t to_ns)
{
  for (size_t i = 0; i < n; i++)
    if (flows[i].from.source == from && flows[i].from.record->begin_ns == from_ns && flows[i].to.source == to &&
        flows[i].to.record->begin_ns == to_ns)
      return true;
  return false;
}

SFTEST_FIXTURE(NULL, clear_trace);

SFTEST(flows)
{
  sfctl_flow_t *found;
  size_t n;
  tell_scene();
  ck_assert_int_eq(sfctl_trace_flows(&trace, &found, &n), SF_OK);
  ck_assert_uint_eq(n, 6);
  ck_assert(has_flow(found, n, 0, 1000, 1, 1150)); /* rank to rank */
  ck_assert(has_flow(found, n, 0, 1200, 3, 2000)); /* both ranks to their daemon */
  ck_assert(has_flow(found, n, 1, 1260, 3, 2000));
  ck_assert(has_flow(found, n, 3, 2000, 4, 8000)); /* daemon to daemon: the message, and the frame */
  ck_assert(has_flow(found, n, 3, 2100, 4, 7900));
  ck_assert(has_flow(found, n, 4, 8000, 2, 9000)); /* daemon to rank */
  free(found);
}

/* The clock of node 1 is 5800 to 6000 ns ahead at most, as the message says, and less than that is believed. */
SFTEST(clocks)
{
  const sfctl_clock_t far = {1, 100000, 50000}, near = {1, 50000, 20000}, own = {0, 0, 10};
  tell_scene();
  ck_assert_int_eq(sfctl_trace_add_clock(&trace, &own), SF_OK);
  ck_assert_int_eq(sfctl_trace_add_clock(&trace, &far), SF_OK);
  ck_assert_int_eq(sfctl_trace_add_clock(&trace, &near), SF_OK);
  ck_assert_uint_eq(sfctl_trace_time(&trace, 1, 60000), 10000);
  sfctl_trace_adjust_clocks(&trace, 0);
  ck_assert_uint_eq(sfctl_trace_time(&trace, 1, 7900), 2100);
  ck_assert_uint_eq(sfctl_trace_time(&trace, 0, 7900), 7900);
  ck_assert_uint_eq(sfctl_trace_time(&trace, 9, 7900), 7900);
}

static void print(void)
{
  FILE *file = fmemopen(text, sizeof text, "w");
  ck_assert_int_eq(sfctl_trace_print(&trace, file), SF_OK);
  fclose(file);
}

static int count(const char *wanted)
{
  int n = 0;
  for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++)
    n++;
  return n;
}

/* An operation that has ended, one whose beginning has been overwritten, one that is under way. */
SFTEST(operations)
{
  uint64_t desc = sfshm_desc_signature(SFSHM_CALL_BCAST, (sfshm_unit_t){SFSHM_BASE_DOUBLE, 1}, SFSHM_OP_REPLACE);
  sfshm_trace_record_t records[] = {EVENT(BEGIN, 1000, 1100, -1, desc, 0), EVENT(END, 1000, 1900, -1, desc, 0),
                                    EVENT(END, 1500, 1950, -1, desc, 0), EVENT(BEGIN, 1700, 1800, -1, desc, 0)};
  records[2].sequence = 2;
  records[3].sequence = 3;
  tell(7, 0, 0, records, 4);
  print();
  ck_assert_int_eq(count("\"ph\":\"b\""), 3);
  ck_assert_int_eq(count("\"ph\":\"e\""), 3);
  ck_assert_int_eq(count("\"in_flight\":true"), 1);
  ck_assert_int_eq(count("\"id\":\"1.5.2\""), 2);
  ck_assert_int_eq(count("\"ph\":\"X\""), 2);
  ck_assert_int_eq(count("\"name\":\"bcast(double, replace) cg.c:7\""), 8);
  ck_assert_int_eq(count("(a\\\"b, pid 0)"), 1); /* escaped */
  ck_assert_int_eq(count("\"ts\":0.000,"), 2);
  ck_assert_int_eq(count("\"dur\":0.100"), 2);
}

/* Operations on streams have numbers of their own, and tracks by graph; those of devices are apart. */
SFTEST(devices)
{
  uint64_t desc = sfshm_desc_signature(SFSHM_CALL_BCAST, (sfshm_unit_t){SFSHM_BASE_DOUBLE, 1}, SFSHM_OP_REPLACE);
  sfshm_trace_record_t records[] = {EVENT(BEGIN, 1000, 1100, -1, desc, 0),
                                    EVENT(END, 1000, 1900, -1, desc, 0),
                                    EVENT(BEGIN, 1000, 1010, -1, desc, SFSHM_TRACE_ON_STREAM),
                                    EVENT(END, 1000, 2000, -1, desc, SFSHM_TRACE_ON_STREAM),
                                    EVENT(DEVICE, 1200, 1300, -1, SFSHM_TRACE_WORK_TO_HOST, 0),
                                    EVENT(DEVICE, 1200, 1400, 3, SFSHM_TRACE_WORK_AWAIT, SFSHM_TRACE_ON_STREAM),
                                    EVENT(DEVICE, 1200, 1400, 3, 99, 0xff)};
  records[4].thread = 1;
  tell(7, 0, 0, records, 7);
  print();
  ck_assert_int_eq(count("\"id\":\"1.5.1\""), 2);
  ck_assert_int_eq(count("\"id\":\"1.5.s1\""), 2);
  ck_assert_int_eq(count("\"cat\":\"device\",\"name\":\"kernel to host\",\"pid\":1,\"tid\":100001,"), 1);
  ck_assert_int_eq(count("\"cat\":\"device\",\"name\":\"stream waits for rank 3\",\"pid\":1,\"tid\":200005,"), 1);
  ck_assert_int_eq(count("\"name\":\"? for node 3\""), 1);
  ck_assert_int_eq(count("{\"name\":\"device 1\"}"), 1);
  ck_assert_int_eq(count("{\"name\":\"device 1, streams of graph 5\"}"), 1);
}

SFTEST(nothing)
{
  print();
  ck_assert_int_eq(count("{\"traceEvents\":[\n"), 1);
  ck_assert_int_eq(count("\"events_lost\":0,\"clocks\":[]}}\n"), 1);
}

SFTEST(no_events)
{
  Sfproto__TraceInfo info = SFPROTO__TRACE_INFO__INIT;
  char none[] = "";
  info.job = info.program = none;
  info.events = (ProtobufCBinaryData){63, (uint8_t *)text};
  ck_assert_int_eq(sfctl_trace_add(&trace, &info), SF_ERR_PROTO);
}
