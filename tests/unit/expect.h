/* A check for inner loops, where each ck_assert would write to the pipe that Check listens to. */
#ifndef SFTEST_EXPECT_H
#define SFTEST_EXPECT_H

#include <check.h>
#include <stdbool.h>

static inline void sftest_must(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s", what);
}

#endif
