/* Lists of daemons: what is accepted, what is said of the rest, and finding oneself. */
#include "daemon/net/fabric/tcp/peer_list.h"

#include <fcntl.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"

static void expect_error(const char *text, sf_status_t status, const char *words)
{
  sfd_peer_list_t list;
  ck_assert_msg(sfd_peer_list_create(text, &list) == status, "'%s': %s", text, sfshm_error_detail());
  ck_assert_msg(strstr(sfshm_error_detail(), words) != NULL, "'%s': '%s' in '%s'", text, words, sfshm_error_detail());
}

static void expect_peer(const sfd_peer_list_t *list, int32_t node, const char *text)
{
  char found[SFD_PEER_TEXT_SIZE];
  sfd_peer_address_print(&list->peers[node], found, sizeof found);
  ck_assert_str_eq(found, text);
}

SFTEST(lists_that_are_accepted)
{
  sfd_peer_list_t list;
  ck_assert_int_eq(sfd_peer_list_create(" 10.0.0.1:7411, [fe80::1%lo]:1 ,my-host.example.org:65535", &list), SF_OK);
  ck_assert_int_eq(list.count, 3);
  expect_peer(&list, 0, "10.0.0.1:7411");
  expect_peer(&list, 1, "[fe80::1%lo]:1");
  expect_peer(&list, 2, "my-host.example.org:65535");
  ck_assert_str_eq(list.peers[1].host, "fe80::1%lo");
  sfd_peer_list_free(&list);
  sfd_peer_list_free(&list);
  ck_assert_int_eq(sfd_peer_list_create("a:1", &list), SF_OK);
  ck_assert_int_eq(list.count, 1);
  sfd_peer_list_free(&list);
}

SFTEST(lists_that_are_not)
{
  static const char *const bad[] = {"a",     ":1",      "a:",    "a:0",           "a:65536", "a:1x",    "a:-1",
                                    "a:+1",  "a: 1",    "::1:1", "[::1]",         "[::1]1",  "[::1:1",  "[]:1",
                                    "a b:1", "a\x7f:1", "[a]:1", "[127.0.0.1]:1", "a@b:1",   "a:123456"};
  char text[64], host[300];
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    snprintf(text, sizeof text, "b:1,%s", bad[i]);
    expect_error(text, SF_ERR_ARG, "entry 1");
    expect_error(text, SF_ERR_ARG, bad[i]);
  }
  expect_error("", SF_ERR_ARG, "empty");
  expect_error("a:1,", SF_ERR_ARG, "entry 1");
  expect_error("a:1,,b:1", SF_ERR_ARG, "entry 1");
  expect_error("a:1,b:1,A:1", SF_ERR_ARG, "twice, as nodes");
  memset(host, 'x', sizeof host);
  memcpy(host + 254, ":1", 3);
  expect_error(host, SF_ERR_ARG, "malformed host");
}

SFTEST(many_peers)
{
  char *text = malloc(SFD_MAX_NODES * 16), *end = text;
  sfd_peer_list_t list;
  for (int i = 0; i < SFD_MAX_NODES; i++)
    end += sprintf(end, "%sh%d:1", i ? "," : "", i);
  ck_assert_int_eq(sfd_peer_list_create(text, &list), SF_OK);
  ck_assert_int_eq(list.count, SFD_MAX_NODES);
  expect_peer(&list, 54321, "h54321:1");
  sfd_peer_list_free(&list);
  sprintf(end, ",last:1");
  expect_error(text, SF_ERR_LIMIT, "65536");
  free(text);
}

/* ---- Files ---- */

static char path[] = "/tmp/sftest-peers-XXXXXX";

static void write_file(const char *text, size_t size)
{
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
  close(fd);
}

static void make_file(void)
{
  close(mkstemp(path));
}

static void remove_file(void)
{
  unlink(path);
}

SFTEST_FIXTURE(make_file, remove_file);

SFTEST(files)
{
  static const char text[] = "# the cluster\n\n  a:1 # first\r\n\tb:2,c:3\n#d:4\n[::1]:5";
  sfd_peer_list_t list;
  write_file(text, sizeof text - 1);
  ck_assert_int_eq(sfd_peer_list_create(path, &list), SF_OK);
  ck_assert_int_eq(list.count, 4);
  expect_peer(&list, 0, "a:1");
  expect_peer(&list, 2, "c:3");
  expect_peer(&list, 3, "[::1]:5");
  sfd_peer_list_free(&list);
}

SFTEST(files_that_are_not_accepted)
{
  char place[64];
  expect_error("/no/such/file", SF_ERR_SYS, "No such file");
  expect_error("/tmp/", SF_ERR_SYS, "/tmp/");
  write_file("", 0);
  expect_error(path, SF_ERR_ARG, "empty");
  write_file("# nobody\n", 9);
  expect_error(path, SF_ERR_ARG, "empty");
  write_file("a:1\0b:2", 7);
  expect_error(path, SF_ERR_ARG, "null byte");
  write_file("a:1\n\nb\n", 7);
  snprintf(place, sizeof place, "%s:3: 'b'", path);
  expect_error(path, SF_ERR_ARG, place);
}

/* ---- Finding this host ---- */

/* Takes %s for this host's name. */
static sf_status_t find(const char *format, uint16_t port, int32_t *node_p)
{
  char name[256] = "", text[600];
  sfd_peer_list_t list;
  ck_assert_int_eq(gethostname(name, sizeof name - 1), 0);
  snprintf(text, sizeof text, format, name, name);
  ck_assert_msg(sfd_peer_list_create(text, &list) == SF_OK, "%s", sfshm_error_detail());
  sf_status_t status = sfd_peer_list_find(&list, port, node_p);
  sfd_peer_list_free(&list);
  return status;
}

SFTEST(finds_itself)
{
  int32_t node = -1;
  ck_assert_int_eq(find("192.0.2.77:1,127.0.0.1:1,192.0.2.78:1", 0, &node), SF_OK);
  ck_assert_int_eq(node, 1);
  ck_assert_int_eq(find("192.0.2.77:1,192.0.2.78:1,127.9.8.7:1", 0, &node), SF_OK);
  ck_assert_int_eq(node, 2);
  ck_assert_int_eq(find("other.host.invalid:1,%s:1", 0, &node), SF_OK);
  ck_assert_int_eq(node, 1);
  ck_assert_int_eq(find("127.0.0.1:1,127.0.0.1:2,192.0.2.78:2", 2, &node), SF_OK);
  ck_assert_int_eq(node, 1);
  ck_assert_int_eq(find("192.0.2.77:1,localhost:1", 0, &node), SF_OK); /* only by asking what it means */
  ck_assert_int_eq(node, 1);
}

SFTEST(does_not_find_itself)
{
  int32_t node = -1;
  ck_assert_int_eq(find("192.0.2.77:1,192.0.2.78:1", 0, &node), SF_ERR_NOT_FOUND);
  ck_assert(strstr(sfshm_error_detail(), "none of the 2 peers is this host") != NULL);
  ck_assert_int_eq(find("127.0.0.1:1", 2, &node), SF_ERR_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), ", with port 2: "));
  ck_assert_int_eq(find("%s:1,192.0.2.77:1,%s:2", 0, &node), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), "nodes 0, 2") != NULL, "%s", sfshm_error_detail());
  ck_assert_int_eq(node, -1);
}
