/* Tests of how sfrun deals ranks to daemons, and of what it gives these to find each other. */
#include "tools/sfrun/mpi/place.h"

#include <sys/stat.h>

#include "daemon/net/fabric/tcp/auth.h"
#include "daemon/net/fabric/tcp/peer_list.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tools/sfrun/hosts/directory.h"
#include "tools/sfrun/hosts/loopback.h"

static void expect_nodes(sfrun_distribution_t distribution, int32_t nnodes, const char *expected)
{
  int32_t nranks = (int32_t)strlen(expected);
  for (int32_t rank = 0; rank < nranks; rank++)
    ck_assert_int_eq(sfrun_node_of_rank(distribution, rank, nranks, nnodes), expected[rank] - '0');
}

SFTEST(ranks_are_dealt)
{
  expect_nodes(SFRUN_BLOCK, 2, "00001111");
  expect_nodes(SFRUN_BLOCK, 2, "001");
  expect_nodes(SFRUN_BLOCK, 1, "000");
  expect_nodes(SFRUN_BLOCK, 3, "0012");
  expect_nodes(SFRUN_BLOCK, 4, "02");
  expect_nodes(SFRUN_CYCLIC, 2, "01010");
  expect_nodes(SFRUN_CYCLIC, 3, "01");
}

/* Blocks are in order, and no two differ by more than one rank. */
SFTEST(blocks_are_even)
{
  for (int32_t nnodes = 1; nnodes < 9; nnodes++)
    for (int32_t nranks = 1; nranks < 40; nranks++) {
      int32_t counts[9] = {0}, last = 0;
      for (int32_t rank = 0; rank < nranks; rank++) {
        int32_t node = sfrun_node_of_rank(SFRUN_BLOCK, rank, nranks, nnodes);
        ck_assert_int_ge(node, last);
        ck_assert_int_lt(node, nnodes);
        counts[last = node]++;
      }
      for (int32_t node = 0; node < nnodes; node++) {
        ck_assert_int_ge(counts[node], nranks / nnodes);
        ck_assert_int_le(counts[node], (nranks + nnodes - 1) / nnodes);
      }
    }
}

SFTEST(large_jobs_do_not_overflow)
{
  ck_assert_int_eq(sfrun_node_of_rank(SFRUN_BLOCK, INT32_MAX - 1, INT32_MAX, SFRUN_MAX_NODES), SFRUN_MAX_NODES - 1);
}

SFTEST(distributions_have_names)
{
  sfrun_distribution_t distribution = SFRUN_BLOCK;
  ck_assert_int_eq(sfrun_distribution_parse("cyclic", &distribution), SF_OK);
  ck_assert_int_eq(distribution, SFRUN_CYCLIC);
  ck_assert_str_eq(sfrun_distribution_name(distribution), "cyclic");
  ck_assert_int_eq(sfrun_distribution_parse("cycl", &distribution), SF_ERR_ARG);
  ck_assert_int_eq(sfrun_distribution_parse("", &distribution), SF_ERR_ARG);
}

SFTEST(sockets_have_names)
{
  char path[SFRUN_SOCKET_BYTES];
  sfrun_socket_path("/d", 0, 1, path);
  ck_assert_str_eq(path, "/d/sfd.sock");
  sfrun_socket_path("/d", SFRUN_MAX_NODES - 1, SFRUN_MAX_NODES, path);
  ck_assert_str_eq(path, "/d/" SFRUN_LONGEST_SOCKET);
}

/* The daemon accepts the files that sfrun makes for it. */
SFTEST(files_are_as_the_daemon_wants_them)
{
  char directory[SFRUN_SOCKET_BYTES];
  sfrun_loopback_t loopback = {.nnodes = 0};
  sfd_peer_list_t list;
  sfd_tcp_key_t key;
  ck_assert_int_eq(sfrun_directory_make(directory), SF_OK);
  ck_assert_int_eq(sfrun_loopback_open(directory, 3, &loopback), SF_OK);
  ck_assert_int_eq(sfd_peer_list_create(loopback.peers, &list), SF_OK);
  ck_assert_int_eq(list.count, 3);
  ck_assert_str_eq(list.peers[2].host, "127.0.0.1");
  ck_assert_int_eq(sfd_tcp_key_read(loopback.key, &key), SF_OK);
  struct stat info;
  ck_assert_int_eq(stat(loopback.key, &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0600);
  sfd_peer_list_free(&list);
  sfrun_loopback_close(&loopback);
  sfrun_directory_remove(directory);
  ck_assert_int_ne(stat(directory, &info), 0);
}
