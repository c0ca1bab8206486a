/* OpenMetrics text (the OpenMetrics specification 1.0) as a stream of families and samples. */
#ifndef SFREPORT_OPENMETRICS_H
#define SFREPORT_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

/* Start with {.file = file}. Owns no memory; write errors stay in the stream. */
typedef struct sfreport_openmetrics {
  FILE *file;
  char family[64]; /* family of the next samples */
  int nlabels;     /* of the present sample */
} sfreport_openmetrics_t;

/* Begins the family prefix + name; its unit is its end: _seconds, _bytes. help is not escaped. All samples of the
 * family follow. */
void sfreport_openmetrics_family(sfreport_openmetrics_t *metrics, const char *prefix, const char *name,
                                 const char *type, const char *help);

/* A sample is begin, labels, value. suffix: "_total" (counters), "_info" (infos), "_bucket", "_count", "_sum"
 * (histograms), else "". */
void sfreport_openmetrics_begin(sfreport_openmetrics_t *metrics, const char *suffix);
/* Bytes that are not valid UTF-8 become U+FFFD. */
void sfreport_openmetrics_label(sfreport_openmetrics_t *metrics, const char *name, const char *text);
void sfreport_openmetrics_label_uint(sfreport_openmetrics_t *metrics, const char *name, uint64_t value);
void sfreport_openmetrics_label_int(sfreport_openmetrics_t *metrics, const char *name, int64_t value);
void sfreport_openmetrics_label_double(sfreport_openmetrics_t *metrics, const char *name, double value);
void sfreport_openmetrics_uint(sfreport_openmetrics_t *metrics, uint64_t value);
void sfreport_openmetrics_int(sfreport_openmetrics_t *metrics, int64_t value);
void sfreport_openmetrics_double(sfreport_openmetrics_t *metrics, double value);

/* Exact. */
void sfreport_openmetrics_seconds(sfreport_openmetrics_t *metrics, uint64_t ns);

void sfreport_openmetrics_end(sfreport_openmetrics_t *metrics);

#endif
