/* What the user of a tcp fabric can't use before all of it is here gathers with the kernel, and neither the last of it,
 * nor what follows, nor the end of the stream waits for more. */
#include "tests/unit/tcp_cluster.h"

#define FIRST 1u    /* byte with which the fabric learns how many are due */
#define DUE 150000u /* that follow */
#define BITE 20000u /* not worth a turn of the loop while many more are due */
#define TURNS 200   /* of the loop, in which bytes would come that should not */

static uint64_t goal;

static const sftest_tcp_end_t *receiver(void)
{
  return sftest_tcp_end(1, 0);
}

static bool are_up(void)
{
  return receiver()->up && sftest_tcp_end(0, 1)->up;
}

static bool has_goal(void)
{
  return receiver()->got == goal;
}

/* The other node's kernel has all that was sent. */
static bool is_acknowledged(void)
{
  sfd_fabric_link_t link;
  sfd_fabric_t *fabric = sftest_tcp.nodes[0].fabric;
  return !sftest_tcp_end(0, 1)->sending && sftest_tcp_end(0, 1)->to_send == 0 &&
         fabric->functions->link(fabric, 1, &link) && link.send_queue_bytes == 0;
}

/* All of it arrives, and nothing may be told of it. */
static void keep(void)
{
  while (!is_acknowledged())
    sftest_tcp_take_turns(1);
  sftest_tcp_take_turns(TURNS);
}

static void expect_until(uint64_t position)
{
  goal = position;
  sftest_tcp_run_until(has_goal);
}

/* The first byte has arrived, and so many of those that are due that it is not worth telling. */
static void begin_gathering(void)
{
  sftest_tcp_create_all(2);
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(are_up);
  sftest_tcp_end(1, 0)->awaited = FIRST + DUE;
  sftest_tcp_send(0, 1, FIRST);
  expect_until(FIRST);
  sftest_tcp_send(0, 1, BITE);
  keep();
  ck_assert_uint_eq(receiver()->got, FIRST);
}

SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

SFTEST(large_payload_gathers)
{
  begin_gathering();
  sftest_tcp_send(0, 1, DUE - BITE);
  expect_until(FIRST + DUE);
  sftest_tcp_send(0, 1, 1); /* of which nothing is known */
  expect_until(FIRST + DUE + 1);
}

/* Whatever was awaited: the rest is as many bytes as are missing, and not one more. */
SFTEST(last_part_comes_at_once)
{
  begin_gathering();
  sftest_tcp_send(0, 1, DUE - BITE - 1);
  keep();
  sftest_tcp_send(0, 1, 1);
  expect_until(FIRST + DUE);
}

static bool is_down(void)
{
  return receiver()->ndowns > 0;
}

SFTEST(end_of_stream_is_told_at_once)
{
  begin_gathering();
  sftest_tcp_close(0);
  sftest_tcp_run_until(is_down);
}
