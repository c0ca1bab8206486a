/* sfctl matrix: who sends how much to whom. */
#ifndef SFCTL_MATRIX_H
#define SFCTL_MATRIX_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* Prints a heat map, CSV, SVG or JSON, of all since the beginning or of what was sent during --interval. SF_ERR_ARG:
 * job and graph don't go together; others as sfctl_collect. */
sf_status_t sfctl_matrix(const sfctl_options_t *options, FILE *file);

#endif
