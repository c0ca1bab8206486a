/* sfctl's command line, and that help and man page name all of it. Runs in the root of the repository. */
#include "tools/sfctl/options.h"

#include "shm/base/error.h"
#include "tests/unit/expect.h"

#define MAX_WORDS 16
#define MAN_PAGE "docs/man/sfctl.1"

static sf_status_t parse(const char *const words[], sfctl_options_t *options_p)
{
  char *argv[MAX_WORDS] = {(char *)(uintptr_t) "sfctl"};
  int argc = 1;
  for (; words[argc - 1] != NULL; argc++)
    argv[argc] = (char *)(uintptr_t)words[argc - 1];
  return sfctl_options_parse(argc, argv, options_p);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static sfctl_options_t parse_ok(const char *const words[])
{
  sfctl_options_t options;
  sf_status_t status = parse(words, &options);
  ck_assert_msg(status == SF_OK, "status %d: %s", status, sfshm_error_detail());
  return options;
}

static void expect_error(const char *const words[], const char *text)
{
  sfctl_options_t options, before;
  memset(&options, 0x5a, sizeof options);
  before = options;
  ck_assert_int_eq(parse(words, &options), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), text) != NULL, "\"%s\" is not in \"%s\"", text, sfshm_error_detail());
  ck_assert_mem_eq(&options, &before, sizeof options);
}

SFTEST(defaults)
{
  sfctl_options_t options = parse_ok(WORDS("status"));
  ck_assert_int_eq(options.command, SFPROTO__QUERY__WHAT__STATUS);
  ck_assert(!options.help && !options.version && !options.json && !options.regions);
  ck_assert_ptr_null(options.socket);
  ck_assert_ptr_null(options.job);
  ck_assert_int_eq(options.timeout_ms, 5000);
}

SFTEST(commands)
{
  ck_assert_int_eq(parse_ok(WORDS("jobs")).command, SFPROTO__QUERY__WHAT__JOBS);
  ck_assert_int_eq(parse_ok(WORDS("ranks")).command, SFPROTO__QUERY__WHAT__RANKS);
  ck_assert_int_eq(parse_ok(WORDS("graphs")).command, SFPROTO__QUERY__WHAT__GRAPHS);
  ck_assert_int_eq(parse_ok(WORDS("peers")).command, SFPROTO__QUERY__WHAT__PEERS);
  ck_assert_int_eq(parse_ok(WORDS("peers")).task, SFCTL_TASK_QUERY);
  ck_assert_int_eq(parse_ok(WORDS("metrics")).task, SFCTL_TASK_METRICS);
  ck_assert_int_eq(parse_ok(WORDS("doctor", "--json")).task, SFCTL_TASK_DOCTOR);
  ck_assert_str_eq(parse_ok(WORDS("graphs", "cg")).job, "cg");
  ck_assert_str_eq(parse_ok(WORDS("jobs", "jobs")).job, "jobs");
  ck_assert_str_eq(parse_ok(WORDS("jobs", "--", "--json")).job, "--json");
  ck_assert_int_eq(parse_ok(WORDS("--", "ranks")).command, SFPROTO__QUERY__WHAT__RANKS);
}

SFTEST(graph_numbers)
{
  static const char *const bad[] = {"", "x", "-1", "+1", " 1", "1x", "0x10", "18446744073709551616"};
  ck_assert_int_eq(parse_ok(WORDS("plan", "17")).command, SFPROTO__QUERY__WHAT__PLAN);
  ck_assert_str_eq(parse_ok(WORDS("--json", "plan", "18446744073709551615")).graph, "18446744073709551615");
  ck_assert_str_eq(parse_ok(WORDS("plan", "0017")).graph, "0017"); /* the end of a longer one */
  ck_assert_ptr_null(parse_ok(WORDS("plan", "17")).job);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect_error(WORDS("plan", "--", bad[i]), "expected the number of a graph");
  expect_error(WORDS("plan"), "plan: GRAPH is missing");
  expect_error(WORDS("plan", "1", "2"), "unexpected argument \"2\"; usage: sfctl plan GRAPH");
}

SFTEST(options_before_and_after)
{
  sfctl_options_t options = parse_ok(WORDS("--json", "--socket", "/s", "ranks", "--regions", "job", "--timeout=0.25"));
  ck_assert(options.json && options.regions);
  ck_assert_str_eq(options.socket, "/s");
  ck_assert_str_eq(options.job, "job");
  ck_assert_int_eq(options.timeout_ms, 250);
  ck_assert_str_eq(parse_ok(WORDS("status", "--socket=a", "--socket=b=c")).socket, "b=c");
}

SFTEST(timeouts)
{
  static const char *const bad[] = {"0",   "0.0001", "-1",   "",  "x",     "1s",    "1e3",
                                    "nan", "inf",    "0x10", ".", "1.2.3", "604801"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect_error(WORDS("status", "--timeout", bad[i]), "expected seconds from 0.001 to 604800");
  ck_assert_int_eq(parse_ok(WORDS("status", "--timeout", "604800")).timeout_ms, 604800000);
  ck_assert_int_eq(parse_ok(WORDS("status", "--timeout", ".001")).timeout_ms, 1);
}

SFTEST(unknown_words)
{
  ck_assert_int_eq(parse_ok(WORDS()).task, SFCTL_TASK_DAEMONS);
  ck_assert(parse_ok(WORDS("--json")).json);
  expect_error(WORDS("--regions"), "--regions goes with the command ranks, not with daemons");
  expect_error(WORDS("job"), "unknown command \"job\" (did you mean jobs?)");
  expect_error(WORDS(""), "unknown command \"\";");
  expect_error(WORDS("everything"), "unknown command \"everything\";");
  expect_error(WORDS("status", "--jsn"), "unknown option --jsn (did you mean --json?)");
  expect_error(WORDS("status", "--sokcet=/s"), "unknown option --sokcet (did you mean --socket?)");
  expect_error(WORDS("status", "-j"), "unknown option -j;");
  expect_error(WORDS("status", "-"), "unknown option -;");
  expect_error(WORDS("status", "-="), "unknown option -;");
  expect_error(WORDS("status", "--=x"), "unknown option --;");
  expect_error(WORDS("status", "--js"), "unknown option --js (did you mean --json?)");
}

SFTEST(words_that_do_not_belong)
{
  expect_error(WORDS("peers", "job"), "unexpected argument \"job\"; usage: sfctl peers");
  expect_error(WORDS("status", "job"), "unexpected argument \"job\"; usage: sfctl status");
  expect_error(WORDS("jobs", "a", "b"), "unexpected argument \"b\"; usage: sfctl jobs [JOB]");
  expect_error(WORDS("jobs", "--regions"), "--regions goes with the command ranks, not with jobs");
  expect_error(WORDS("doctor", "--regions"), "--regions goes with the command ranks, not with doctor");
  ck_assert(parse_ok(WORDS("stuck", "--all-nodes")).all_nodes); /* which it asks anyway */
  ck_assert(parse_ok(WORDS("trace", "dump", "--all-nodes")).all_nodes);
  expect_error(WORDS("metrics", "--json"), "--json does not go with metrics");
  expect_error(WORDS("metrics", "cg"), "unexpected argument \"cg\"; usage: sfctl metrics");
  expect_error(WORDS("status", "--json=yes"), "--json takes no value, found \"yes\"");
  expect_error(WORDS("status", "--socket"), "--socket: PATH is missing");
  expect_error(WORDS("status", "--socket="), "--socket: expected PATH, found an empty text");
}

SFTEST(plans_of_what_does_not_exist)
{
  sfctl_options_t options = parse_ok(WORDS("plan", "--grid", "8x8", "--ranks", "4", "--per-node=2", "--parts", "rows"));
  ck_assert_int_eq(options.task, SFCTL_TASK_PLAN);
  ck_assert_str_eq(options.grid, "8x8");
  ck_assert_str_eq(options.parts, "rows");
  ck_assert_str_eq(options.distribution, "block");
  ck_assert(options.ranks == 4 && options.per_node == 2 && options.unit == 8 && !options.pairs);
  expect_error(WORDS("plan", "--grid", "8", "--ranks", "4"), "plan: --per-node is missing");
  expect_error(WORDS("plan", "--grid", "8", "--matrix", "m"), "only one of GRAPH, --matrix and --grid");
  expect_error(WORDS("plan", "17", "--matrix", "m"), "only one of GRAPH, --matrix and --grid");
  expect_error(WORDS("plan", "--matrix", "m", "--ranks", "4", "--per-node", "2", "--stencil", "7"),
               "--stencil goes with --grid, not with --matrix");
  expect_error(WORDS("plan", "--matrix", "m", "--ranks", "4", "--per-node", "2", "--parts", "rows"),
               "--parts goes with --grid, not with --matrix");
  options = parse_ok(WORDS("plan", "--grid", "8x8", "--ranks", "12", "--per-node", "4", "--fields", "3"));
  ck_assert(options.nodes == 3 && options.per_node == 4 && options.fields == 3);
  expect_error(WORDS("plan", "--grid", "8", "--ranks", "7", "--per-node", "2"),
               "--ranks 7: expected a multiple of --per-node 2");
  expect_error(WORDS("plan", "--grid", "8", "--ranks", "4", "--per-node", "2", "--distribution", "cyclic"),
               "--distribution goes with --matrix or --parts rows, not with a grid in boxes");
  expect_error(WORDS("plan", "--grid", "8", "--ranks", "4", "--per-node", "2", "--parts", "rows", "--radius", "2"),
               "--radius goes with --parts boxes, not with a grid in rows");
  expect_error(WORDS("plan", "--grid", "8", "--nodes", "4", "--per-node", "2", "--parts", "rows"),
               "--nodes goes with --parts boxes, not with a grid in rows");
  expect_error(WORDS("plan", "17", "--unit", "4"), "--unit goes with --matrix or --grid, not with a graph");
  ck_assert(parse_ok(WORDS("plan", "17", "--pairs")).pairs);
  expect_error(WORDS("jobs", "--pairs"), "--pairs goes with the command plan, not with jobs");
  expect_error(WORDS("plan", "--ranks", "0"), "expected a whole number from 1 to 16777216");
  expect_error(WORDS("plan", "--ranks", "x"), "expected a whole number");
  expect_error(WORDS("plan", "--parts", "box"), "--parts \"box\": expected boxes|rows");
  expect_error(WORDS("plan", "--parts", ""), "expected boxes|rows");
}

/* The error names the option that is missing or too much, after bad values. */
SFTEST(plans_for_how_many)
{
  expect_error(WORDS("plan", "--grid", "8"), "plan: --per-node is missing, and --ranks or --nodes");
  expect_error(WORDS("plan", "--grid", "8", "--per-node", "2"), "plan: --ranks or --nodes is missing");
  expect_error(WORDS("plan", "--grid", "8", "--parts", "rows", "--per-node", "2"), "plan: --ranks is missing");
  expect_error(WORDS("plan", "--grid", "8", "--nodes", "2"), "plan: --per-node is missing");
  expect_error(WORDS("plan", "--grid", "8", "--ranks", "8", "--per-node", "4", "--nodes", "2"),
               "plan: only one of --ranks and --nodes can be given");
  expect_error(WORDS("plan", "--grid", "foo", "--ranks", "2"), "--grid \"foo\"");
  expect_error(WORDS("plan", "--grid", "10x0", "--ranks", "2"), "--grid \"10x0\"");
  expect_error(WORDS("plan", "--matrix", "/dev/null"), "plan: --per-node is missing, and --ranks");
  expect_error(WORDS("plan", "--matrix", "/nope", "--ranks", "2"), "--matrix: cannot open /nope: No such file");
}

SFTEST(what_to_do)
{
  sfctl_options_t options = parse_ok(WORDS("log", "debug", "session"));
  ck_assert_int_eq(options.task, SFCTL_TASK_CONTROL);
  ck_assert_int_eq(options.action, SFPROTO__CONTROL__ACTION__LOG);
  ck_assert_str_eq(options.words[0], "debug");
  ck_assert_str_eq(options.words[1], "session");
  ck_assert_ptr_null(parse_ok(WORDS("log")).words[0]);
  ck_assert_str_eq(parse_ok(WORDS("kill", "cg")).words[0], "cg");
  ck_assert(parse_ok(WORDS("drain", "--undo")).undo);
  ck_assert(parse_ok(WORDS("shutdown", "--force")).force);
  expect_error(WORDS("kill"), "kill: JOB is missing");
  expect_error(WORDS("log", "a", "b", "c"), "unexpected argument \"c\"; usage: sfctl log [LEVEL [COMPONENT]]");
  expect_error(WORDS("drain", "--force"), "--force goes with the command shutdown, not with drain");
}

SFTEST(help_and_version_need_nothing_else)
{
  ck_assert(parse_ok(WORDS("--help", "--nonsense")).help);
  ck_assert(parse_ok(WORDS("jobs", "--version", "a", "b")).version);
}

static char *read_man_page(void)
{
  static char text[1 << 16];
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "no " MAN_PAGE " in the current directory");
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static char *read_help(void)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  sfctl_options_print_help(file);
  fclose(file);
  return text;
}

/* As the man page has it. */
static void escape_dashes(const char *name, char wanted[64])
{
  char *to = wanted + sprintf(wanted, "\\-\\-");
  for (; *name != '\0'; name++)
    to += sprintf(to, "%s%c", *name == '-' ? "\\" : "", *name);
}

SFTEST(everything_is_documented)
{
  char *man = read_man_page(), *help = read_help(), wanted[64];
  const char *name;
  sftest_must_fit(help);
  for (size_t i = 0; (name = sfctl_options_option_name(i)) != NULL; i++) {
    escape_dashes(name, wanted);
    ck_assert_msg(strstr(man, wanted) != NULL, "--%s is not in " MAN_PAGE, name);
    snprintf(wanted, sizeof wanted, "  --%s ", name);
    ck_assert_msg(strstr(help, wanted) != NULL, "--%s is not in the help", name);
  }
  for (size_t i = 0; (name = sfctl_options_command_name(i)) != NULL; i++) {
    snprintf(wanted, sizeof wanted, "\n.TP\n.B%s %s", i == 0 ? "" : "R", name);
    ck_assert_msg(strstr(man, wanted) != NULL, "%s is not in " MAN_PAGE, name);
    snprintf(wanted, sizeof wanted, "\n  %s ", name);
    ck_assert_msg(strstr(help, wanted) != NULL, "%s is not in the help", name);
  }
  free(help);
}
