/* Printing given answers: see sfctl_print.h. */
#include "tests/unit/sfctl_print.h"

#include "tools/sfctl/print/print.h"

#define MAN_PAGE "docs/man/sfctl.1"

Sfproto__Message message;
sfreport_item_t item;
const sfreport_list_t list = {.items = &item, .count = 1};

char *sftest_print_word(const char *text)
{
  return (char *)(uintptr_t)text; /* protobuf-c has no const */
}

void sftest_print_setup(void)
{
  message = (Sfproto__Message)SFPROTO__MESSAGE__INIT;
  item = (sfreport_item_t){.message = &message};
}

char *sftest_print(Sfproto__Query__What what, bool json, bool regions)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  const sfctl_print_style_t style = {.regions = regions};
  sf_status_t status = json ? sfctl_print_json(what, &list, &style, file) : sfctl_print_text(what, &list, &style, file);
  ck_assert_int_eq(status, SF_OK);
  fclose(file);
  return text;
}

/* Every name before a colon stands in the man page. */
static void expect_documented(const char *json)
{
  static char man[1 << 16];
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "no " MAN_PAGE " in the current directory");
  man[fread(man, 1, sizeof man - 1, file)] = '\0';
  fclose(file);
  const char *section = strstr(man, "\n.SH JSON\n");
  ck_assert_ptr_nonnull(section);
  for (const char *end = json; (end = strstr(end, "\":")) != NULL; end++) {
    const char *begin = end;
    while (begin[-1] != '"')
      begin--;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
    ck_assert_msg(strstr(section, name) != NULL, "\"%s\" is not in " MAN_PAGE, name);
  }
}

void sftest_print_expect_text(Sfproto__Query__What what, bool regions, const char *expected)
{
  char *text = sftest_print(what, false, regions);
  ck_assert_str_eq(text, expected);
  free(text);
}

void sftest_print_expect_json(Sfproto__Query__What what, const char *expected)
{
  char *text = sftest_print(what, true, false);
  ck_assert_str_eq(text, expected);
  expect_documented(text);
  free(text);
}
