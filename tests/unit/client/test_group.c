/* Groups whose list does not fit into a message: an error before anything is sent, alike on all members. */
#include "client/core/group.h"

#include <sys/socket.h>

#include "client/core/context.h"
#include "tests/unit/runner.h"

#define SIZE 400000

SFTEST(too_long_a_list)
{
  int ends[2];
  char byte;
  sf_context_t context = {.size = SIZE, .rank = 7, .generation = sfc_process_generation};
  sf_group_t *group = NULL;
  int32_t *ranks = malloc(SIZE * sizeof *ranks);
  for (int32_t i = 0; i < SIZE; i++)
    ranks[i] = i;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ck_assert_int_eq(sfproto_conn_create(ends[0], &context.control.conn), SF_OK);
  ck_assert_int_eq(sf_group_create(&context, SIZE, ranks, 0, &group), SF_ERR_LIMIT);
  ck_assert_ptr_nonnull(strstr(sf_error_detail(), "sf_group_create: a list of 400000 ranks takes"));
  ck_assert_ptr_null(group);
  ck_assert_int_eq(context.control.broken, SF_OK);
  ck_assert_int_lt(recv(ends[1], &byte, 1, MSG_DONTWAIT), 0);
  sfproto_conn_destroy(context.control.conn);
  close(ends[1]);
  free(ranks);
}
