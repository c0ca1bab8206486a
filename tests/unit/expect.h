/* Checks that several tests share. */
#ifndef SFTEST_EXPECT_H
#define SFTEST_EXPECT_H

#include "tests/unit/runner.h"

/* For inner loops, where each ck_assert would write to the pipe that Check listens to. */
static inline void sftest_must(bool condition, const char *what)
{
  if (!condition)
    ck_abort_msg("not so: %s", what);
}

/* No line of the text is wider than a terminal that nobody has widened. */
static inline void sftest_must_fit(const char *text)
{
  for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
    length = strcspn(text, "\n");
    ck_assert_msg(length <= 80, "more than 80 columns: %.*s", (int)length, text);
  }
}

#endif
