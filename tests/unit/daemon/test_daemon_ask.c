/* Questions of other nodes, as they should be and as they should not. */
#include "daemon/admin/remote_answer.h"

#include "daemon/admin/trace.h"
#include "proto/sf_control.pb-c.h"
#include "tests/unit/daemon_graphs.h"

/* What was told, as far as it matters here. */
static struct {
  int times;
  size_t nmessages;
  size_t bytes;
  bool more;
  Sfpeer__Cursor next;
  int32_t status;
  char detail[512];
} told_;

static void setup(void)
{
  sftest_daemon_start(&daemon_);
}

static void teardown(void)
{
  sftest_daemon_settle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

SFTEST_FIXTURE(setup, teardown);

static void take(void *context, const Sfpeer__Told *told)
{
  (void)context;
  memset(&told_, 0, sizeof told_);
  told_.times++;
  told_.nmessages = told->n_messages;
  for (size_t i = 0; i < told->n_messages; i++)
    told_.bytes += told->messages[i].len;
  told_.more = told->next != NULL;
  told_.next = told->next != NULL ? *told->next : (Sfpeer__Cursor)SFPEER__CURSOR__INIT;
  told_.status = told->has_status ? told->status : SF_OK;
  snprintf(told_.detail, sizeof told_.detail, "%s", told->detail != NULL ? told->detail : "");
}

static void ask_raw(uint32_t uid, void *question, size_t length, Sfpeer__Cursor *from)
{
  Sfpeer__Ask ask = SFPEER__ASK__INIT;
  ask.request = 1;
  ask.uid = uid;
  ask.question = (ProtobufCBinaryData){length, question};
  ask.from = from;
  told_.times = 0;
  sfd_remote_answer_here(daemon_.server, &ask, take, NULL);
  ck_assert_int_eq(told_.times, 1);
}

static void ask(uint32_t uid, Sfproto__Query__What what, Sfpeer__Cursor *from)
{
  uint8_t packed[128];
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  query.what = what;
  message.body_case = SFPROTO__MESSAGE__BODY_QUERY;
  message.query = &query;
  ask_raw(uid, packed, sfproto__message__pack(&message, packed), from);
}

SFTEST(what_is_told)
{
  sftest_client_t clients[3];
  sftest_join_all(&daemon_, clients, "job", 3);
  sftest_ring(clients, 3);
  ask(getuid(), SFPROTO__QUERY__WHAT__RANKS, NULL);
  ck_assert(told_.status == SF_OK && told_.nmessages == 3 && !told_.more);
  ask(getuid(), SFPROTO__QUERY__WHAT__GRAPHS, NULL);
  ck_assert(told_.status == SF_OK && told_.nmessages == 1);
  ask(getuid() + 17, SFPROTO__QUERY__WHAT__RANKS, NULL); /* not that user's */
  ck_assert(told_.status == SF_OK && told_.nmessages == 0);
  ask(getuid(), SFPROTO__QUERY__WHAT__PLAN, NULL);
  ck_assert_int_eq(told_.status, SF_ERR_NOT_FOUND);
  sftest_drop_all(clients, 3);
}

#define NWHATS 64

static void ask_all(uint32_t uid, size_t bytes[NWHATS])
{
  ck_assert_uint_le(sfproto__query__what__descriptor.n_values, NWHATS);
  for (unsigned what = 0; what < sfproto__query__what__descriptor.n_values; what++) {
    Sfpeer__Cursor from = SFPEER__CURSOR__INIT;
    ask(uid, (Sfproto__Query__What)sfproto__query__what__descriptor.values[what].value, NULL);
    bytes[what] = told_.bytes;
    while (told_.more) {
      from = told_.next;
      ask(uid, (Sfproto__Query__What)sfproto__query__what__descriptor.values[what].value, &from);
      bytes[what] += told_.bytes;
    }
  }
}

/* Whatever another user asks, the answer is as long as without jobs; events of a job are for its user. */
SFTEST(others_jobs)
{
  size_t before[NWHATS], after[NWHATS], owner[NWHATS];
  uint32_t stranger = getuid() + 17;
  sftest_client_t clients[3];
  ck_assert_int_eq(sfd_trace_start(daemon_.server), SF_OK);
  ask_all(stranger, before);
  sftest_join_all(&daemon_, clients, "job", 3);
  sfd_job_t *job = TAILQ_FIRST(&daemon_.server->jobs->list);
  const sfd_message_head_t head = {.job = job->id, .object = sftest_ring(clients, 3)};
  sfd_event_ring_add_message(SFSHM_TRACE_ARRIVE, 1, &head, 1);
  sfd_event_ring_add_frame(SFSHM_TRACE_FRAME_IN, 1, 1, 1, 8, 0);
  ask_all(stranger, after);
  for (unsigned what = 0; what < sfproto__query__what__descriptor.n_values; what++)
    ck_assert_msg(after[what] == before[what], "%s: %zu bytes without jobs, %zu with the job of another user",
                  sfproto__query__what__descriptor.values[what].name, before[what], after[what]);
  job->uid = stranger;
  ask_all(stranger, owner);
  unsigned trace =
      (unsigned)(protobuf_c_enum_descriptor_get_value(&sfproto__query__what__descriptor, SFPROTO__QUERY__WHAT__TRACE) -
                 sfproto__query__what__descriptor.values);
  ck_assert_uint_ge(owner[trace], before[trace] + sizeof(sfshm_trace_record_t));
  job->uid = getuid();
  sftest_drop_all(clients, 3);
}

/* From anywhere: nothing is read that is not there. */
SFTEST(cursors)
{
  static const int32_t ranks[] = {-1, -SFD_TRACES_KEPT, -SFD_TRACES_KEPT - 1, INT32_MIN, 2, 3, 4, 1000000, INT32_MAX};
  sftest_client_t clients[3];
  sftest_join_all(&daemon_, clients, "job", 3);
  sftest_ring(clients, 3);
  for (unsigned what = 0; what < sfproto__query__what__descriptor.n_values; what++)
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
      for (uint64_t job = 0; job < 4; job++) {
        Sfpeer__Cursor from = SFPEER__CURSOR__INIT;
        from.job = job;
        from.graph = job;
        from.rank = ranks[i];
        from.count = 1;
        Sfproto__Query__What asked = (Sfproto__Query__What)sfproto__query__what__descriptor.values[what].value;
        int32_t least = asked == SFPROTO__QUERY__WHAT__TRACE ? -SFD_TRACES_KEPT : 0;
        ask(getuid(), asked, &from);
        ck_assert(ranks[i] >= least || told_.status < SF_OK);
        ck_assert_uint_le(told_.nmessages, 100);
      }
  sftest_drop_all(clients, 3);
}

SFTEST(nonsense)
{
  uint8_t bytes[] = {0xff, 0x01, 0x02}, packed[64];
  Sfproto__Goodbye goodbye = SFPROTO__GOODBYE__INIT;
  Sfproto__Message message = SFPROTO__MESSAGE__INIT;
  ask_raw(getuid(), bytes, sizeof bytes, NULL);
  ck_assert_int_eq(told_.status, SF_ERR_PROTO);
  ask_raw(getuid(), bytes, 0, NULL);
  ck_assert_int_eq(told_.status, SF_ERR_PROTO);
  message.body_case = SFPROTO__MESSAGE__BODY_GOODBYE;
  message.goodbye = &goodbye;
  ask_raw(getuid(), packed, sfproto__message__pack(&message, packed), NULL);
  ck_assert_int_eq(told_.status, SF_ERR_PROTO);
  ask(getuid(), (Sfproto__Query__What)77, NULL);
  ck_assert_int_eq(told_.status, SF_ERR_UNSUPPORTED);
}
