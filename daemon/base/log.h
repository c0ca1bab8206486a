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

/* X(id, name), the most important first. */
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

/* Level of each component: what is less important is not printed. */
typedef struct sfd_log_levels {
  uint8_t level[SFD_LOG_COMPONENTS];
} sfd_log_levels_t;

extern sfd_log_levels_t sfd_log_levels; /* info for all until sfd_log_configure */

/* Parses a list like "info,session=debug". A bare level is for all components that are not named (default info); the
 * last entry for a component wins. SF_ERR_ARG: unknown level or component, with a suggestion, or an empty entry. */
sf_status_t sfd_log_parse(const char *spec, sfd_log_levels_t *levels_p) __attribute__((warn_unused_result));

/* Applies a list; on errors of sfd_log_parse nothing changes. */
sf_status_t sfd_log_configure(const char *spec) __attribute__((warn_unused_result));

/* Applies a list on top of the present levels; a bare level changes all components, entries after it their components.
 * */
sf_status_t sfd_log_adjust(const char *spec) __attribute__((warn_unused_result));

/* The present levels as such a list. */
#define SFD_LOG_SPEC_SIZE 256
void sfd_log_describe(char text[SFD_LOG_SPEC_SIZE]);

/* Whether lines begin with the time (UTC, milliseconds); at first not. */
void sfd_log_show_time(bool show);

static inline bool sfd_log_enabled(sfd_log_component_t component, sfd_log_level_t level)
{
  return level <= sfd_log_levels.level[component];
}

/* Lines of levels warn and info that a component may print at once, and then per second. More are left out and counted,
 * as clients can provoke them; as are lines that nobody reads, as printing does not wait. The next line gives the
 * count. */
#define SFD_LOG_BURST 500
#define SFD_LOG_RATE 20

/* Prints one line at any level. Everything but printable ASCII is escaped (\n, \t, \xHH), so that text of clients can't
 * forge lines or steer a terminal. Text beyond 991 bytes ends in "...". Keeps errno. Failed writes are not reported. */
void sfd_log_write(sfd_log_component_t component, sfd_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* sfd_log(component, level, format, ...): arguments are evaluated only if the line is printed. */
#define sfd_log(component, level, ...)                                                                                 \
  do {                                                                                                                 \
    if (sfd_log_enabled(component, level))                                                                             \
      sfd_log_write(component, level, __VA_ARGS__);                                                                    \
  } while (0)

#endif
