/* The daemon's log: levels by component, and lines that nothing in a message can break. */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <sys/socket.h>

#include "daemon/base/log.h"
#include "shm/base/error.h"
#include "tests/unit/runner.h"

static int saved_stderr = -1;
static int capture[2];

static void begin_capture(void)
{
  ck_assert_int_eq(pipe(capture), 0);
  saved_stderr = dup(STDERR_FILENO);
  ck_assert_int_ge(dup2(capture[1], STDERR_FILENO), 0);
}

/* Ends the capture and returns what was written, which stays valid until the next call. */
static const char *captured(void)
{
  static char text[16384];
  ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
  close(saved_stderr);
  close(capture[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(capture[0], text + length, sizeof text - 1 - length)) > 0)
    length += (size_t)got;
  close(capture[0]);
  text[length] = '\0';
  return text;
}

static void check_matches(const char *text, const char *pattern)
{
  regex_t regex;
  ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
  int result = regexec(&regex, text, 0, NULL, 0);
  regfree(&regex);
  ck_assert_msg(result == 0, "'%s' doesn't match %s", text, pattern);
}

static void check_refused(const char *spec, const char *part_of_detail)
{
  sfd_log_levels_t before = sfd_log_levels;
  ck_assert_int_eq(sfd_log_configure(spec), SF_ERR_ARG);
  ck_assert_msg(strstr(sfshm_error_detail(), part_of_detail) != NULL, "'%s' lacks '%s'", sfshm_error_detail(),
                part_of_detail);
  ck_assert_mem_eq(&before, &sfd_log_levels, sizeof before);
}

SFTEST(level_is_info_at_first)
{
  for (int i = 0; i < SFD_LOG_COMPONENTS; i++) {
    ck_assert(sfd_log_enabled((sfd_log_component_t)i, SFD_INFO));
    ck_assert(!sfd_log_enabled((sfd_log_component_t)i, SFD_DEBUG));
  }
}

SFTEST(bare_level_is_for_components_not_named)
{
  static const char *const specs[] = {"warn,session=debug", "session=debug,warn",
                                      " session=error , session=debug,warn "};
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    ck_assert_int_eq(sfd_log_configure(specs[i]), SF_OK);
    ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_SESSION], SFD_DEBUG);
    ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_MAIN], SFD_WARN);
    ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_QUERY], SFD_WARN);
  }
  ck_assert_int_eq(sfd_log_configure("graph=trace"), SF_OK);
  ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_GRAPH], SFD_TRACE);
  ck_assert_int_eq(sfd_log_levels.level[SFD_LOG_JOB], SFD_INFO);
}

SFTEST(bad_lists_are_refused_and_change_nothing)
{
  check_refused("", "empty entry");
  check_refused("info,", "empty entry");
  check_refused(",,", "empty entry");
  check_refused("inof", "unknown log level 'inof' (did you mean info?)");
  check_refused("loud", "unknown log level 'loud'; expected one of error, warn, info, debug, trace");
  check_refused("info,sesion=debug", "unknown log component 'sesion' (did you mean session?)");
  check_refused("net=debug", "expected one of main, session, job, graph, memory, query, network");
  check_refused("job=", "unknown log level ''");
  check_refused("=info", "unknown log component ''");
  check_refused("job=info=debug", "unknown log level 'info=debug'");
  check_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "too long");
}

SFTEST(line_has_process_level_and_component)
{
  char expected[128];
  snprintf(expected, sizeof expected, "sfd[%d] warn job: rank 3 of 4\n", (int)getpid());
  begin_capture();
  sfd_log(SFD_LOG_JOB, SFD_WARN, "rank %d of %d", 3, 4);
  ck_assert_str_eq(captured(), expected);
}

static int evaluations;

static int evaluate(void)
{
  return ++evaluations;
}

SFTEST(what_is_not_printed_costs_no_arguments)
{
  ck_assert_int_eq(sfd_log_configure("error"), SF_OK);
  begin_capture();
  sfd_log(SFD_LOG_MAIN, SFD_WARN, "%d", evaluate());
  sfd_log(SFD_LOG_MAIN, SFD_ERROR, "%d", evaluate());
  check_matches(captured(), "^sfd\\[[0-9]+\\] error main: 1\n$");
  ck_assert_int_eq(evaluations, 1);
}

SFTEST(time_begins_the_line)
{
  sfd_log_show_time(true);
  begin_capture();
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "x");
  check_matches(captured(),
                "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z sfd\\[[0-9]+\\] info "
                "main: x\n$");
}

SFTEST(text_cannot_break_its_line)
{
  begin_capture();
  sfd_log(SFD_LOG_SESSION, SFD_INFO, "job '%s'", "a\nsfd[1] error main: forged\t\r\x1b[31m\x7f\xc2\x9b\xff%n");
  const char *line = captured();
  ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
  ck_assert_ptr_nonnull(strstr(line, "job 'a\\nsfd[1] error main: forged\\t\\x0d\\x1b[31m\\x7f\\xc2\\x9b\\xff%n'\n"));
}

SFTEST(long_text_is_cut)
{
  static char text[4096];
  memset(text, 1, sizeof text - 1); /* the longest escapes */
  begin_capture();
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "%s", text);
  const char *line = captured(), *begin = strstr(line, ": ") + 2;
  ck_assert_uint_eq(strlen(begin), 988 * 4 + 3 + 1);
  ck_assert_str_eq(begin + 988 * 4, "...\n");
}

SFTEST(errno_is_kept_and_a_closed_stderr_harmless)
{
  int saved = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  errno = ENOSPC;
  sfd_log(SFD_LOG_MAIN, SFD_ERROR, "nobody reads this");
  int kept = errno;
  dup2(saved, STDERR_FILENO);
  close(saved);
  ck_assert_int_eq(kept, ENOSPC);
}

static int count_lines(const char *text)
{
  int count = 0;
  for (; (text = strchr(text, '\n')) != NULL; text++)
    count++;
  return count;
}

/* Nobody reads while they are printed, and more than the pipe holds. */
SFTEST(nobody_reads)
{
  static char waste[1 << 16];
  begin_capture();
  ck_assert_int_gt(fcntl(capture[1], F_SETPIPE_SZ, (int)sizeof waste), 0);
  for (int i = 0; i < 2000; i++)
    sfd_log_write(SFD_LOG_JOB, SFD_ERROR, "line %d %0100d", i, 0);
  ck_assert_int_gt(read(capture[0], waste, sizeof waste), 0);
  ck_assert_int_gt(fcntl(capture[0], F_SETFL, O_NONBLOCK), -1);
  while (read(capture[0], waste, sizeof waste) > 0)
    ;
  sfd_log_write(SFD_LOG_MAIN, SFD_INFO, "read again");
  check_matches(captured(), "^sfd.* warn job: [0-9]+ lines were left out: .*\n.* info main: read again\n$");
}

SFTEST(nobody_reads_a_socket)
{
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  begin_capture();
  ck_assert_int_ge(dup2(pair[1], STDERR_FILENO), 0);
  for (int i = 0; i < 10000; i++)
    sfd_log_write(SFD_LOG_JOB, SFD_ERROR, "line %d %0100d", i, 0);
  captured();
}

/* Clients can provoke any number of lines. Others than their component's, errors, and what has been asked for are not
 * left out. */
SFTEST(floods_are_cut)
{
  enum { N = 20000 };
  FILE *file = tmpfile();
  unsigned long left_out = 0, n, notices = 0; /* more than one if this takes long */
  static char text[1 << 20];
  begin_capture();
  ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
  for (int i = 0; i < N; i++)
    sfd_log_write(SFD_LOG_SESSION, SFD_WARN, "refused");
  sfd_log_write(SFD_LOG_JOB, SFD_INFO, "something else");
  captured();
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  for (const char *at = text; (at = strstr(at, "warn session: ")) != NULL; at++)
    if (sscanf(at, "warn session: %lu lines were left out", &n) == 1) {
      left_out += n;
      notices++;
    }
  ck_assert_uint_ge(notices, 1);
  ck_assert_uint_ge(left_out, N / 2);
  ck_assert_int_le(count_lines(text), N / 4);
  ck_assert_uint_eq((unsigned long)count_lines(text) - 1 - notices + left_out, N);
  ck_assert_ptr_nonnull(strstr(text, "info job: something else\n"));
}
