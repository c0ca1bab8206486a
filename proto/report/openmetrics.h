/* OpenMetrics text (the OpenMetrics specification 1.0) as a stream of families and samples. */
#ifndef SFREPORT_OPENMETRICS_H
#define SFREPORT_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

/* Start with {.file = file}. No memory of its own; write errors stay in the stream. */
typedef struct sfreport_openmetrics {
  FILE *file;
  char family[64]; /* whose samples follow */
  int nlabels;     /* of the sample that is being written */
} sfreport_openmetrics_t;

/* prefix and name make the family's name, which ends in _unit if there is one (NULL: none). The help needs no escaping.
 * All samples of a family follow it. */
void sfreport_openmetrics_family(sfreport_openmetrics_t *metrics, const char *prefix, const char *name,
                                 const char *type, const char *unit, const char *help);

/* A sample: begin, labels, value. suffix: "_total" of counters, "_info" of infos, "_bucket",
 * "_count" and "_sum" of histograms, else "". */
void sfreport_openmetrics_begin(sfreport_openmetrics_t *metrics, const char *suffix);
/* Each byte of the text that is not part of valid UTF-8 becomes U+FFFD. */
void sfreport_openmetrics_label(sfreport_openmetrics_t *metrics, const char *name, const char *text);
void sfreport_openmetrics_label_uint(sfreport_openmetrics_t *metrics, const char *name, uint64_t value);
void sfreport_openmetrics_label_int(sfreport_openmetrics_t *metrics, const char *name, int64_t value);
void sfreport_openmetrics_label_double(sfreport_openmetrics_t *metrics, const char *name, double value);
void sfreport_openmetrics_uint(sfreport_openmetrics_t *metrics, uint64_t value);
void sfreport_openmetrics_int(sfreport_openmetrics_t *metrics, int64_t value);
void sfreport_openmetrics_double(sfreport_openmetrics_t *metrics, double value);

/* Exactly. */
void sfreport_openmetrics_seconds(sfreport_openmetrics_t *metrics, uint64_t ns);

void sfreport_openmetrics_end(sfreport_openmetrics_t *metrics);

#endif
