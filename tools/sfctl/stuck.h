/* sfctl stuck: operations that ranks have waited for too long, and who has not begun them. */
#ifndef SFCTL_STUCK_H
#define SFCTL_STUCK_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/stuck.h"
#include "tools/sfctl/options.h"

/* What is known of the ranks, and how. */
typedef struct sfctl_states {
  sfreport_list_t list;    /* RankState messages */
  sfreport_list_t missing; /* NodeMissing messages: nodes that do not answer */
  bool silent;             /* the daemon does not answer: from the memory of this node's ranks */
} sfctl_states_t;

/* Ranks that have been too long in a call that others have to make, too. */
size_t sfctl_stuck_count_blocked(const sfctl_states_t *states, int64_t threshold_ms);

/* Collects, finds, prints. *stuck_p: whether something is. */
sf_status_t sfctl_stuck(const sfctl_options_t *options, FILE *file, bool *stuck_p);

/* Prints what has been found, in tables of that width (0: no end); names in JSON are listed in docs/man/sfctl.1. */
sf_status_t sfctl_stuck_print_text(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                                   int width, FILE *file);
void sfctl_stuck_print_json(const sfctl_states_t *states, const sfreport_stalls_t *stalls, int64_t threshold_ms,
                            FILE *file);

#endif
