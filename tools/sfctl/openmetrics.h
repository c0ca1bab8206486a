/* OpenMetrics text (the OpenMetrics specification 1.0) as a stream of families and samples. */
#ifndef SFCTL_OPENMETRICS_H
#define SFCTL_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

/* Start with {.file = file}. No memory of its own; write errors stay in the stream. */
typedef struct sfctl_openmetrics {
  FILE *file;
  char family[64]; /* whose samples follow */
  int nlabels;     /* of the sample that is being written */
} sfctl_openmetrics_t;

/* prefix and name make the family's name, which ends in _unit if there is one (NULL: none). The help needs no escaping.
 * All samples of a family follow it. */
void sfctl_openmetrics_family(sfctl_openmetrics_t *metrics, const char *prefix, const char *name, const char *type,
                              const char *unit, const char *help);

/* A sample: begin, labels, value. suffix: "_total" of counters, "_info" of infos, else "". */
void sfctl_openmetrics_begin(sfctl_openmetrics_t *metrics, const char *suffix);
/* Each byte of the text that is not part of valid UTF-8 becomes U+FFFD. */
void sfctl_openmetrics_label(sfctl_openmetrics_t *metrics, const char *name, const char *text);
void sfctl_openmetrics_label_uint(sfctl_openmetrics_t *metrics, const char *name, uint64_t value);
void sfctl_openmetrics_label_int(sfctl_openmetrics_t *metrics, const char *name, int64_t value);
void sfctl_openmetrics_uint(sfctl_openmetrics_t *metrics, uint64_t value);
void sfctl_openmetrics_int(sfctl_openmetrics_t *metrics, int64_t value);
void sfctl_openmetrics_double(sfctl_openmetrics_t *metrics, double value);

void sfctl_openmetrics_end(sfctl_openmetrics_t *metrics);

#endif
