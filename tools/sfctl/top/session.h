/* Session of sfctl top: connection and present table. */
#ifndef SFCTL_TOP_SESSION_H
#define SFCTL_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "tools/sfctl/connection.h"
#include "tools/sfctl/options.h"
#include "tools/sfctl/top/table.h"

typedef struct sfctl_top_session {
  const sfctl_options_t *options;
  int64_t delay_ms;
  const char *job; /* NULL: all */
  int sort;        /* column */
  bool ascending;
  sfctl_top_table_t table;
  bool connected;
  sfctl_connection_t connection;
} sfctl_top_session_t;

/* Takes a new sample and sorts it; connects if needed. Errors of sfctl_connect and sfctl_collect; the next call
 * connects again. */
sf_status_t sfctl_top_refresh(sfctl_top_session_t *session);

/* The error of nodes whose rows the last sample lacks, or SF_OK. Call it after a refresh without error. */
sf_status_t sfctl_top_check_missing(const sfctl_top_session_t *session);

#endif
