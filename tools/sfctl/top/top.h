/* sfctl top: refreshed rates of jobs, ranks, graphs, arrays or channels. */
#ifndef SFCTL_TOP_TOP_H
#define SFCTL_TOP_TOP_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* SF_ERR_ARG: no such view, or no such column to sort by. */
sf_status_t sfctl_top_check(const sfctl_options_t *options);

/* Full screen until ended, if standard input and output are a suitable terminal; else, or with --batch or --json, lines
 * to file. Errors of sfctl_top_check and sfctl_collect. */
sf_status_t sfctl_top(const sfctl_options_t *options, FILE *file);

#endif
