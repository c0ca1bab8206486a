/* Log: lines, levels, limits. The daemon's thread. */
#include "daemon/base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"

#define PREFIX_SIZE 128
#define TEXT_SIZE ((PIPE_BUF - PREFIX_SIZE) / 4) /* of a message before escaping; a line is written as a whole */
#define ITEM_SIZE 64                             /* of one entry of a list of levels */
#define NOT_FOUND (-1)
#define LINE_NS (INT64_C(1000000000) / SFD_LOG_RATE)

#define LOG_NAME(id, name) [id] = name,
static const char *const component_names[] = {SFD_LOG_COMPONENT_TABLE(LOG_NAME)};
static const char *const level_names[] = {SFD_LOG_LEVEL_TABLE(LOG_NAME)};
#undef LOG_NAME

#define LOG_INFO(id, name) [id] = SFD_INFO,
sfd_log_levels_t sfd_log_levels = {{SFD_LOG_COMPONENT_TABLE(LOG_INFO)}};
#undef LOG_INFO

static bool show_time;

/* By component: end of the period of its counted lines, and lines left out. */
static struct {
  int64_t due_ns;
  uint64_t left_out;
} floods[SFD_LOG_COMPONENTS];

static int find_name(const char *const names[], int count, const char *word)
{
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], word) == 0)
      return i;
  return NOT_FOUND;
}

/* Names the closest level or component, and all of them. */
static sf_status_t unknown_name(const char *what, const char *const names[], int count, const char *word)
{
  char known[128] = "", hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = word};
  for (int i = 0; i < count; i++) {
    sfshm_suggest_show(&suggest, names[i]);
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
  }
  return sfshm_error(SF_ERR_ARG, "unknown log %s '%s'%s; expected one of %s", what, word,
                     sfshm_suggest_hint(&suggest, hint), known);
}

/* Copies the entry at *cursor_p, trimmed; moves the cursor after its comma, or to NULL. */
static sf_status_t next_item(const char **cursor_p, char item[ITEM_SIZE])
{
  const char *begin = *cursor_p + strspn(*cursor_p, " \t"), *comma = strchr(begin, ',');
  size_t length = comma ? (size_t)(comma - begin) : strlen(begin);
  while (length > 0 && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
    length--;
  if (length == 0)
    return sfshm_error(SF_ERR_ARG, "empty entry in the list; expected LEVEL or COMPONENT=LEVEL between commas");
  if (length >= ITEM_SIZE)
    return sfshm_error(SF_ERR_ARG, "entry '%.60s...' is too long; expected LEVEL or COMPONENT=LEVEL", begin);
  memcpy(item, begin, length);
  item[length] = '\0';
  *cursor_p = comma ? comma + 1 : NULL;
  return SF_OK;
}

/* Splits "component=level" or "level" (*component_p NOT_FOUND). */
static sf_status_t parse_item(char *item, int *component_p, uint8_t *level_p)
{
  char *equals = strchr(item, '=');
  int component = NOT_FOUND;
  if (equals) {
    *equals = '\0';
    component = find_name(component_names, SFD_LOG_COMPONENTS, item);
    if (component == NOT_FOUND)
      return unknown_name("component", component_names, SFD_LOG_COMPONENTS, item);
  }
  const char *word = equals ? equals + 1 : item;
  int level = find_name(level_names, SFD_LOG_LEVELS, word);
  if (level == NOT_FOUND)
    return unknown_name("level", level_names, SFD_LOG_LEVELS, word);
  *component_p = component;
  *level_p = (uint8_t)level;
  return SF_OK;
}

/* Parses the entry at *cursor_p and moves the cursor. */
static sf_status_t next_level(const char **cursor_p, int *component_p, uint8_t *level_p)
{
  char item[ITEM_SIZE];
  sf_status_t status = next_item(cursor_p, item);
  return status ? status : parse_item(item, component_p, level_p);
}

/* Sets the levels of the entries in turn. ranked: one for all components leaves those that the spec names. */
static sf_status_t set_levels(const char *spec, bool ranked, sfd_log_levels_t *levels)
{
  sfd_log_levels_t set = *levels;
  bool named[SFD_LOG_COMPONENTS] = {false};
  for (const char *cursor = spec; cursor;) {
    int component = NOT_FOUND;
    uint8_t level = SFD_INFO;
    sf_status_t status = next_level(&cursor, &component, &level);
    if (status)
      return status;
    for (int i = 0; i < SFD_LOG_COMPONENTS; i++)
      if (component == NOT_FOUND ? !named[i] : component == i)
        set.level[i] = level;
    if (component != NOT_FOUND)
      named[component] = ranked;
  }
  *levels = set;
  return SF_OK;
}

sf_status_t sfd_log_parse(const char *spec, sfd_log_levels_t *levels_p)
{
  sfd_log_levels_t levels;
  memset(levels.level, SFD_INFO, sizeof levels.level);
  sf_status_t status = set_levels(spec, true, &levels);
  if (status == SF_OK)
    *levels_p = levels;
  return status;
}

sf_status_t sfd_log_configure(const char *spec)
{
  return sfd_log_parse(spec, &sfd_log_levels);
}

sf_status_t sfd_log_adjust(const char *spec)
{
  return set_levels(spec, false, &sfd_log_levels);
}

/* The level of most components. */
static uint8_t usual_level(void)
{
  int count[SFD_LOG_LEVELS] = {0};
  uint8_t usual = 0;
  for (int i = 0; i < SFD_LOG_COMPONENTS; i++)
    count[sfd_log_levels.level[i]]++;
  for (uint8_t level = 0; level < SFD_LOG_LEVELS; level++)
    if (count[level] > count[usual])
      usual = level;
  return usual;
}

void sfd_log_describe(char text[SFD_LOG_SPEC_SIZE])
{
  uint8_t usual = usual_level();
  int used = snprintf(text, SFD_LOG_SPEC_SIZE, "%s", level_names[usual]);
  for (int i = 0; i < SFD_LOG_COMPONENTS && used < SFD_LOG_SPEC_SIZE; i++)
    if (sfd_log_levels.level[i] != usual)
      used += snprintf(text + used, SFD_LOG_SPEC_SIZE - (size_t)used, ",%s=%s", component_names[i],
                       level_names[sfd_log_levels.level[i]]);
}

void sfd_log_show_time(bool show)
{
  show_time = show;
}

/* "", or the time and a blank. */
static void format_time(char *buffer, size_t size)
{
  buffer[0] = '\0';
  if (!show_time)
    return;
  struct timespec now;
  struct tm utc;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &utc);
  size_t length = strftime(buffer, size, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(buffer + length, size - length, ".%03dZ ", (int)(now.tv_nsec / 1000000));
}

/* Appends text as printable ASCII; takes up to four bytes for each. */
static char *append_escaped(char *out, const char *text)
{
  static const char digits[] = "0123456789abcdef";
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p >= ' ' && *p <= '~') {
      *out++ = (char)*p;
    } else {
      *out++ = '\\';
      if (*p == '\n' || *p == '\t') {
        *out++ = *p == '\n' ? 'n' : 't';
      } else {
        *out++ = 'x';
        *out++ = digits[*p >> 4];
        *out++ = digits[*p & 15];
      }
    }
  }
  return out;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* write(2) that fails with EAGAIN instead of blocking. Other writers may still take the room of a terminal, or of pipes
 * on old kernels. */
static ssize_t write_without_waiting(const char *line, size_t length)
{
  struct stat info;
  struct iovec whole = {.iov_base = (char *)(uintptr_t)line, .iov_len = length};
  struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (fstat(STDERR_FILENO, &info) != 0 || S_ISREG(info.st_mode))
    return write(STDERR_FILENO, line, length);
  if (S_ISSOCK(info.st_mode))
    return send(STDERR_FILENO, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  ssize_t written = S_ISFIFO(info.st_mode) ? pwritev2(STDERR_FILENO, &whole, 1, -1, RWF_NOWAIT) : -1;
  if (written >= 0 || (S_ISFIFO(info.st_mode) && errno != EOPNOTSUPP))
    return written;
  errno = EAGAIN;
  return poll(&room, 1, 0) == 1 ? write(STDERR_FILENO, line, length) : -1;
}

/* One write per line, so that lines of processes don't mix. False: nothing could be written for now. */
static bool write_line(const char *line, size_t length)
{
  for (size_t done = 0; done < length;) {
    ssize_t written = write_without_waiting(line + done, length - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return done > 0 || errno != EAGAIN;
    done += (size_t)written;
  }
  return true;
}

static bool write_text(sfd_log_component_t component, sfd_log_level_t level, const char *text)
{
  char time_text[64], line[PREFIX_SIZE + 4 * TEXT_SIZE];
  format_time(time_text, sizeof time_text);
  int prefix = snprintf(line, PREFIX_SIZE, "%ssfd[%d] %s %s: ", time_text, (int)getpid(), level_names[level],
                        component_names[component]);
  char *end = append_escaped(line + prefix, text);
  *end++ = '\n';
  return write_line(line, (size_t)(end - line));
}

/* Limits the lines that others can provoke: a burst, then a rate. Errors and requested levels are not limited. */
static bool may_print(sfd_log_component_t component, sfd_log_level_t level)
{
  int64_t now = sfshm_now_ns(), *due_ns = &floods[component].due_ns;
  if (level != SFD_WARN && level != SFD_INFO)
    return true;
  if (*due_ns < now)
    *due_ns = now;
  if (*due_ns - now > SFD_LOG_BURST * LINE_NS)
    return false;
  *due_ns += LINE_NS;
  return true;
}

/* Logs how many lines were left out. */
static void log_dropped(sfd_log_component_t component)
{
  char text[128];
  uint64_t *left_out = &floods[component].left_out;
  if (*left_out == 0)
    return;
  snprintf(text, sizeof text, "%llu lines were left out: there were too many, or they were not read",
           (unsigned long long)*left_out);
  if (write_text(component, SFD_WARN, text))
    *left_out = 0;
}

void sfd_log_write(sfd_log_component_t component, sfd_log_level_t level, const char *format, ...)
{
  int saved_errno = errno;
  char text[TEXT_SIZE];
  va_list args;
  if (may_print(component, level)) {
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
      snprintf(text, sizeof text, "(message can't be formatted: %s)", format);
    else if (length >= TEXT_SIZE)
      memcpy(text + TEXT_SIZE - 4, "...", 4);
    for (int i = 0; i < SFD_LOG_COMPONENTS; i++)
      log_dropped((sfd_log_component_t)i);
    if (!write_text(component, level, text))
      floods[component].left_out++;
  } else {
    floods[component].left_out++;
  }
  errno = saved_errno;
}
