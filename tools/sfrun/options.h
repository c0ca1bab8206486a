/* Command line of sfrun: its options from one table, mpirun's options, and the program. All options that are not in the
 * table are mpirun's. */
#ifndef SFRUN_OPTIONS_H
#define SFRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

typedef enum sfrun_launcher {
  SFRUN_LAUNCHER_MPIRUN = 0,
  SFRUN_LAUNCHER_LOCAL, /* without MPI */
} sfrun_launcher_t;

typedef enum sfrun_fabric {
  SFRUN_FABRIC_TCP = 0,
  SFRUN_FABRIC_MPI, /* the daemons are an MPI job */
} sfrun_fabric_t;

/* Texts point into argv. */
typedef struct sfrun_options {
  bool help, version, quiet;
  bool neighbors; /* sfd carries the neighborhood collectives of MPI */
  sfrun_launcher_t launcher;
  int32_t nnodes; /* --nodes; 0: not given */
  sfrun_distribution_t distribution;
  sfrun_fabric_t fabric;
  const char *job;          /* its name; NULL: not given */
  const char *hostfile;     /* NULL: not given */
  int32_t port;             /* of daemons on other hosts; 0: random */
  const char *mpirun;       /* NULL: not given */
  const char *sfd;          /* NULL: not given */
  const char *log_level;    /* NULL: not given */
  const char *daemon_log;   /* NULL: sfrun's standard error */
  int64_t grace_ms;         /* local launcher */
  const char **sfd_options; /* "KEY=VALUE", nsfd_options of them; owned */
  int nsfd_options;
  int32_t nranks;           /* 0: not given */
  const char **mpirun_args; /* in the order given, -n included, nmpirun_args of them; owned */
  int nmpirun_args;
  const char *unknown; /* option directly before the program that no table here has; NULL: none */
  char **program;      /* and its arguments, ended by NULL; NULL with help or version only */
} sfrun_options_t;

/* Fills *options_p; free with sfrun_options_free. --help and --version end parsing. SF_ERR_ARG names the option. */
sf_status_t sfrun_options_parse(int argc, char *argv[], sfrun_options_t *options_p);
void sfrun_options_free(sfrun_options_t *options);

/* If status is an error of finding the program, and the program follows an unknown option, of which it may be the
 * value: adds the option, and which one it may mean, to the text of the error. Returns status. */
sf_status_t sfrun_options_explain(const sfrun_options_t *options, sf_status_t status);

void sfrun_options_print_help(FILE *file);

#endif
