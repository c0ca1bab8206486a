/* Thresholds, ratios and the exit status that make bench depends on. */
#include "tools/sfperf/results/judge.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"

/* Results of two cases; b is measured in the first one only. */
static const char results[] =
    "{\"bench\":\"pingpong\",\"case\":\"machine\",\"ranks\":2}\n"
    "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"a\",\"rewrite_us\":1,\"samples_us\":[2,3,9]}\n"
    "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"b\",\"rewrite_us\":1,\"samples_us\":[4,6,6]}\n"
    "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"slow\",\"samples_us\":[40,60,60]}\n"
    "{\"bench\":\"t\",\"case\":\"2\",\"op\":\"o\",\"contender\":\"a\",\"samples_us\":[5]}\n";

static void write_temporary(char path[32], const char *text)
{
  strcpy(path, "/tmp/sfperf_judge.XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
}

/* The exit status of judging the table against the results. */
static int judge(const char *table, const char *measured)
{
  char table_path[32], results_path[32];
  write_temporary(table_path, table);
  write_temporary(results_path, measured);
  char name[] = "judge", *argv[] = {name, table_path, results_path, NULL};
  int exit_code = sfperf_judge(3, argv);
  unlink(table_path);
  unlink(results_path);
  return exit_code;
}

SFTEST(takes_the_median_of_paired_ratios)
{
  sfperf_record_t a = {.reps = 3, .samples = {2, 30, 9}, .rewrite = 1};
  sfperf_record_t b = {.reps = 3, .samples = {4, 60, 6}, .rewrite = 1};
  ck_assert_double_eq_tol(sfperf_judge_pair(&a, &b, false).median, 0.5, 1e-12);
  ck_assert_double_eq_tol(sfperf_judge_pair(&a, &b, true).median, 29. / 59, 1e-12);
  ck_assert_double_eq_tol(sfperf_judge_pair(&a, NULL, false).median, 9, 1e-12);
  ck_assert_double_eq_tol(sfperf_judge_pair(&a, NULL, true).q1, 4.5, 1e-12);
}

SFTEST(a_peer_below_zero_is_no_win)
{
  sfperf_record_t a = {.reps = 1, .samples = {2}, .rewrite = 1};
  sfperf_record_t b = {.reps = 1, .samples = {0.5}, .rewrite = 1};
  ck_assert_double_gt(sfperf_judge_pair(&a, &b, true).median, 1e8);
}

SFTEST(reads_thresholds)
{
  sfperf_threshold_t threshold;
  ck_assert_int_eq(sfperf_threshold_parse("t *  o a net <  0.55 b|c\n", &threshold), SF_OK);
  ck_assert_str_eq(threshold.case_name, "*");
  ck_assert(threshold.net && threshold.strict);
  ck_assert_double_eq(threshold.limit, 0.55);
  ck_assert_str_eq(threshold.peers, "b|c");
  ck_assert_int_eq(sfperf_threshold_parse("t 1 o a total <= 16MiB -", &threshold), SF_OK);
  ck_assert(!threshold.net && !threshold.strict);
  ck_assert_str_eq(threshold.unit, "MiB");
}

SFTEST(refuses_bad_thresholds)
{
  const char *const lines[] = {
      "t 1 o a total <=",       "t 1 o a total <= 1 b more", "t 1 o a gross <= 1 b",     "t 1 o a total = 1 b",
      "t 1 o a total <= one b", "t 1 o a total <= 0 b",      "t 1 o a total <= 1us b",   "t 1 o a total <= 1 -",
      "t@2 1 o a total <= 1 b", "t@0x2 1 o a total <= 1 b",  "t@2x0 1 o a total <= 1 b", "t@2x2x2 1 o a total <= 1 b",
  };
  sfperf_threshold_t threshold;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    ck_assert_msg(sfperf_threshold_parse(lines[i], &threshold) == SF_ERR_ARG, "accepted: %s", lines[i]);
}

SFTEST(met_thresholds_exit_with_0)
{
  ck_assert_int_eq(judge("# comment\n\nt 1 o a total <= 0.5 b\n", results), 0);
  ck_assert_int_eq(judge("t 1 o a total <= 0.5 slow|b\n", results), 0);
  ck_assert_int_eq(judge("t * o a total <= 5us -\n", results), 0);
}

SFTEST(missed_thresholds_exit_with_1)
{
  ck_assert_int_eq(judge("t 1 o a total < 0.5 b\n", results), 1);
  ck_assert_int_eq(judge("t 1 o a total < 0.4 slow|b\nt 1 o a total <= 0.5 b\n", results), 1);
  ck_assert_int_eq(judge("t * o a total < 5us -\n", results), 1);
  ck_assert_int_eq(judge("t 1 o a total < 5ms -\n", results), 1);
}

SFTEST(no_result_is_a_miss_but_no_peer_is_skipped)
{
  ck_assert_int_eq(judge("t 3 o a total <= 9 b\n", results), 1);
  ck_assert_int_eq(judge("t * o a total <= 9 b\n", ""), 1);
  ck_assert_int_eq(judge("t 2 o a total <= 9 b\n", results), 0);
}

SFTEST(bad_input_exits_with_2)
{
  ck_assert_int_eq(judge("nonsense\n", results), 2);
  ck_assert_int_eq(judge("t 1 o a total <= 0.5 b\n", "nonsense\n"), 2);
  char name[] = "judge", missing[] = "/nonexistent/table", *argv[] = {name, missing, missing, NULL};
  ck_assert_int_eq(sfperf_judge(1, argv), 2);
  ck_assert_int_eq(sfperf_judge(3, argv), 2);
}

SFTEST(places_are_kept_apart)
{
  static const char placed[] =
      "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"a\",\"ranks\":2,\"nodes\":1,\"samples_us\":[1]}\n"
      "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"a\",\"ranks\":4,\"nodes\":2,\"samples_us\":[2]}\n"
      "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"a\",\"ranks\":8,\"nodes\":2,\"samples_us\":[3]}\n"
      "{\"bench\":\"t\",\"case\":\"1\",\"op\":\"o\",\"contender\":\"b\",\"ranks\":8,\"nodes\":2,\"samples_us\":[6]}\n";
  ck_assert_int_eq(judge("t 1 o a total <= 1us -\n", placed), 0);
  ck_assert_int_eq(judge("t * o a total < 1us -\n", placed), 1);
  ck_assert_int_eq(judge("t@2x2 1 o a total <= 2us -\n", placed), 0);
  ck_assert_int_eq(judge("t@2x2 1 o a total < 2us -\n", placed), 1);
  ck_assert_int_eq(judge("t@2x4 * o a total <= 0.5 b\n", placed), 0);
  ck_assert_int_eq(judge("t@4x2 1 o a total <= 9us -\n", placed), 1);
}
