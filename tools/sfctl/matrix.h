/* sfctl matrix: traffic between ranks or nodes. */
#ifndef SFCTL_MATRIX_H
#define SFCTL_MATRIX_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* Prints a heat map, CSV, SVG or JSON, of all traffic or of that during --interval. SF_ERR_ARG: job and graph don't
 * match; errors of sfctl_collect. */
sf_status_t sfctl_matrix(const sfctl_options_t *options, FILE *file);

#endif
