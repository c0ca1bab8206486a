/* The command line of cg. */
#ifndef EXAMPLES_CG_OPTIONS_H
#define EXAMPLES_CG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cg_options {
  int32_t grid[3];    /* points of the Poisson problem; used if matrix is NULL */
  const char *matrix; /* Matrix Market file */
  int32_t max_iterations;
  bool help;
} cg_options_t;

extern const char cg_usage[];

/* Fills in what the command line says, and defaults. False with a text in message if it makes no sense. */
bool cg_options_parse(int argc, char *argv[], cg_options_t *options_p, char message[], size_t message_bytes);

#endif
