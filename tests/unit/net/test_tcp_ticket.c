/* Peers that prove by MUNGE that they belong, with a stand-in for MUNGE that does what it is told, so that everything
 * can be seen that a real one does rarely: refusals of all kinds, and answers that take their time. */
#include "daemon/net/fabric/tcp/ticket.h"

#include <endian.h>
#include <semaphore.h>

#include "shm/base/error.h"
#include "tests/unit/tcp_stranger.h"

/* ---- The stand-in: its credentials are their contents, in letters ---- */

static struct {
  _Atomic(sfd_munge_result_t) seals, opens; /* what it answers */
  uid_t sealer;
  atomic_bool slow; /* it waits for its turn */
  sem_t asked, turn;
} munge;

static void take_turn(void)
{
  if (!munge.slow)
    return;
  sem_post(&munge.asked);
  while (sem_wait(&munge.turn) != 0)
    continue;
}

static sfd_munge_result_t stand_in_seal(sfd_munge_letter_t *letter)
{
  take_turn();
  if (2 * letter->nbytes >= letter->text_size || letter->uid != geteuid())
    abort();
  snprintf(letter->detail, sizeof letter->detail, "the stand-in makes none");
  for (size_t i = 0; i < letter->nbytes; i++)
    snprintf(letter->text + 2 * i, 3, "%02x", ((const uint8_t *)letter->contents)[i]);
  return munge.seals;
}

static sfd_munge_result_t stand_in_open(sfd_munge_letter_t *letter)
{
  take_turn();
  for (size_t i = 0; i < letter->nbytes; i++)
    if (sscanf(letter->text + 2 * i, "%2hhx", (uint8_t *)letter->contents + i) != 1)
      return SFD_MUNGE_INVALID;
  letter->uid = munge.sealer;
  return munge.opens;
}

static const sfd_munge_t stand_in = {.seal = stand_in_seal, .open = stand_in_open};

static void setup(void)
{
  sftest_tcp_setup();
  munge.seals = munge.opens = SFD_MUNGE_OK;
  munge.slow = false;
  munge.sealer = geteuid();
  sem_init(&munge.asked, 0, 0);
  sem_init(&munge.turn, 0, 0);
}

static void teardown(void)
{
  sftest_tcp_teardown();
  sem_destroy(&munge.asked);
  sem_destroy(&munge.turn);
}

SFTEST_FIXTURE(setup, teardown);

static sfd_tcp_options_t options_of(int node, int nnodes)
{
  sfd_tcp_options_t options = sftest_tcp_options(node, nnodes);
  options.key_file = NULL;
  options.munge = &stand_in;
  options.connect_timeout_ms = 50; /* one attempt, for those who would try again */
  return options;
}

static void create(int nnodes)
{
  sftest_tcp.nnodes = nnodes;
  for (int i = 0; i < nnodes; i++) {
    sfd_tcp_options_t options = options_of(i, nnodes);
    options.connect_timeout_ms = 0;
    sftest_tcp_create(i, &options);
  }
}

static void create_pair(void)
{
  sfd_tcp_options_t zero = options_of(0, 2), one = options_of(1, 2);
  sftest_tcp_create_pair(&zero, &one);
}

/* ---- Peers ---- */

SFTEST(all_connect_to_all)
{
  create(4);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (i != j)
        sftest_tcp_connect(i, j);
  sftest_tcp_run_until(sftest_tcp_all_up);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (i != j)
        sftest_tcp_send(i, j, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
}

SFTEST_FOR(refusals_say_why, 8)
{
  static const struct {
    sfd_munge_result_t seals, opens;
    uid_t sealer;
    sf_status_t status;
    const char *words;
  } cases[] = {
      {SFD_MUNGE_UNREACHABLE, SFD_MUNGE_OK, 0, SF_ERR_SYS, "the stand-in makes none"},
      {SFD_MUNGE_OK, SFD_MUNGE_UNREACHABLE, 0, SF_ERR_SYS, "its munged does not answer"},
      {SFD_MUNGE_OK, SFD_MUNGE_INVALID, 0, SF_ERR_PERM, "MUNGE keys of the hosts differ"},
      {SFD_MUNGE_OK, SFD_MUNGE_EXPIRED, 0, SF_ERR_PERM, "expired: the clocks"},
      {SFD_MUNGE_OK, SFD_MUNGE_REWOUND, 0, SF_ERR_PERM, "of the future: the clocks"},
      {SFD_MUNGE_OK, SFD_MUNGE_REPLAYED, 0, SF_ERR_PERM, "used before"},
      {SFD_MUNGE_OK, SFD_MUNGE_FOREIGN, 0, SF_ERR_PERM, "another user"},
      {SFD_MUNGE_OK, SFD_MUNGE_OK, 1, SF_ERR_PERM, "another user"},
  };
  char peer[64];
  create_pair();
  munge.seals = cases[_i].seals;
  munge.opens = cases[_i].opens;
  munge.sealer += cases[_i].sealer;
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, cases[_i].status, cases[_i].words);
  snprintf(peer, sizeof peer, "node 1 (tcp 127.0.0.1:%u) ", sftest_tcp.ports[1]);
  ck_assert_ptr_eq(strstr(sftest_tcp_end(0, 1)->detail, peer), sftest_tcp_end(0, 1)->detail);
}

static bool is_up(void)
{
  return sftest_tcp_end(0, 1)->up && sftest_tcp_end(1, 0)->up;
}

/* What munged can't do now it may do later: the peer is tried again. */
SFTEST_FOR(munged_comes_back, 2)
{
  create(2);
  munge.seals = _i == 0 ? SFD_MUNGE_UNREACHABLE : SFD_MUNGE_OK;
  munge.opens = _i == 0 ? SFD_MUNGE_OK : SFD_MUNGE_UNREACHABLE;
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_for(0.1);
  ck_assert(!is_up());
  munge.seals = munge.opens = SFD_MUNGE_OK;
  sftest_tcp_run_until(is_up);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->ndowns, 0);
}

SFTEST(one_has_a_key_file)
{
  sfd_tcp_options_t zero = options_of(0, 2), one = sftest_tcp_options(1, 2);
  sftest_tcp_create_pair(&zero, &one);
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, SF_ERR_PERM, "one has a key file");
  sftest_tcp_connect(1, 0);
  sftest_tcp_expect_failure(1, 0, SF_ERR_PERM, "one has a key file");
}

SFTEST(munge_is_needed_at_the_start)
{
  sfd_tcp_options_t options = options_of(0, 2);
  sfd_fabric_t *fabric;
  munge.seals = SFD_MUNGE_UNREACHABLE;
  ck_assert_int_eq(sfd_tcp_create(&sftest_tcp.loop, &options, &fabric), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "the stand-in makes none"));
}

/* ---- Answers that take their time ---- */

static bool is_asked(void)
{
  return sem_trywait(&munge.asked) == 0;
}

/* The loop does not see that. */
static void run_until_asked(void)
{
  while (!is_asked())
    sftest_tcp_run_for(0.005);
}

/* While munged holds up an answer, to who seals or to who opens, the loop serves others. */
SFTEST_FOR(nobody_else_waits, 2)
{
  create(3);
  sftest_tcp.nnodes = 2;
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(is_up);
  munge.slow = true;
  sftest_tcp_connect(0, 2);
  run_until_asked();
  if (_i == 1) {
    sem_post(&munge.turn);
    run_until_asked();
  }
  sftest_tcp_send(0, 1, 100000);
  sftest_tcp_send(1, 0, 100000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
  ck_assert(!sftest_tcp_end(0, 2)->up);
  munge.slow = false;
  sem_post(&munge.turn);
  sftest_tcp.nnodes = 3;
  sftest_tcp_connect(1, 2);
  sftest_tcp_run_until(sftest_tcp_all_up);
}

static bool has_ended(void)
{
  return sftest_tcp_end(0, 1)->ndowns > 0;
}

/* An attempt that takes too long is made again, however slow the machine is. */
static bool is_up_some_time(void)
{
  static int ndowns;
  if (sftest_tcp_end(0, 1)->ndowns > ndowns) {
    ndowns = sftest_tcp_end(0, 1)->ndowns;
    sftest_tcp_connect(0, 1);
  }
  return is_up();
}

/* An answer that takes too long is not waited for; nor does a later question pass it. */
SFTEST(munged_that_hangs)
{
  create_pair();
  munge.slow = true;
  sftest_tcp_connect(0, 1);
  sftest_tcp_run_until(has_ended);
  sftest_tcp_expect_failure(0, 1, SF_ERR_TIMEOUT, "MUNGE takes too long");
  ck_assert(!is_up_some_time()); /* it waits behind the first */
  run_until_asked();
  sftest_tcp_run_for(0.05);
  ck_assert(!is_asked());
  munge.slow = false;
  sem_post(&munge.turn);
  sftest_tcp_run_until(is_up_some_time);
}

static bool is_closed(void)
{
  return sftest_tcp.nodes[0].closed;
}

/* One question is under way and others wait: closing waits for the one answer. */
SFTEST_FOR(closing_meanwhile, 2)
{
  create(3);
  munge.slow = true;
  sftest_tcp_connect(0, 1);
  sftest_tcp_connect(0, 2);
  run_until_asked();
  if (_i == 1)
    sftest_tcp.nodes[0].fabric->functions->disconnect(sftest_tcp.nodes[0].fabric, 2);
  sftest_tcp.nodes[0].fabric->functions->close(sftest_tcp.nodes[0].fabric);
  sftest_tcp_run_for(0.05);
  ck_assert(!is_closed() && !is_asked());
  munge.slow = false;
  sem_post(&munge.turn);
  sftest_tcp_run_until(is_closed);
  sftest_tcp_destroy(0);
}

/* ---- Strangers ---- */

/* A hello of node 1 to node 0, its ticket, and the answer's refusal. */
static sfd_tcp_refusal_t show(const sfd_tcp_hello_t *hello, const char *ticket, sfd_tcp_challenge_t *challenge,
                              int *fd_p)
{
  *fd_p = sftest_tcp_stranger(0);
  sftest_tcp_say(*fd_p, hello, sizeof *hello);
  if (ticket[0] != '\0')
    sftest_tcp_say(*fd_p, ticket, strlen(ticket));
  sftest_tcp_hear(*fd_p, challenge, sizeof *challenge);
  return le32toh(challenge->refusal);
}

static void expect_refusal(uint32_t ticket_bytes, const char *ticket, sfd_tcp_refusal_t refusal)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  int fd;
  sftest_tcp_hello(&hello, 1, 0, 2);
  hello.ticket_bytes = htole32(ticket_bytes);
  ck_assert_int_eq(show(&hello, ticket, &challenge, &fd), refusal);
  sftest_tcp_expect_thrown_out(fd);
}

SFTEST(strangers_are_refused)
{
  char longest[SFD_TCP_TICKET_MAX + 1];
  memset(longest, 'x', sizeof longest);
  longest[SFD_TCP_TICKET_MAX] = '\0';
  create(2);
  expect_refusal(0, "", SFD_TCP_OTHER_PROOF);
  expect_refusal(1, "x", SFD_TCP_BAD_TICKET);
  expect_refusal(SFD_TCP_TICKET_MAX, longest, SFD_TCP_BAD_TICKET);
  expect_refusal(SFD_TCP_TICKET_MAX + 1, "", SFD_TCP_BAD_TICKET);
  expect_refusal(UINT32_MAX, "", SFD_TCP_BAD_TICKET);
}

/* As the fabric itself makes one. */
typedef struct letter {
  sfd_tcp_ticket_t ticket;
  sfd_tcp_hello_t hello;
} letter_t;

static void seal_for(letter_t *letter, const char *purpose, int32_t to)
{
  memset(letter, 0, sizeof *letter);
  sftest_tcp_hello(&letter->hello, 1, to, 2);
  memcpy(letter->ticket.contents.purpose, purpose, sizeof letter->ticket.contents.purpose);
  letter->ticket.contents.hello = letter->hello;
  memset(&letter->ticket.contents.key, 'k', sizeof letter->ticket.contents.key);
  sfd_munge_letter_t sealed = {.uid = geteuid(),
                               .contents = &letter->ticket.contents,
                               .nbytes = sizeof letter->ticket.contents,
                               .text = letter->ticket.text,
                               .text_size = sizeof letter->ticket.text};
  ck_assert_int_eq(stand_in.seal(&sealed), SFD_MUNGE_OK);
  letter->hello.ticket_bytes = htole32((uint32_t)strlen(letter->ticket.text));
}

/* A ticket is good for its own connection only, and only who knows what is in it gets through with it. */
SFTEST(tickets_of_others)
{
  letter_t own, other;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
  uint32_t verdict;
  int fd;
  create(2);
  seal_for(&own, "sfd tcp ticket 1", 0);
  seal_for(&other, "sfd tcp ticket 1", 0);
  ck_assert_int_eq(show(&own.hello, other.ticket.text, &challenge, &fd), SFD_TCP_BAD_TICKET); /* of another nonce */
  sftest_tcp_expect_thrown_out(fd);
  seal_for(&other, "sfd tcp ticket 2", 0);
  ck_assert_int_eq(show(&other.hello, other.ticket.text, &challenge, &fd), SFD_TCP_BAD_TICKET);
  sftest_tcp_expect_thrown_out(fd);
  seal_for(&other, "sfd tcp ticket 1", 1);
  other.hello.to = htole32(0); /* for another node */
  ck_assert_int_eq(show(&other.hello, other.ticket.text, &challenge, &fd), SFD_TCP_BAD_TICKET);
  sftest_tcp_expect_thrown_out(fd);

  ck_assert_int_eq(show(&own.hello, own.ticket.text, &challenge, &fd), SFD_TCP_WELCOME);
  ck_assert(sfd_tcp_challenge_is_true(&challenge, &own.ticket.contents.key, &own.hello));
  memset(&proof, 0, sizeof proof);
  sftest_tcp_say(fd, &proof, sizeof proof);
  sftest_tcp_expect_thrown_out(fd);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 0);

  ck_assert_int_eq(show(&own.hello, own.ticket.text, &challenge, &fd), SFD_TCP_WELCOME);
  sfd_tcp_proof_make(&proof, &own.ticket.contents.key, &own.hello, &challenge);
  sftest_tcp_say(fd, &proof, sizeof proof);
  sftest_tcp_hear(fd, &verdict, sizeof verdict);
  ck_assert_int_eq(sftest_tcp_end(0, 1)->nups, 1);
  close(fd);
  sftest_tcp_run_until(has_ended);
}
