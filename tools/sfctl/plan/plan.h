/* sfctl plan for a graph that does not exist: a matrix or grid on any number of ranks and nodes. */
#ifndef SFCTL_PLAN_PLAN_H
#define SFCTL_PLAN_PLAN_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* SF_ERR_ARG: invalid grid. */
sf_status_t sfctl_plan_check(const sfctl_options_t *options);

/* Prints a table, or an object with names that docs/man/sfctl.1 lists. SF_ERR_ARG, SF_ERR_SYS: invalid file or grid;
 * SF_ERR_LIMIT, SF_ERR_NOMEM. */
sf_status_t sfctl_plan(const sfctl_options_t *options, FILE *file);

#endif
