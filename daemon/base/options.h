/* Options of the daemon: one table for the command line, the environment, the configuration file, --help and
 * --print-config. docs/man/sfd.8 describes each; its test compares both. An option NAME is --NAME VALUE or
 * --NAME=VALUE, SFD_NAME (capitals, dashes to underscores) in the environment, or a line "NAME = VALUE" of the file of
 * option config. Precedence: command line, environment, file, default; within one source the last value. All values are
 * checked, also overridden ones. */
#ifndef SFD_BASE_OPTIONS_H
#define SFD_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

typedef enum sfd_option_type {
  SFD_OPTION_PATH,    /* char *, "": none */
  SFD_OPTION_LEVELS,  /* char *, as sfd_log_parse takes it */
  SFD_OPTION_CHOICE,  /* char *: one of the words of unit, separated by |, or the default; "yes|no|...": as BOOL, too */
  SFD_OPTION_INTEGER, /* int64_t */
  SFD_OPTION_SECONDS, /* int64_t milliseconds; written as decimal seconds */
  SFD_OPTION_BOOL,    /* bool: yes or no; --NAME alone means yes */
  SFD_OPTION_ACTION,  /* bool: --NAME without value */
} sfd_option_type_t;

/* In order of precedence. */
typedef enum sfd_option_source {
  SFD_SOURCE_DEFAULT,
  SFD_SOURCE_FILE,
  SFD_SOURCE_ENVIRONMENT,
  SFD_SOURCE_COMMAND_LINE,
} sfd_option_source_t;

typedef struct sfd_option {
  const char *name;
  sfd_option_type_t type;
  sfd_option_source_t lowest; /* lowest source that may set it */
  size_t offset;              /* in sfd_options_t */
  const char *default_text;
  int64_t min, max; /* of INTEGER and SECONDS (milliseconds) */
  const char *unit; /* kind of value, for --help */
  const char *help;
} sfd_option_t;

#define SFD_OPTION_COUNT 32

/* Source of an effective value. */
typedef struct sfd_option_origin {
  sfd_option_source_t source;
  int line; /* of the file */
} sfd_option_origin_t;

/* Effective values; text is owned. */
typedef struct sfd_options {
  char *config;
  char *socket;
  int64_t join_timeout_ms;
  int64_t hello_timeout_ms;
  char *fabric;
  char *peers;
  int64_t node; /* -1: from the list of peers */
  char *peer_auth;
  char *peer_key;
  char *munge_socket;
  char *bind;
  int64_t fabric_fd; /* -1: none */
  char *plugin_dir;
  char *cluster;
  int64_t connect_timeout_ms;
  int64_t max_clients;
  int64_t max_ranks;
  int64_t max_segments;
  int64_t max_regions;
  int64_t max_exchange_memory; /* MiB; -1: depends on the users served */
  int64_t max_device_memory;   /* MiB; -1: no limit */
  char *calibrate;
  int64_t offload_workers; /* -1: by the number of cores */
  int64_t stall_after_ms;  /* 0: never */
  char *metrics;
  char *log_level;
  bool log_time;
  int64_t ready_fd; /* -1: none */
  char *make_key;   /* "": none */
  bool print_config;
  bool help;
  bool version;
  sfd_option_origin_t origin[SFD_OPTION_COUNT];
} sfd_options_t;

/* The table, in the order of printing. */
const sfd_option_t *sfd_options_table(size_t *count_p);

/* Parses all sources; argv and environment end with NULL. With help or version on the command line, the other sources
 * are not read. Neither prints nor exits. Free with sfd_options_free. SF_ERR_ARG: unknown name (with a suggestion), bad
 * value (with what was expected) or malformed line (with FILE:LINE); SF_ERR_SYS: the file can't be read; SF_ERR_LIMIT:
 * the file is longer than 1 MiB; SF_ERR_NOMEM. */
sf_status_t sfd_options_parse(int argc, char *const argv[], char *const environment[], sfd_options_t *options_p)
    __attribute__((warn_unused_result));
void sfd_options_free(sfd_options_t *options); /* NULL is accepted */

/* Source of an option's value, by index in the table: "default", "FILE:LINE", "environment SFD_NAME" or "command line".
 * */
#define SFD_OPTION_ORIGIN_SIZE 4128
void sfd_options_origin(const sfd_options_t *options, size_t index, char *text, size_t size);

/* Text of --help. */
void sfd_options_print_help(FILE *stream);

/* Text of --print-config: a configuration file with the effective values and their sources; options that a file can't
 * set are commented out. */
void sfd_options_print_config(const sfd_options_t *options, FILE *stream);

#endif
