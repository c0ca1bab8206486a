/* The daemon's log: one line on standard error for each message, by component and level.
 *
 *   sfd[1234] info session: client of pid 77 connected
 *   2025-03-01T12:00:00.123Z sfd[1234] info session: client of pid 77 connected     (option log-time)
 *
 * The daemon has one thread and all of this belongs to it: the levels are plain variables. */
#ifndef SFD_BASE_LOG_H
#define SFD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* X(id, name). */
#define SFD_LOG_COMPONENT_TABLE(X)                                                                                     \
  X(SFD_LOG_MAIN, "main")                                                                                              \
  X(SFD_LOG_SESSION, "session")                                                                                        \
  X(SFD_LOG_JOB, "job")                                                                                                \
  X(SFD_LOG_GRAPH, "graph")                                                                                            \
  X(SFD_LOG_MEMORY, "memory")                                                                                          \
  X(SFD_LOG_QUERY, "query")                                                                                            \
  X(SFD_LOG_NETWORK, "network")

/* X(id, name), from what is always printed to what is printed least often. */
#define SFD_LOG_LEVEL_TABLE(X)                                                                                         \
  X(SFD_ERROR, "error")                                                                                                \
  X(SFD_WARN, "warn")                                                                                                  \
  X(SFD_INFO, "info")                                                                                                  \
  X(SFD_DEBUG, "debug")                                                                                                \
  X(SFD_TRACE, "trace")

#define SFD_LOG_ID(id, name) id,
typedef enum sfd_log_component { SFD_LOG_COMPONENT_TABLE(SFD_LOG_ID) SFD_LOG_COMPONENTS } sfd_log_component_t;
typedef enum sfd_log_level { SFD_LOG_LEVEL_TABLE(SFD_LOG_ID) SFD_LOG_LEVELS } sfd_log_level_t;
#undef SFD_LOG_ID

/* The most talkative level that each component prints. */
typedef struct sfd_log_levels {
  uint8_t level[SFD_LOG_COMPONENTS];
} sfd_log_levels_t;

extern sfd_log_levels_t sfd_log_levels; /* written by sfd_log_configure and _adjust; info for all until then */

/* Parses a list like "info,session=debug": a bare level holds for all components that the list doesn't name (info if
 * there is none); of several entries for one component the last wins. SF_ERR_ARG: unknown level or component, with a
 * suggestion, or an empty entry. */
sf_status_t sfd_log_parse(const char *spec, sfd_log_levels_t *levels_p) __attribute__((warn_unused_result));

/* Puts such a list into effect, or changes nothing and returns what sfd_log_parse does. */
sf_status_t sfd_log_configure(const char *spec) __attribute__((warn_unused_result));

/* The same on top of what is in effect: components that the list neither names nor means keep their levels. A bare
 * level holds for all, entries behind it for their components. */
sf_status_t sfd_log_adjust(const char *spec) __attribute__((warn_unused_result));

/* What is in effect, as such a list. */
#define SFD_LOG_SPEC_SIZE 256
void sfd_log_describe(char text[SFD_LOG_SPEC_SIZE]);

/* Whether lines begin with the time (UTC, milliseconds). Not at first. */
void sfd_log_show_time(bool show);

static inline bool sfd_log_enabled(sfd_log_component_t component, sfd_log_level_t level)
{
  return level <= sfd_log_levels.level[component];
}

/* Lines of levels warn and info that a component may print at once, and then each second: others are left out and
 * counted, as clients can provoke them. So are lines that nobody reads: printing does not wait. The count is printed
 * with the next line that can be. */
#define SFD_LOG_BURST 500
#define SFD_LOG_RATE 20

/* Prints one line whatever the level. Text may hold what a client sent: everything but printable ASCII is escaped
 * (\n, \t, \xHH), so that no client can forge a line or steer a terminal. Longer text than 991 bytes ends in "...".
 * Keeps errno. A write that fails is not reported anywhere, but for EAGAIN. */
void sfd_log_write(sfd_log_component_t component, sfd_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* sfd_log(component, level, format, ...): arguments are evaluated only if the component prints this level. */
#define sfd_log(component, level, ...)                                                                                 \
  do {                                                                                                                 \
    if (sfd_log_enabled(component, level))                                                                             \
      sfd_log_write(component, level, __VA_ARGS__);                                                                    \
  } while (0)

#endif
