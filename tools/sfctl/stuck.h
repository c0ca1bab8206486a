/* sfctl stuck: operations that ranks have waited for too long, and the ranks that have not begun them. */
#ifndef SFCTL_STUCK_H
#define SFCTL_STUCK_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/stuck.h"
#include "tools/sfctl/options.h"

/* States of ranks. */
typedef struct sfctl_states {
  sfreport_list_t list;    /* RankState messages */
  sfreport_list_t missing; /* NodeMissing messages: nodes that do not answer */
  bool silent;             /* read from memory, as the daemon does not answer */
} sfctl_states_t;

/* Number of ranks that have been too long in a collective call other than an operation. */
size_t sfctl_stuck_count_blocked(const sfctl_states_t *states, int64_t threshold_ms);

/* Number of ranks with requests on arrays that a node has not answered for so long. */
size_t sfctl_stuck_count_arrays(const sfctl_states_t *states, int64_t threshold_ms);

/* Collects, finds and prints; *stuck_p: there is something. */
sf_status_t sfctl_stuck(const sfctl_options_t *options, FILE *file, bool *stuck_p);

/* Prints results, in tables of that width (0: unlimited); docs/man/sfctl.1 lists the names in JSON. */
sf_status_t sfctl_stuck_print_text(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                                   int width, FILE *file);
void sfctl_stuck_print_json(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                            FILE *file);

#endif
