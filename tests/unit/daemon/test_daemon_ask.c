/* Questions of other nodes, as they should be and as they should not. */
#include "daemon/admin/remote_answer.h"

#include "daemon/admin/trace.h"
#include "proto/sf_control.pb-c.h"
#include "tests/unit/daemon_graphs.h"
#include "tests/unit/runner.h"

/* What was told, as far as it matters here. */
static struct {
  int times;
  size_t nmessages;
  bool more;
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
  told_.more = told->next != NULL;
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
