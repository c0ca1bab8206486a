/* "Did you mean": which name is closest, and when none is close enough. */
#include "shm/base/suggest.h"

#include "tests/unit/runner.h"

static const char *const names[] = {"status", "jobs", "ranks", "graphs"};

static void expect_hint(const char *word, const char *expected)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = word};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    sfshm_suggest_show(&suggest, names[i]);
  ck_assert_str_eq(sfshm_suggest_hint(&suggest, hint), expected);
}

SFTEST(close_names)
{
  expect_hint("job", " (did you mean jobs?)");
  expect_hint("statsu", " (did you mean status?)");
  expect_hint("rnks", " (did you mean ranks?)");
  expect_hint("grpahs", " (did you mean graphs?)");
  expect_hint("jobs", " (did you mean jobs?)");
}

SFTEST(nothing_close)
{
  expect_hint("", "");
  expect_hint("xx", ""); /* whatever has two letters is two steps from another such word */
  expect_hint("segments", "");
  expect_hint("an argument that is far longer than any name that is known here", "");
}

SFTEST(the_first_of_equals)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = "cat"};
  sfshm_suggest_show(&suggest, "bat");
  sfshm_suggest_show(&suggest, "hat");
  ck_assert_str_eq(sfshm_suggest_hint(&suggest, hint), " (did you mean bat?)");
}

SFTEST(long_names)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  const char *longest = "1234567890123456789012345678901234567890";
  sfshm_suggest_t suggest = {.word = "1234567890123456789012345678901234567891"};
  sfshm_suggest_show(&suggest, "12345678901234567890123456789012345678901"); /* one more than is looked at */
  ck_assert_ptr_null(suggest.best);
  sfshm_suggest_show(&suggest, longest);
  ck_assert_ptr_eq(suggest.best, longest);
  ck_assert_str_eq(sfshm_suggest_hint(&suggest, hint), " (did you mean 1234567890123456789012345678901234567890?)");
}
