/* Composing bounded, printable texts. */
#include "daemon/base/text.h"
#include "tests/unit/runner.h"

SFTEST(printable)
{
  char text[8];
  sfd_text_printable(text, sizeof text, "a\x1b[2Jb\n\xff long");
  ck_assert_str_eq(text, "a?[2Jb?");
  sfd_text_printable(text, sizeof text, NULL);
  ck_assert_str_eq(text, "");
  sfd_text_printable(text, 1, "abc");
  ck_assert_str_eq(text, "");
}

SFTEST(names)
{
  char longest[257];
  memset(longest, 'n', sizeof longest);
  longest[256] = '\0';
  ck_assert(!sfd_text_is_name(longest));
  longest[255] = '\0';
  ck_assert(sfd_text_is_name(longest));
  ck_assert(sfd_text_is_name("prterun-host-77@1 ~"));
  ck_assert(!sfd_text_is_name(NULL));
  ck_assert(!sfd_text_is_name(""));
  ck_assert(!sfd_text_is_name("tab\t"));
  ck_assert(!sfd_text_is_name("\x7f"));
}

SFTEST(append)
{
  char text[8] = "ab";
  sfd_text_append(text, sizeof text, "%d", 123);
  ck_assert_str_eq(text, "ab123");
  sfd_text_append(text, sizeof text, "%s", "456789");
  ck_assert_str_eq(text, "ab12345");
  sfd_text_append(text, sizeof text, "x");
  ck_assert_str_eq(text, "ab12345");
}

static bool in_set(const void *context, int32_t i)
{
  return ((const char *)context)[i] == 'x';
}

SFTEST_FOR(ranges, 5)
{
  static const struct {
    const char *set;
    const char *text;
  } cases[] = {{"....", ""}, {"x...", "0"}, {"xxxx", "0-3"}, {".xx.x.xxx", "1-2, 4, 6-8"}, {"", ""}};
  char text[64];
  sfd_text_ranges(text, sizeof text, (int32_t)strlen(cases[_i].set), in_set, cases[_i].set);
  ck_assert_str_eq(text, cases[_i].text);
}

SFTEST(many_ranges_are_cut)
{
  char set[200], text[256];
  for (int i = 0; i < 200; i++)
    set[i] = i % 2 ? '.' : 'x';
  sfd_text_ranges(text, sizeof text, 200, in_set, set);
  ck_assert_str_eq(text, "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, ...");
}
