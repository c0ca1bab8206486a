/* What sfctl peers --json says, as sfperf reads it. */
#include "tools/sfperf/daemon.h"

#include "tests/unit/runner.h"

#define PEER(sent, bytes)                                                                                              \
  "{\"node\":1,\"description\":\"node 1\",\"state\":\"open\",\"traffic\":["                                            \
  "{\"kind\":\"control\",\"messages_sent\":10,\"messages_received\":11,\"payload_sent\":213,\"payload_received\":3},"  \
  "{\"kind\":\"data\",\"messages_sent\":" sent ",\"messages_received\":7,\"payload_sent\":" bytes                      \
  ",\"payload_received\":5},{\"kind\":\"credit\",\"messages_sent\":1,\"payload_sent\":2}],\"wire_sent\":9}"

SFTEST(adds_up_peers)
{
  sfperf_traffic_t traffic;
  ck_assert(sfperf_daemon_parse("[\n" PEER("15374", "17218496") ",\n" PEER("1", "8") "\n]\n", &traffic));
  ck_assert_uint_eq(traffic.messages, 15375);
  ck_assert_uint_eq(traffic.payload, 17218504);
}

/* A request and its data are one message. */
SFTEST(adds_up_arrays)
{
  sfperf_traffic_t traffic;
  ck_assert(sfperf_daemon_parse("[{\"kind\":\"array\",\"messages_sent\":7,\"payload_sent\":900},"
                                "{\"kind\":\"array-data\",\"messages_sent\":5,\"payload_sent\":50000},"
                                "{\"kind\":\"array-done\",\"messages_sent\":3,\"payload_sent\":24}]",
                                &traffic));
  ck_assert_uint_eq(traffic.messages, 10);
  ck_assert_uint_eq(traffic.payload, 50924);
}

SFTEST(no_peers_is_no_traffic)
{
  sfperf_traffic_t traffic = {1, 1};
  ck_assert(sfperf_daemon_parse("[\n]\n", &traffic));
  ck_assert_uint_eq(traffic.messages, 0);
  ck_assert_uint_eq(traffic.payload, 0);
}

SFTEST(refuses_something_else)
{
  sfperf_traffic_t traffic;
  ck_assert(!sfperf_daemon_parse("", &traffic));
  ck_assert(!sfperf_daemon_parse("usage: sfctl", &traffic));
  ck_assert(!sfperf_daemon_parse("[\n{\"kind\":\"data\",\"sent\":1}]", &traffic));
  ck_assert(!sfperf_daemon_parse("[\n{\"kind\":\"data\",\"messages_sent\":x,\"payload_sent\":1}]", &traffic));
}
