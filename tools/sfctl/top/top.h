/* sfctl top: what moves, refreshed: jobs, ranks, graphs or channels to other nodes, with rates a second. */
#ifndef SFCTL_TOP_TOP_H
#define SFCTL_TOP_TOP_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* SF_ERR_ARG: there is no such view, or no such column to sort by. */
sf_status_t sfctl_top_check(const sfctl_options_t *options);

/* Full screen, until somebody ends it, if standard input and output are a terminal that can have one; else, or with
 * --batch or --json, plain lines to file. Errors as of sfctl_top_check and sfctl_collect. */
sf_status_t sfctl_top(const sfctl_options_t *options, FILE *file);

#endif
