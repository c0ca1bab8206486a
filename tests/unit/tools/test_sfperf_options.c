/* Command line of sfperf. */
#include "tools/sfperf/options.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"

#define MAX_WORDS 80

static sf_status_t parse_for(const char *bench, const char *const words[], sfperf_options_t *options_p)
{
  char *argv[MAX_WORDS] = {(char *)(uintptr_t)bench};
  int argc = 1;
  for (; words[argc - 1]; argc++)
    argv[argc] = (char *)(uintptr_t)words[argc - 1];
  return sfperf_options_parse(argc, argv, options_p);
}

static sf_status_t parse(const char *const words[], sfperf_options_t *options_p)
{
  return parse_for("exchange", words, options_p);
}

static sfperf_options_t parse_ok(const char *const words[])
{
  sfperf_options_t options;
  ck_assert_msg(parse(words, &options) == SF_OK, "%s", sfshm_error_detail());
  return options;
}

SFTEST(has_defaults)
{
  sfperf_options_t options = parse_ok((const char *[]){NULL});
  ck_assert(!options.json && options.pin);
  ck_assert_int_eq(options.measure.reps, 9);
  ck_assert_int_eq(options.sizes.at[0], 8);
  ck_assert_int_eq(options.sizes.at[options.sizes.n - 1], 4 << 20);
  ck_assert_int_eq(options.edges.n, 4);
  ck_assert_int_eq(options.ncases, 5);
  ck_assert_int_eq(options.stencil, 27);
}

SFTEST(sizes_depend_on_the_benchmark)
{
  sfperf_options_t options;
  ck_assert_int_eq(parse_for("overlap", (const char *[]){NULL}, &options), SF_OK);
  ck_assert_int_eq(options.sizes.at[0], 256 << 10);
  ck_assert_int_eq(parse_for("collective", (const char *[]){NULL}, &options), SF_OK);
  ck_assert_int_eq(options.sizes.at[options.sizes.n - 1], 64 << 10);
  ck_assert_int_eq(parse_for("onesided", (const char *[]){NULL}, &options), SF_OK);
  ck_assert_int_eq(options.sizes.n, 6);
  ck_assert_int_eq(options.sizes.at[options.sizes.n - 1], 1 << 20);
  ck_assert_int_eq(parse_for("fock", (const char *[]){"--tasks", "16,64", "--extent", "128", NULL}, &options), SF_OK);
  ck_assert_int_eq(options.tasks.at[1], 64);
  ck_assert_int_eq(options.extent, 128);
  ck_assert_int_eq(parse_for("fock", (const char *[]){"--sizes", "8", NULL}, &options), SF_ERR_ARG);
  ck_assert_int_eq(parse_for("product", (const char *[]){NULL}, &options), SF_OK);
  ck_assert_int_eq(options.extent, 2048);
  ck_assert_int_eq(parse_for("incast", (const char *[]){NULL}, &options), SF_OK);
  ck_assert_int_eq(options.sizes.at[options.sizes.n - 1], 1 << 20);
  ck_assert_int_eq(parse_for("incast", (const char *[]){"--sizes", "16", NULL}, &options), SF_OK);
  ck_assert_int_eq(options.sizes.n, 1);
}

SFTEST(takes_options)
{
  sfperf_options_t options =
      parse_ok((const char *[]){"--json",        "--no-pin", "--reps",   "3",     "--sample-ms=5", "--spread",
                                "--random",      "100",      "--grid",   "4,5,6", "--stencil",     "7",
                                "--partition",   "rcb",      "--matrix", "a.mtx", "--contiguous",  "1K",
                                "--overlapping", "30",       NULL});
  ck_assert(options.json && !options.pin);
  ck_assert_int_eq(options.measure.reps, 3);
  ck_assert_double_eq_tol(options.measure.sample_s, 0.005, 1e-12);
  ck_assert(options.spread);
  ck_assert_int_eq(options.ncases, 5);
  ck_assert(options.cases[4].kind == SFPERF_CASE_OVERLAPPING && options.cases[4].nleaves == 30);
  ck_assert(options.cases[0].kind == SFPERF_CASE_RANDOM && options.cases[0].nleaves == 100);
  ck_assert(options.cases[1].kind == SFPERF_CASE_GRID && options.cases[1].points[2] == 6);
  ck_assert(options.cases[2].kind == SFPERF_CASE_MATRIX && strcmp(options.cases[2].path, "a.mtx") == 0);
  ck_assert(options.cases[3].kind == SFPERF_CASE_CONTIGUOUS && options.cases[3].nleaves == 1024);
  ck_assert(options.stencil == 7 && options.partition == SFPERF_RCB);
}

SFTEST(takes_options_of_one_benchmark)
{
  sfperf_options_t options;
  ck_assert_int_eq(parse_for("bandwidth", (const char *[]){"--sizes", "8,64K,2M", NULL}, &options), SF_OK);
  ck_assert(options.sizes.n == 3 && options.sizes.at[1] == 65536 && options.sizes.at[2] == 2097152);
  ck_assert_int_eq(parse_for("setup", (const char *[]){"--edges", "7", NULL}, &options), SF_OK);
  ck_assert(options.edges.n == 1 && options.edges.at[0] == 7);
  ck_assert_int_eq(parse_for("setup", (const char *[]){"--sizes", "8", NULL}, &options), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "--sizes is an option of pingpong"));
  ck_assert_int_eq(parse_for("pingpong", (const char *[]){"--grid", "4,5,6", NULL}, &options), SF_ERR_ARG);
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), "--grid is an option of exchange "));
  ck_assert_ptr_nonnull(strstr(sfshm_error_detail(), ", not of pingpong"));
}

/* The benchmark that takes the option. */
static const char *bench_of(const char *option)
{
  if (strcmp(option, "--sizes") == 0)
    return "pingpong";
  return strcmp(option, "--edges") == 0 ? "setup" : "exchange";
}

SFTEST(refuses_bad_words)
{
  const char *const bad[][3] = {
      {"--colour", NULL},
      {"--reps", NULL},
      {"extra", NULL},
      {"--reps", "0"},
      {"--reps", "102"},
      {"--reps", "nine"},
      {"--reps", "9x"},
      {"--sample-ms", "0"},
      {"--sizes", ""},
      {"--sizes", "7"},
      {"--sizes", "8,"},
      {"--sizes", "8,,16"},
      {"--sizes", "2G"},
      {"--edges", "0"},
      {"--random", "0"},
      {"--random", "1,2"},
      {"--contiguous", "99999999"},
      {"--overlapping", "0"},
      {"--grid", "4,5"},
      {"--grid", "4,5,6,7"},
      {"--grid", "4,5,0"},
      {"--stencil", "8"},
      {"--partition", "metis"},
      {"--send-order", "random"},
      {"--random", "1.5"},
      {"--random", "nan"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    sfperf_options_t options;
    ck_assert_msg(parse_for(bench_of(bad[i][0]), bad[i], &options) == SF_ERR_ARG, "accepted: %s %s", bad[i][0],
                  bad[i][1]);
    ck_assert_msg(strstr(sfshm_error_detail(), bad[i][0]), "\"%s\" does not name %s", sfshm_error_detail(), bad[i][0]);
  }
}

SFTEST(refuses_too_many_patterns)
{
  const char *words[MAX_WORDS] = {0};
  for (int i = 0; i <= SFPERF_MAX_CASES; i++) {
    words[2 * i] = "--random";
    words[2 * i + 1] = "1";
  }
  sfperf_options_t options;
  ck_assert_int_eq(parse(words, &options), SF_ERR_ARG);
}
