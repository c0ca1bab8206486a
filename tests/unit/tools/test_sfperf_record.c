/* Records written as JSON and read again, and what is refused. */
#include "tools/sfperf/results/record.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"

static sfperf_record_t example(int reps)
{
  sfperf_record_t record = {
      .bench = "exchange",
      .case_name = "grid-4x5x6-27pt-slab",
      .op = "bcast",
      .contender = "sf_plain",
      .unit = "us",
      .bytes = 4096,
      .ranks = 2,
      .nodes = 1,
      .rewrite = 0.25,
      .reps = reps,
  };
  for (int i = 0; i < reps; i++)
    record.samples[i] = 1.5 + i;
  return record;
}

static void write_and_read(const sfperf_record_t *record, sfperf_record_t *read)
{
  char *text;
  size_t len;
  FILE *file = open_memstream(&text, &len);
  sfperf_record_write(record, file);
  fclose(file);
  ck_assert_msg(sfperf_record_parse(text, read) == SF_OK, "%s: %s", sfshm_error_detail(), text);
  free(text);
}

SFTEST(reads_what_it_writes)
{
  for (int reps = 1; reps <= SFPERF_MAX_REPS; reps += 50) {
    sfperf_record_t record = example(reps), read;
    write_and_read(&record, &read);
    ck_assert_mem_eq(&read, &record, sizeof record);
  }
}

SFTEST(ignores_unknown_names)
{
  sfperf_record_t read;
  ck_assert_int_eq(sfperf_record_parse(" { \"bench\" : \"idle\", \"colour\": \"red\", \"x\":[ ], \"y\": -1e3 ,"
                                       "\"samples_MiB\": [ 1, 2.5 ] } \n",
                                       &read),
                   SF_OK);
  ck_assert_str_eq(read.bench, "idle");
  ck_assert_str_eq(read.unit, "MiB");
  ck_assert_int_eq(read.reps, 2);
  ck_assert_double_eq(read.samples[1], 2.5);
  ck_assert_int_eq(read.bytes, -1);
}

SFTEST(refuses_what_is_no_record)
{
  const char *const lines[] = {
      "",
      "{",
      "{}",
      "[1]",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1",
      "{\"a\":1,}",
      "{\"a\":1} x",
      "{\"a\":\"b}",
      "{\"a\":\"b\\n\"}",
      "{\"a\":[1,]}",
      "{\"a\":[1}",
      "{\"a\":nan}",
      "{\"a\":{\"b\":1}}",
      "# comment",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    sfperf_record_t read = {.reps = 77};
    ck_assert_msg(sfperf_record_parse(lines[i], &read) == SF_ERR_PROTO, "accepted: %s", lines[i]);
    ck_assert_int_eq(read.reps, 77);
  }
}

SFTEST(refuses_too_much)
{
  char line[4096] = "{\"";
  memset(line + 2, 'a', SFPERF_NAME_LEN);
  strcpy(line + 2 + SFPERF_NAME_LEN, "\":1}");
  sfperf_record_t read;
  ck_assert_int_eq(sfperf_record_parse(line, &read), SF_ERR_PROTO);

  strcpy(line, "{\"samples_us\":[0");
  for (int i = 0; i < SFPERF_MAX_REPS; i++)
    strcat(line, ",1");
  strcat(line, "]}");
  ck_assert_int_eq(sfperf_record_parse(line, &read), SF_ERR_PROTO);
}
