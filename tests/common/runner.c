/* Runs the tests of a program: see tests/unit/runner.h. */
#include "tests/unit/runner.h"

#include <errno.h>

#define MOST 64

/* In the order of the file. */
static sftest_entry_t entries[MOST];
static int nentries;

void sftest_enter(sftest_entry_t entry)
{
  int at = nentries++;
  if (nentries > MOST)
    abort();
  for (; at > 0 && entries[at - 1].line > entry.line; at--)
    entries[at] = entries[at - 1];
  entries[at] = entry;
}

int sftest_main(void)
{
  Suite *suite = suite_create(program_invocation_short_name);
  TCase *tests = NULL;
  for (int i = 0; i < nentries; i++) {
    const sftest_entry_t *entry = &entries[i];
    if (i == 0 || (entry->prepare != NULL && entries[i - 1].prepare == NULL)) {
      tests = tcase_create(program_invocation_short_name);
      suite_add_tcase(suite, tests);
    }
    if (entry->prepare != NULL)
      entry->prepare(tests);
    else
      tcase_add_loop_test(tests, entry->test, entry->from, entry->n);
  }
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

__attribute__((weak)) int main(void)
{
  return sftest_main();
}
