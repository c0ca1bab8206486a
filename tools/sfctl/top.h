/* sfctl top: what moves, refreshed: jobs, ranks, graphs or channels to other nodes, with rates a second. */
#ifndef SFCTL_TOP_H
#define SFCTL_TOP_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* Full screen, until somebody ends it, if standard input and output are a terminal; else, or with --batch or --json,
 * plain lines to file. SF_ERR_ARG: no such column to sort by; others as sfctl_collect. */
sf_status_t sfctl_top(const sfctl_options_t *options, FILE *file);

#endif
