/* The daemon's options: values, sources and their precedence, errors, and that help and man page agree with the table.
 * Runs in the root of the repository. */
#include <errno.h>
#include <sys/stat.h>

#include "daemon/base/options.h"
#include "shm/base/error.h"
#include "tests/unit/expect.h"

#define MAN_PAGE "docs/man/sfd.8"

static char directory[] = "/tmp/sftest-options-XXXXXX";
static char config_path[64];
static sfd_options_t options;

static void setup(void)
{
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(config_path, sizeof config_path, "%s/c", directory);
}

static void teardown(void)
{
  sfd_options_free(&options);
  unlink(config_path);
  rmdir(directory);
}

SFTEST_FIXTURE(setup, teardown);

static void write_config(const char *text, size_t length)
{
  FILE *file = fopen(config_path, "we");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(text, 1, length, file), length);
  ck_assert_int_eq(fclose(file), 0);
}

/* Parses a NULL-terminated list of arguments without the program's name, and a list of variables. */
static sf_status_t parse(const char *const arguments[], const char *const variables[])
{
  char *argv[16] = {(char *)"sfd"};
  int argc = 1;
  for (; arguments[argc - 1]; argc++)
    argv[argc] = (char *)arguments[argc - 1];
  return sfd_options_parse(argc, argv, (char *const *)variables, &options);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void check_ok(const char *const arguments[], const char *const variables[])
{
  sfd_options_free(&options);
  options = (sfd_options_t){0};
  sf_status_t status = parse(arguments, variables);
  ck_assert_msg(status == SF_OK, "refused: %s", sfshm_error_detail());
}

static void check_error(sf_status_t expected, const char *const arguments[], const char *const variables[],
                        const char *part_of_detail)
{
  sfd_options_t before = options;
  ck_assert_int_eq(parse(arguments, variables), expected);
  ck_assert_msg(strstr(sfshm_error_detail(), part_of_detail) != NULL, "'%s' lacks '%s'", sfshm_error_detail(),
                part_of_detail);
  ck_assert_mem_eq(&before, &options, sizeof before);
}

static void check_refused(const char *const arguments[], const char *part_of_detail)
{
  check_error(SF_ERR_ARG, arguments, LIST(), part_of_detail);
}

static void check_file_refused(const char *text, const char *part_of_detail)
{
  char expected[256];
  snprintf(expected, sizeof expected, "%s:%s", config_path, part_of_detail);
  write_config(text, strlen(text));
  check_refused(LIST("--config", config_path), expected);
}

SFTEST(defaults)
{
  check_ok(LIST(), LIST("PATH=/bin", "SFDX=1", "SF_SOCKET=/x"));
  ck_assert_str_eq(options.config, "");
  ck_assert_str_eq(options.socket, "");
  ck_assert_str_eq(options.log_level, "info");
  ck_assert_int_eq(options.join_timeout_ms, 60000);
  ck_assert_int_eq(options.max_clients, 4096);
  ck_assert_int_eq(options.max_ranks, 65536);
  ck_assert_int_eq(options.max_segments, 1024);
  ck_assert_int_eq(options.max_regions, 65536);
  ck_assert_int_eq(options.max_exchange_memory, -1);
  ck_assert_int_eq(options.max_device_memory, -1);
  ck_assert_int_eq(options.ready_fd, -1);
  ck_assert_str_eq(options.calibrate, "yes");
  ck_assert(!options.log_time);
  ck_assert(!options.help && !options.version && !options.print_config);
}

SFTEST(command_line_forms)
{
  check_ok(LIST("--socket", "/a=b", "--max-clients=7", "--ready-fd", "-1", "--log-level=warn,job=trace"), LIST());
  ck_assert_str_eq(options.socket, "/a=b");
  ck_assert_int_eq(options.max_clients, 7);
  ck_assert_int_eq(options.ready_fd, -1);
  ck_assert_str_eq(options.log_level, "warn,job=trace");
  check_ok(LIST("--socket=--x", "--log-time", "--calibrate", "no", "--max-ranks", "1", "--max-ranks", "2"), LIST());
  ck_assert_str_eq(options.socket, "--x");
  ck_assert_str_eq(options.calibrate, "no");
  ck_assert(options.log_time);
  ck_assert_int_eq(options.max_ranks, 2);
  check_ok(LIST("--log-time=on", "--log-time=off", "--calibrate", "--print-config", "--socket="), LIST());
  ck_assert_str_eq(options.calibrate, "yes");
  ck_assert(!options.log_time && options.print_config);
}

SFTEST(command_line_errors)
{
  check_refused(LIST("--max-client", "3"), "unknown option --max-client (did you mean --max-clients?)");
  check_refused(LIST("--sokcet=/x"), "unknown option --sokcet (did you mean --socket?)");
  check_refused(LIST("--bogus"), "unknown option --bogus; see sfd --help");
  check_refused(LIST("-help"), "unknown option -help (did you mean --help?)");
  check_refused(LIST("--"), "unknown option --;");
  check_refused(LIST("--=3"), "unknown option --;");
  check_refused(LIST("serve"), "unexpected argument 'serve'");
  check_refused(LIST(""), "unexpected argument ''");
  check_refused(LIST("--help=yes"), "--help takes no value, found 'yes'");
  check_refused(LIST("--socket"), "--socket needs a value");
  check_refused(LIST("--socket", "--log-time"), "--socket needs a value");
  check_refused(LIST("--log-time", "maybe"), "--log-time: expected yes or no");
}

SFTEST(bad_choices_are_refused_wherever_they_are)
{
  check_refused(LIST("--fabric=pigeons"), "--fabric: expected none|tcp|mpi, found 'pigeons'");
  check_refused(LIST("--fabric=tcp|mpi"), "--fabric: expected none|tcp|mpi, found 'tcp|mpi'");
  check_refused(LIST("--fabric=tc"), "--fabric: expected");
  check_refused(LIST("--fabric="), "--fabric: expected");
  check_refused(LIST("--peer-auth=trust"), "--peer-auth: expected key|munge|user, found 'trust'");
  check_file_refused("fabric = pigeons", "1: fabric: expected none|tcp|mpi, found 'pigeons'");
}

SFTEST(words_beside_yes_and_no)
{
  static const char *const words[][2] = {{"no", "no"},  {"false", "no"}, {"off", "no"},
                                         {"0", "no"},   {"yes", "yes"},  {"true", "yes"},
                                         {"on", "yes"}, {"1", "yes"},    {"again", "again"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    check_ok(LIST("--calibrate", words[i][0]), LIST());
    ck_assert_str_eq(options.calibrate, words[i][1]);
  }
  check_ok(LIST("--calibrate", "no", "--calibrate"), LIST());
  ck_assert_str_eq(options.calibrate, "yes");
  check_refused(LIST("--calibrate", "maybe"), "--calibrate: expected yes|no|again, found 'maybe'");
  check_refused(LIST("--calibrate="), "--calibrate: expected");
  check_refused(LIST("--log-time=again"), "--log-time: expected yes or no");
  check_refused(LIST("--fabric=no"), "--fabric: expected");
}

SFTEST(bad_values_say_what_was_expected)
{
  static const char *const integers[] = {"",    "x", "1x", " 1", "+1", "0", "1048577", "-5", "99999999999999999999",
                                         "0x10"};
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
    char found[128];
    snprintf(found, sizeof found, "--max-ranks: expected an integer from 1 to 1048576, found '%s'", integers[i]);
    check_refused(LIST("--max-ranks", integers[i]), found);
  }
  static const char *const seconds[] = {"",  ".",          "-1",  "1.2345", "1e3",
                                        "0", "604800.001", "60s", "1,5",    "9999999999999"};
  for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
    char found[128];
    snprintf(found, sizeof found, "expected seconds from 0.001 to 604800 with at most 3 decimals, found '%s'",
             seconds[i]);
    check_refused(LIST("--join-timeout", seconds[i]), found);
  }
  check_refused(LIST("--socket=a\nb"), "--socket: expected text without control characters");
  check_refused(LIST("--log-level=debgu"), "--log-level: unknown log level 'debgu' (did you mean debug?)");
}

SFTEST(seconds_are_exact)
{
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"0.001", 1}, {"2.5", 2500}, {".25", 250}, {"3.", 3000}, {"604800", 604800000}, {"0010.010", 10010}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check_ok(LIST("--join-timeout", cases[i].text), LIST());
    ck_assert_int_eq(options.join_timeout_ms, cases[i].ms);
  }
}

SFTEST(environment_variables)
{
  check_ok(LIST(), LIST("SFD_MAX_CLIENTS=5", "SFD_SOCKET=/a=b", "SFD_CALIBRATE=0", "SFD_LOG_LEVEL=", "SFD_MAX_RANKS=1",
                        "SFD_MAX_RANKS=2"));
  ck_assert_int_eq(options.max_clients, 5);
  ck_assert_str_eq(options.socket, "/a=b");
  ck_assert_str_eq(options.calibrate, "no");
  ck_assert_str_eq(options.log_level, "info");
  ck_assert_int_eq(options.max_ranks, 2);
  check_error(SF_ERR_ARG, LIST(), LIST("SFD_MAX_CLIENT=5"),
              "unknown option SFD_MAX_CLIENT in the environment (did you mean SFD_MAX_CLIENTS?)");
  check_error(SF_ERR_ARG, LIST(), LIST("SFD_max_clients=5"), "unknown option SFD_max_clients");
  check_error(SF_ERR_ARG, LIST(), LIST("SFD_MAX_CLIENTS=x"), "SFD_MAX_CLIENTS: expected an integer from 1");
  check_error(SF_ERR_ARG, LIST(), LIST("SFD_READY_FD=3"), "SFD_READY_FD can be given only on the command line");
}

SFTEST(config_file)
{
  static const char text[] = "# first\n\n  max-clients=5   # five\r\nsocket = /tmp/a#b c\t\n\tlog-time =yes\n"
                             "max-ranks = 1\nmax-ranks = 2";
  write_config(text, strlen(text));
  check_ok(LIST("--config", config_path), LIST());
  ck_assert_int_eq(options.max_clients, 5);
  ck_assert_str_eq(options.socket, "/tmp/a#b c");
  ck_assert(options.log_time);
  ck_assert_int_eq(options.max_ranks, 2);
  char variable[128];
  snprintf(variable, sizeof variable, "SFD_CONFIG=%s", config_path);
  check_ok(LIST(), LIST(variable));
  ck_assert_int_eq(options.max_clients, 5);
  check_ok(LIST("--config="), LIST(variable));
  ck_assert_int_eq(options.max_clients, 4096);
}

SFTEST(file_errors_name_the_line)
{
  check_file_refused("\n# x\nmax-client = 3\n", "3: unknown option 'max-client' (did you mean max-clients?)");
  check_file_refused("max-clients = many", "1: max-clients: expected an integer from 1 to 1048576, found 'many'");
  check_file_refused("max-clients 3\n", "1: expected NAME = VALUE, found 'max-clients 3'");
  check_file_refused("log-time\n", "1: expected NAME = VALUE");
  check_file_refused("= 3\n", "1: unknown option ''");
  check_file_refused("ready-fd = 3\n", "1: ready-fd can be given only on the command line");
  check_file_refused("config = x\n", "1: config can be given only on the command line or in the environment");
  check_file_refused("help = yes\n", "1: help can be given only on the command line");
  check_file_refused("max-ranks = 0\nmax-ranks = 2\n", "1: max-ranks: expected");
}

SFTEST(unreadable_files)
{
  check_error(SF_ERR_SYS, LIST("--config", config_path), LIST(), "No such file");
  check_error(SF_ERR_SYS, LIST("--config", directory), LIST(), "Is a directory");
  check_error(SF_ERR_LIMIT, LIST("--config", "/dev/zero"), LIST(), "longer than 1048576 bytes");
  write_config("max-ranks = 3\0\n", 15);
  check_error(SF_ERR_ARG, LIST("--config", config_path), LIST(), "isn't text: byte 13 is zero");
}

SFTEST(precedence)
{
  static const char text[] = "max-clients = 1\nmax-ranks = 1\nmax-regions = 1\n";
  write_config(text, strlen(text));
  check_ok(LIST("--max-clients=3", "--config", config_path), LIST("SFD_MAX_CLIENTS=2", "SFD_MAX_RANKS=2"));
  ck_assert_int_eq(options.max_clients, 3);
  ck_assert_int_eq(options.max_ranks, 2);
  ck_assert_int_eq(options.max_regions, 1);
  ck_assert_int_eq(options.max_segments, 1024);
  /* also what is overridden must be valid */
  check_error(SF_ERR_ARG, LIST("--max-clients=3"), LIST("SFD_MAX_CLIENTS=x"), "SFD_MAX_CLIENTS");
}

SFTEST(help_and_version_ignore_other_sources)
{
  check_ok(LIST("--help", "--config", "/nowhere"), LIST("SFD_NONSENSE=1"));
  ck_assert(options.help);
  check_ok(LIST("--version"), LIST("SFD_MAX_RANKS=x"));
  ck_assert(options.version);
}

/* What a function prints; the caller frees it. */
static char *printed_config(void)
{
  char *text;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  sfd_options_print_config(&options, stream);
  fclose(stream);
  return text;
}

static void check_line(const char *text, const char *setting, const char *origin)
{
  const char *line = strstr(text, setting);
  ck_assert_msg(line != NULL, "no '%s' in:\n%s", setting, text);
  const char *comment = strstr(line, "  # ");
  ck_assert_ptr_nonnull(comment);
  ck_assert_msg(strncmp(comment + 4, origin, strlen(origin)) == 0, "'%s' is not from %s", setting, origin);
}

SFTEST(print_config_tells_origins_and_can_be_read_back)
{
  static const char config[] = "\njoin-timeout = 2.050\n";
  char file_origin[80];
  snprintf(file_origin, sizeof file_origin, "%s:2\n", config_path);
  write_config(config, strlen(config));
  check_ok(LIST("--config", config_path, "--socket=/s", "--ready-fd=3"), LIST("SFD_LOG_TIME=on"));
  char *text = printed_config();
  check_line(text, "# config = /tmp", "command line\n");
  check_line(text, "\nsocket = /s ", "command line\n");
  check_line(text, "\njoin-timeout = 2.05 ", file_origin);
  check_line(text, "\nlog-time = yes ", "environment SFD_LOG_TIME\n");
  check_line(text, "\nmax-clients = 4096 ", "default\n");
  check_line(text, "\n# ready-fd = 3 ", "command line\n");
  ck_assert_ptr_null(strstr(text, "help"));
  write_config(text, strlen(text));
  free(text);
  check_ok(LIST("--config", config_path), LIST());
  ck_assert_str_eq(options.socket, "/s");
  ck_assert_int_eq(options.join_timeout_ms, 2050);
  ck_assert(options.log_time);
  ck_assert_int_eq(options.ready_fd, -1);
}

SFTEST(help_lists_every_option)
{
  char *text, line[128];
  size_t size, count;
  FILE *stream = open_memstream(&text, &size);
  sfd_options_print_help(stream);
  fclose(stream);
  sftest_must_fit(text);
  const sfd_option_t *table = sfd_options_table(&count);
  ck_assert_uint_eq(count, SFD_OPTION_COUNT);
  for (size_t i = 0; i < count; i++) {
    snprintf(line, sizeof line, "\n  --%s%s%s", table[i].name, table[i].unit[0] ? " " : "", table[i].unit);
    ck_assert_msg(strstr(text, line) != NULL, "no %s in help", line);
    snprintf(line, sizeof line, "\n      %.20s", table[i].help);
    ck_assert_ptr_nonnull(strstr(text, line));
  }
  ck_assert_ptr_nonnull(strstr(text, "--join-timeout SECONDS  [60]\n"));
  free(text);
}

/* The man page without the backslashes before dashes. */
static char *read_man_page(void)
{
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "cannot open " MAN_PAGE ": %s", strerror(errno));
  char *text = calloc(1, 1u << 16);
  size_t length = fread(text, 1, (1u << 16) - 1, file), out = 0;
  fclose(file);
  for (size_t i = 0; i < length; i++)
    if (text[i] != '\\' || text[i + 1] != '-')
      text[out++] = text[i];
  text[out] = '\0';
  return text;
}

static void check_documented(const char *page, const sfd_option_t *option)
{
  char tag[128], facts[256], variable[64];
  if (option->type == SFD_OPTION_ACTION)
    snprintf(tag, sizeof tag, "\n.TP\n.B --%s\n", option->name);
  else
    snprintf(tag, sizeof tag, "\n.TP\n.BI --%s \" %s\"\n", option->name, option->unit);
  const char *entry = strstr(page, tag);
  ck_assert_msg(entry != NULL, "the man page lacks%s", tag);
  if (option->type == SFD_OPTION_ACTION)
    return;
  snprintf(variable, sizeof variable, "SFD_%s", option->name);
  for (char *p = variable; *p; p++)
    *p = (char)(*p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
  char range[64] = "";
  if (option->type == SFD_OPTION_INTEGER)
    snprintf(range, sizeof range, " From %lld to %lld.", (long long)option->min, (long long)option->max);
  if (option->type == SFD_OPTION_SECONDS)
    snprintf(range, sizeof range, " From %g to %g.", (double)option->min / 1e3, (double)option->max / 1e3);
  snprintf(facts, sizeof facts, "Default: %s.%s %s%s.\n", option->default_text[0] ? option->default_text : "none",
           range, option->lowest == SFD_SOURCE_COMMAND_LINE ? "Command line only" : "Environment: ",
           option->lowest == SFD_SOURCE_COMMAND_LINE ? "" : variable);
  entry += strlen(tag);
  ck_assert_msg(strncmp(entry, facts, strlen(facts)) == 0, "%s: expected '%s', found '%.80s'", tag, facts, entry);
}

SFTEST(man_page_agrees_with_the_table)
{
  char *page = read_man_page();
  size_t count, documented = 0;
  const sfd_option_t *table = sfd_options_table(&count);
  for (size_t i = 0; i < count; i++)
    check_documented(page, &table[i]);
  for (const char *p = page; (p = strstr(p, "\n.TP\n.B")) != NULL; p++)
    documented += strncmp(p + 7, " --", 3) == 0 || strncmp(p + 7, "I --", 4) == 0;
  ck_assert_uint_eq(documented, count);
  free(page);
}
