/* OpenMetrics text: see openmetrics.h. One thread. */
#include "proto/report/openmetrics.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "proto/report/text.h"

void sfreport_openmetrics_family(sfreport_openmetrics_t *metrics, const char *prefix, const char *name,
                                 const char *type, const char *help)
{
  const char *last = strrchr(name, '_');
  snprintf(metrics->family, sizeof metrics->family, "%s%s", prefix, name);
  fprintf(metrics->file, "# TYPE %s %s\n", metrics->family, type);
  if (last != NULL && (strcmp(last, "_seconds") == 0 || strcmp(last, "_bytes") == 0))
    fprintf(metrics->file, "# UNIT %s %s\n", metrics->family, last + 1);
  fprintf(metrics->file, "# HELP %s %s\n", metrics->family, help);
}

void sfreport_openmetrics_begin(sfreport_openmetrics_t *metrics, const char *suffix)
{
  fprintf(metrics->file, "%s%s", metrics->family, suffix);
  metrics->nlabels = 0;
}

/* ---- Labels ---- */

static void begin_label(sfreport_openmetrics_t *metrics, const char *name)
{
  fprintf(metrics->file, "%c%s=\"", metrics->nlabels++ == 0 ? '{' : ',', name);
}

static void write_escaped(FILE *file, const char *text)
{
  while (*text != '\0') {
    size_t length = sfreport_text_utf8_length(text);
    if (length == 0)
      fputs("\xef\xbf\xbd", file);
    else if (*text == '\n')
      fputs("\\n", file);
    else if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else
      fwrite(text, 1, length, file);
    text += length > 0 ? length : 1;
  }
}

void sfreport_openmetrics_label(sfreport_openmetrics_t *metrics, const char *name, const char *text)
{
  begin_label(metrics, name);
  write_escaped(metrics->file, text);
  fputc('"', metrics->file);
}

void sfreport_openmetrics_label_uint(sfreport_openmetrics_t *metrics, const char *name, uint64_t value)
{
  begin_label(metrics, name);
  fprintf(metrics->file, "%" PRIu64 "\"", value);
}

void sfreport_openmetrics_label_int(sfreport_openmetrics_t *metrics, const char *name, int64_t value)
{
  begin_label(metrics, name);
  fprintf(metrics->file, "%" PRId64 "\"", value);
}

void sfreport_openmetrics_label_double(sfreport_openmetrics_t *metrics, const char *name, double value)
{
  begin_label(metrics, name);
  fprintf(metrics->file, "%.10g\"", value);
}

/* ---- Values ---- */

static void end_labels(sfreport_openmetrics_t *metrics)
{
  fputs(metrics->nlabels > 0 ? "} " : " ", metrics->file);
}

void sfreport_openmetrics_uint(sfreport_openmetrics_t *metrics, uint64_t value)
{
  end_labels(metrics);
  fprintf(metrics->file, "%" PRIu64 "\n", value);
}

void sfreport_openmetrics_int(sfreport_openmetrics_t *metrics, int64_t value)
{
  end_labels(metrics);
  fprintf(metrics->file, "%" PRId64 "\n", value);
}

void sfreport_openmetrics_double(sfreport_openmetrics_t *metrics, double value)
{
  end_labels(metrics);
  if (isfinite(value))
    fprintf(metrics->file, "%.3f\n", value);
  else
    fputs("NaN\n", metrics->file);
}

void sfreport_openmetrics_seconds(sfreport_openmetrics_t *metrics, uint64_t ns)
{
  end_labels(metrics);
  fprintf(metrics->file, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

void sfreport_openmetrics_end(sfreport_openmetrics_t *metrics)
{
  fputs("# EOF\n", metrics->file);
}
