/* Command-line options of the tools: one table row per option parses it, stores its value and documents it. Texts of
 * values point into argv. */
#ifndef SFTOOL_OPTIONS_H
#define SFTOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

typedef enum sftool_kind {
  SFTOOL_FLAG,    /* bool: true */
  SFTOOL_NO_FLAG, /* bool: false */
  SFTOOL_TEXT,    /* const char *, not empty */
  SFTOOL_WORD,    /* const char *: one of the words of argument, which | separates */
  SFTOOL_CHOICE,  /* int32_t: index of one of the words of argument */
  SFTOOL_INTEGER, /* int64_t from min to max */
  SFTOOL_INT,     /* int32_t from min to max */
  SFTOOL_SECONDS, /* int64_t milliseconds from min to max, given as decimal seconds */
  SFTOOL_OWN,     /* parsed by parse */
} sftool_kind_t;

typedef struct sftool_option {
  const char *name, *argument, *help; /* argument NULL: takes no value */
  sftool_kind_t kind;
  size_t offset;    /* of the field in the tool's options */
  const char *with; /* commands that take the option, with a blank around each; NULL: all */
  int64_t min, max;
  sf_status_t (*parse)(const struct sftool_option *option, void *options, const char *text);
} sftool_option_t;

/* The option of a word "--name" or "--name=value"; NULL: none. */
const sftool_option_t *sftool_option_find(const sftool_option_t table[], size_t n, const char *word);

/* Parses the option at argv[*at_p], with its value, and moves *at_p behind it. SF_ERR_ARG. */
sf_status_t sftool_option_take(const sftool_option_t *option, int argc, char *const argv[], int *at_p, void *options);

/* For an unknown option: its name, as "--name", and the name of the table that it may mean, as sfshm_suggest_hint
 * writes it. Returns whether there is one. */
#define SFTOOL_SPELLED_SIZE 64
#define SFTOOL_HINT_SIZE 64
bool sftool_option_suggest(const sftool_option_t table[], size_t n, const char *word, char spelled[SFTOOL_SPELLED_SIZE],
                           char hint[SFTOOL_HINT_SIZE]);

/* Whether the command takes the option. */
bool sftool_option_goes_with(const sftool_option_t *option, const char *command);

/* Parses a whole number. SF_ERR_ARG: the text begins with name. */
sf_status_t sftool_parse_integer(const char *name, const char *text, int64_t min, int64_t max, int64_t *value_p);

/* Prints a line of the help: prefix, name and argument, and from that column on the help, wrapped. */
void sftool_print_help(FILE *file, int column, const char *prefix, const char *name, const char *argument,
                       const char *help);

#endif
