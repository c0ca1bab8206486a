/* Room in arrays that grow. */
#include "shm/base/room.h"

#include "tests/unit/runner.h"

SFTEST(one_by_one)
{
  int *items = NULL;
  size_t capacity = 0, moves = 0;
  for (size_t n = 0; n < 1000; n++) {
    size_t before = capacity;
    ck_assert(sfshm_make_room(&items, &capacity, n + 1, sizeof *items));
    ck_assert_uint_gt(capacity, n);
    moves += capacity != before;
    items[n] = (int)n;
  }
  ck_assert_uint_lt(moves, 10);
  for (size_t n = 0; n < 1000; n++)
    ck_assert_int_eq(items[n], (int)n);
  free(items);
}

SFTEST(many_at_once)
{
  double *items = NULL;
  size_t capacity = 0;
  ck_assert(sfshm_make_room(&items, &capacity, 5000, sizeof *items));
  ck_assert_uint_ge(capacity, 5000);
  items[4999] = 1;
  double *before = items;
  ck_assert(sfshm_make_room(&items, &capacity, 0, sizeof *items));
  ck_assert_ptr_eq(items, before);
  free(items);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they end the program where malloc would fail */
SFTEST(no_memory)
{
  char *items = NULL;
  size_t capacity = 0;
  ck_assert(sfshm_make_room(&items, &capacity, 1, sizeof *items));
  char *before = items;
  size_t room = capacity;
  ck_assert(!sfshm_make_room(&items, &capacity, SIZE_MAX, 2));
  ck_assert_ptr_eq(items, before);
  ck_assert_uint_eq(capacity, room);
  free(items);
}
#endif
