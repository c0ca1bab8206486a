/* Credentials of a real MUNGE: two munged with different keys run beside the test. */
#include <endian.h>
#include <limits.h>

#include "daemon/net/fabric/plugin.h"
#include "daemon/net/fabric/tcp/ticket.h"
#include "shm/base/error.h"
#include "tests/unit/munged.h"
#include "tests/unit/tcp_stranger.h"

static const sfd_munge_t *munge;
static sftest_munged_t ours, theirs;

static void start(void)
{
  sftest_munged_start(&ours, 'o');
  sftest_munged_start(&theirs, 't');
}

static void stop(void)
{
  sftest_munged_stop(&ours);
  sftest_munged_stop(&theirs);
}

/* ---- The library ---- */

static char contents[100], text[SFD_TCP_TICKET_MAX + 1];

static sfd_munge_letter_t letter_at(const sftest_munged_t *munged)
{
  return (sfd_munge_letter_t){.socket = munged->socket,
                              .uid = geteuid(),
                              .contents = contents,
                              .nbytes = sizeof contents,
                              .text = text,
                              .text_size = sizeof text};
}

static void seal(uid_t reader)
{
  sfd_munge_letter_t letter = letter_at(&ours);
  letter.uid = reader;
  memset(contents, 'c', sizeof contents);
  ck_assert_msg(munge->seal(&letter) == SFD_MUNGE_OK, "%s", letter.detail);
  memset(contents, 0, sizeof contents);
}

static void expect_open(sfd_munge_letter_t letter, sfd_munge_result_t result)
{
  ck_assert_msg(munge->open(&letter) == result, "not %d: %s", result, letter.detail);
  ck_assert_int_eq(letter.detail[0] == '\0', result == SFD_MUNGE_OK);
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, start, stop));

SFTEST(letters)
{
  sfd_munge_letter_t letter = letter_at(&ours);
  letter.uid = 12345; /* whatever was there */
  seal(geteuid());
  ck_assert_int_eq(munge->open(&letter), SFD_MUNGE_OK);
  ck_assert_uint_eq(letter.uid, geteuid());
  for (size_t i = 0; i < sizeof contents; i++)
    ck_assert_int_eq(contents[i], 'c');
  expect_open(letter_at(&ours), SFD_MUNGE_REPLAYED);
  seal(geteuid() + 1);
  expect_open(letter_at(&ours), SFD_MUNGE_FOREIGN);
  seal(geteuid());
  expect_open(letter_at(&theirs), SFD_MUNGE_INVALID);
  letter = letter_at(&ours);
  letter.nbytes--;
  expect_open(letter, SFD_MUNGE_INVALID); /* other contents than it expects */
}

SFTEST(changed_letters)
{
  seal(geteuid());
  for (size_t i = 0; text[i] != '\0'; i += 7) {
    char was = text[i];
    text[i] = was == 'A' ? 'B' : 'A';
    sfd_munge_letter_t letter = letter_at(&ours);
    ck_assert_int_ne(munge->open(&letter), SFD_MUNGE_OK);
    text[i] = was;
  }
  expect_open(letter_at(&ours), SFD_MUNGE_OK);
}

SFTEST(no_room_and_no_munged)
{
  sfd_munge_letter_t letter = letter_at(&ours);
  letter.text_size = 100;
  ck_assert_int_eq(munge->seal(&letter), SFD_MUNGE_UNREACHABLE);
  letter = letter_at(&ours);
  letter.socket = "/no/such/socket";
  ck_assert_int_eq(munge->seal(&letter), SFD_MUNGE_UNREACHABLE);
  ck_assert_msg(strstr(letter.detail, "/no/such/socket") != NULL, "%s", letter.detail);
  seal(geteuid());
  letter = letter_at(&ours);
  letter.socket = "/no/such/socket";
  expect_open(letter, SFD_MUNGE_UNREACHABLE);
}

/* ---- Peers ---- */

static sfd_tcp_options_t options_of(int node, int nnodes, const sftest_munged_t *munged)
{
  sfd_tcp_options_t options = sftest_tcp_options(node, nnodes);
  options.key_file = NULL;
  options.munge = munge;
  options.munge_socket = munged->socket;
  options.connect_timeout_ms = 50;
  return options;
}

/* Three daemons, of which the last has another MUNGE key. */
static void create_three(void)
{
  for (int i = 0; i < 3; i++) {
    sfd_tcp_options_t options = options_of(i, 3, i < 2 ? &ours : &theirs);
    sftest_tcp_create(i, &options);
  }
}

SFTEST_CASE(tcase_add_unchecked_fixture(tests, start, stop));
SFTEST_FIXTURE(sftest_tcp_setup, sftest_tcp_teardown);

SFTEST(daemons_that_trust_each_other)
{
  create_three();
  sftest_tcp.nnodes = 2;
  sftest_tcp_connect(0, 1);
  sftest_tcp_connect(1, 0);
  sftest_tcp_run_until(sftest_tcp_all_up);
  sftest_tcp_send(0, 1, 300000);
  sftest_tcp_send(1, 0, 300000);
  sftest_tcp_run_until(sftest_tcp_all_sent);
  sftest_tcp_connect(0, 2);
  sftest_tcp_connect(2, 1);
  sftest_tcp_expect_failure(0, 2, SF_ERR_PERM, "MUNGE keys of the hosts differ");
  sftest_tcp_expect_failure(2, 1, SF_ERR_PERM, "MUNGE keys of the hosts differ");
  ck_assert(sftest_tcp_all_up());
}

static sfd_tcp_refusal_t show(sfd_tcp_hello_t *hello, const char *ticket)
{
  sfd_tcp_challenge_t challenge;
  int fd = sftest_tcp_stranger(0);
  hello->ticket_bytes = htole32((uint32_t)strlen(ticket));
  sftest_tcp_say(fd, hello, sizeof *hello);
  sftest_tcp_say(fd, ticket, strlen(ticket));
  sftest_tcp_hear(fd, &challenge, sizeof challenge);
  if (challenge.refusal == SFD_TCP_WELCOME)
    close(fd);
  else
    sftest_tcp_expect_thrown_out(fd);
  return le32toh(challenge.refusal);
}

/* A ticket that is shown a second time, one for another user, and what is none. */
SFTEST(strangers_are_refused)
{
  sfd_tcp_ticket_t ticket = {.contents.purpose = ""};
  sfd_tcp_hello_t hello;
  sfd_munge_letter_t letter = letter_at(&ours);
  create_three();
  sftest_tcp_hello(&hello, 1, 0, 3);
  memcpy(ticket.contents.purpose, "sfd tcp ticket 1", sizeof ticket.contents.purpose);
  ticket.contents.hello = hello;
  letter.contents = &ticket.contents;
  letter.nbytes = sizeof ticket.contents;
  ck_assert_int_eq(munge->seal(&letter), SFD_MUNGE_OK);
  ck_assert_int_eq(show(&hello, text), SFD_TCP_WELCOME);
  ck_assert_int_eq(show(&hello, text), SFD_TCP_OLD_TICKET);
  letter.uid = geteuid() + 1;
  ck_assert_int_eq(munge->seal(&letter), SFD_MUNGE_OK);
  ck_assert_int_eq(show(&hello, text), SFD_TCP_OTHER_USER);
  ck_assert_int_eq(show(&hello, "MUNGE:AwQFAAA:"), SFD_TCP_BAD_TICKET);
}

/* It ends when a daemon runs already. */
SFTEST(munged_ends)
{
  sftest_munged_t own;
  sftest_munged_start(&own, 'x');
  sfd_tcp_options_t zero = options_of(0, 2, &own), one = options_of(1, 2, &own);
  sftest_tcp_create_pair(&zero, &one);
  sftest_munged_stop(&own);
  sftest_tcp_connect(0, 1);
  sftest_tcp_expect_failure(0, 1, SF_ERR_SYS, own.socket);
  sfd_fabric_t *fabric;
  ck_assert_int_eq(sfd_tcp_create(&sftest_tcp.loop, &zero, &fabric), SF_ERR_SYS);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), own.socket));
}

int main(void)
{
  const char *build = getenv("BUILD"), *lacks = sftest_munged_lacks();
  if (lacks == NULL && sfd_plugin_munge(build != NULL ? build : "build", &munge) != SF_OK)
    lacks = sfshm_error_detail();
  if (lacks == NULL)
    return sftest_main();
  printf("skipped: %s\n", lacks);
  return 77;
}
