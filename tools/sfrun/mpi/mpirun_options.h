/* Options of mpirun: which take arguments, so that the program's name can be found. */
#ifndef SFRUN_MPI_MPIRUN_OPTIONS_H
#define SFRUN_MPI_MPIRUN_OPTIONS_H

#include <stdbool.h>

/* Number of words that follow the option arg (with dashes): 0 for --name=value; -1: unknown. */
int sfrun_mpirun_option_arguments(const char *arg);

/* Whether arg is -name or --name, with or without =value. */
bool sfrun_mpirun_option_is(const char *arg, const char *name);

/* Whether one of args is one of names (ended by NULL). */
bool sfrun_mpirun_options_have(const char *const args[], int nargs, const char *const names[]);

#endif
