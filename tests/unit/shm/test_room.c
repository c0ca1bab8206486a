/* Room in arrays that grow. */
#include "shm/base/room.h"

#include <stdint.h>

#include "tests/unit/runner.h"

START_TEST(one_by_one)
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
END_TEST

START_TEST(many_at_once)
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
END_TEST

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they end the program where malloc would fail */
START_TEST(no_memory)
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
END_TEST
#endif

int main(void)
{
  Suite *suite = suite_create("room");
  TCase *tests = tcase_create("room");
  tcase_add_test(tests, one_by_one);
  tcase_add_test(tests, many_at_once);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  tcase_add_test(tests, no_memory);
#endif
  suite_add_tcase(suite, tests);
  return sftest_run(suite);
}
