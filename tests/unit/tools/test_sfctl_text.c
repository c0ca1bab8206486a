/* Sizes, durations, escapes and columns for people. */
#include "proto/report/text.h"

#include <math.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tools/sfctl/print/short_id.h"
#include "tools/sfctl/print/table.h"

SFTEST(bytes)
{
  static const struct {
    uint64_t bytes;
    const char *expected;
  } cases[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.0 KiB"},
      {1536, "1.5 KiB"},
      {1024 * 1024 - 1, "1.0 MiB"}, /* not 1024.0 KiB */
      {UINT64_C(64) << 20, "64.0 MiB"},
      {UINT64_C(3) << 30, "3.0 GiB"},
      {UINT64_C(1) << 40, "1.0 TiB"},
      {UINT64_C(1) << 50, "1.0 PiB"},
      {UINT64_MAX, "16.0 EiB"},
  };
  char text[SFREPORT_TEXT_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    ck_assert_str_eq(sfreport_text_bytes(cases[i].bytes, text), cases[i].expected);
}

SFTEST(durations)
{
  static const struct {
    double seconds;
    const char *expected;
  } cases[] = {
      {0, "0.0 s"},          {9.94, "9.9 s"},      {9.96, "9 s"},       {59.9, "59 s"}, {60, "1 min 00 s"},
      {3599, "59 min 59 s"}, {3600, "1 h 00 min"}, {90061, "1 d 01 h"}, {-1, "-"},      {NAN, "-"},
      {INFINITY, "-"},       {1e300, "-"},
  };
  char text[SFREPORT_TEXT_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    ck_assert_str_eq(sfreport_text_duration(cases[i].seconds, text), cases[i].expected);
}

SFTEST(printable)
{
  char text[16];
  ck_assert_str_eq(sfreport_text_printable("a b~", text, sizeof text), "a b~");
  ck_assert_str_eq(sfreport_text_printable("\x1b[2J", text, sizeof text), "\\x1b[2J");
  ck_assert_str_eq(sfreport_text_printable("\n\t\x7f\xc3", text, sizeof text), "\\n\\t\\x7f\\xc3");
  ck_assert_str_eq(sfreport_text_printable("\xff\xff\xff\xff", text, sizeof text), "\\xff\\xff\\xff"); /* none is cut */
  ck_assert_str_eq(sfreport_text_printable("x", text, 1), "");
  char whole[SFREPORT_PRINTABLE_SIZE(2)];
  ck_assert_str_eq(sfreport_text_printable("\xff\x01", whole, sizeof whole), "\\xff\\x01");
}

/* ---- Tables ---- */

static const sfctl_column_t columns[] = {{"NAME", SFCTL_LEFT}, {"N", SFCTL_RIGHT}, {"TEXT", SFCTL_LEFT}};

static void expect_fitted(sfctl_table_t *table, int width, const char *expected)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_int_eq(sfctl_table_print(table, width, file), SF_OK);
  fclose(file);
  ck_assert_str_eq(text, expected);
  free(text);
  sfctl_table_clear(table);
}

static void expect_table(sfctl_table_t *table, const char *expected)
{
  expect_fitted(table, 0, expected);
}

SFTEST(columns_adapt)
{
  sfctl_table_t table = {.columns = columns, .ncolumns = 3};
  sfctl_table_cell(&table, "a");
  sfctl_table_cell(&table, "%d", 12345);
  sfctl_table_cell(&table, "x");
  sfctl_table_cell(&table, "a longer one");
  sfctl_table_cell(&table, "1");
  sfctl_table_cell(&table, "%s", "");
  expect_table(&table, "NAME              N  TEXT\n"
                       "a             12345  x\n"
                       "a longer one      1  -\n");
}

SFTEST(notes_stand_outside)
{
  sfctl_table_t table = {.columns = columns, .ncolumns = 3};
  for (int row = 0; row < 2; row++) {
    for (int i = 0; i < 3; i++)
      sfctl_table_cell(&table, "%d", i);
    sfctl_table_note(&table, "a note that is wider than all columns together %d", row);
  }
  expect_table(&table, "NAME  N  TEXT\n"
                       "0     1  2\n"
                       "    a note that is wider than all columns together 0\n"
                       "0     1  2\n"
                       "    a note that is wider than all columns together 1\n");
}

SFTEST(without_titles)
{
  static const sfctl_column_t untitled[] = {{NULL, SFCTL_LEFT}, {NULL, SFCTL_RIGHT}};
  sfctl_table_t table = {.columns = untitled, .ncolumns = 2};
  sfctl_table_cell(&table, "key");
  sfctl_table_cell(&table, "\x1b[31m");
  sfctl_table_cell(&table, "longer");
  sfctl_table_cell(&table, "1");
  expect_table(&table, "key     \\x1b[31m\n"
                       "longer         1\n");
}

SFTEST(many_rows)
{
  sfctl_table_t table = {.columns = columns, .ncolumns = 3};
  char *text;
  size_t length, nlines = 0;
  for (int i = 0; i < 3000; i++)
    sfctl_table_cell(&table, "%d", i);
  FILE *file = open_memstream(&text, &length);
  ck_assert_int_eq(sfctl_table_print(&table, 0, file), SF_OK);
  fclose(file);
  for (size_t i = 0; i < length; i++)
    nlines += text[i] == '\n';
  ck_assert_uint_eq(nlines, 1001);
  free(text);
  sfctl_table_clear(&table);
}

/* Texts are clipped first, then columns are left out; text at the end fills the line. */
SFTEST(tables_fit)
{
  static const struct {
    int width;
    const char *expected;
  } cases[] = {
      {0, "NAME                                   N  TEXT\n"
          "a name with many words, and its end  123  some more text than fits\n"},
      {66, "NAME                                   N  TEXT\n"
           "a name with many words, and its end  123  some more text than fits\n"},
      {60, "NAME                N  TEXT\n"
           "a name ..its end  123  some more text than fits\n"},
      {40, "NAME                N  TEXT\n"
           "a name ..its end  123  some mor..an fits\n"},
      {30, "NAME                N\n"
           "a name ..its end  123\n"
           "(1 more column: --wide)\n"},
      {5, "NAME\n"
          "a name ..its end\n"
          "(2 more columns: --wide)\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    sfctl_table_t table = {.columns = columns, .ncolumns = 3};
    sfctl_table_cell(&table, "a name with many words, and its end");
    sfctl_table_cell(&table, "123");
    sfctl_table_cell(&table, "some more text than fits");
    expect_fitted(&table, cases[i].width, cases[i].expected);
  }
}

SFTEST(wrapped)
{
  static const char words[] = "these words begin at column 60 and go on, a_word_that_is_longer_than_all_that_is_left";
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  sfreport_text_wrap(words, 60, file);
  sfreport_text_wrap("", 60, file);
  fclose(file);
  ck_assert_str_eq(text,
                   "these words begin at\n"
                   "                                                            column 60 and go on,\n"
                   "                                                            a_word_that_is_longer_than_all_that_"
                   "is_left\n\n");
  free(text);
}

/* ---- Numbers ---- */

SFTEST(short_ids)
{
  static const uint64_t ids[] = {3590834320333392, 3590834320333394, 3590834320333394, 3590834320343392};
  static const uint64_t alike[] = {3590834321234567, 4590834321234567};
  char text[SFCTL_ID_SIZE];
  uint64_t id;
  ck_assert_int_eq(sfctl_id_digits(ids, 0), 4);
  ck_assert_int_eq(sfctl_id_digits(ids, 3), 4);
  ck_assert_int_eq(sfctl_id_digits(ids, 4), 5);
  ck_assert_int_eq(sfctl_id_digits(alike, 2), 16);
  ck_assert_str_eq(sfctl_id_text(ids[0], 4, text), "3392");
  ck_assert_str_eq(sfctl_id_text(1000000000001, 5, text), "00001");
  ck_assert_str_eq(sfctl_id_text(ids[0], 0, text), "3590834320333392");
  ck_assert_str_eq(sfctl_id_text(12345678, 4, text), "12345678");
  ck_assert_int_eq(sfctl_id_find(ids, 4, "3394", &id), SF_OK);
  ck_assert_uint_eq(id, ids[1]);
  ck_assert_int_eq(sfctl_id_find(ids, 4, "3590834320333392", &id), SF_OK);
  ck_assert_uint_eq(id, ids[0]);
  ck_assert_int_eq(sfctl_id_find(ids, 4, "394", &id), SF_OK); /* too short to be meant */
  ck_assert_uint_eq(id, 0);
  ck_assert_int_eq(sfctl_id_find(ids, 4, "3392", &id), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "\"3392\" is the end of several numbers"));
}
