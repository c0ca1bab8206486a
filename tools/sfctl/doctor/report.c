/* Findings: see report.h. The one thread of sfctl. */
#include "tools/sfctl/doctor/report.h"

#include <assert.h>
#include <stdarg.h>

#include "proto/report/text.h"
#include "tools/sfctl/print/json.h"

static const char *name_of(sfctl_verdict_t verdict)
{
  return verdict == SFCTL_FINE ? "ok" : verdict == SFCTL_WARNING ? "warning" : "problem";
}

void sfctl_report_add(sfctl_report_t *report, const char *check, sfctl_verdict_t verdict, const char *format, ...)
{
  va_list args;
  assert(report->count < SFCTL_REPORT_MAX);
  sfctl_finding_t *finding = &report->findings[report->count++];
  finding->check = check;
  finding->verdict = verdict;
  finding->advice[0] = '\0';
  va_start(args, format);
  vsnprintf(finding->found, sizeof finding->found, format, args);
  va_end(args);
}

void sfctl_report_advise(sfctl_report_t *report, const char *format, ...)
{
  va_list args;
  assert(report->count > 0);
  sfctl_finding_t *finding = &report->findings[report->count - 1];
  va_start(args, format);
  vsnprintf(finding->advice, sizeof finding->advice, format, args);
  va_end(args);
}

size_t sfctl_report_count(const sfctl_report_t *report, sfctl_verdict_t verdict)
{
  size_t count = 0;
  for (size_t i = 0; i < report->count; i++)
    count += report->findings[i].verdict == verdict;
  return count;
}

void sfctl_report_print_text(const sfctl_report_t *report, FILE *file)
{
  for (size_t i = 0; i < report->count; i++) {
    const sfctl_finding_t *finding = &report->findings[i];
    char found[SFREPORT_PRINTABLE_SIZE(sizeof finding->found)], advice[SFREPORT_PRINTABLE_SIZE(sizeof finding->advice)];
    sfreport_text_printable(finding->found, found, sizeof found);
    sfreport_text_printable(finding->advice, advice, sizeof advice);
    fprintf(file, "%-7s  %-10s  %s%s%s\n", name_of(finding->verdict), finding->check, found,
            advice[0] != '\0' ? " -> " : "", advice);
  }
  size_t warnings = sfctl_report_count(report, SFCTL_WARNING), problems = sfctl_report_count(report, SFCTL_PROBLEM);
  fprintf(file, "%zu ok, %zu warning%s, %zu problem%s\n", sfctl_report_count(report, SFCTL_FINE), warnings,
          warnings == 1 ? "" : "s", problems, problems == 1 ? "" : "s");
}

void sfctl_report_print_json(const sfctl_report_t *report, FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_array(&json, NULL);
  for (size_t i = 0; i < report->count; i++) {
    const sfctl_finding_t *finding = &report->findings[i];
    sfctl_json_object(&json, NULL, SFCTL_FIELD(finding, check), SFCTL_MEMBER("verdict", name_of(finding->verdict)),
                      SFCTL_FIELD(finding, found),
                      SFCTL_MEMBER("advice", finding->advice[0] != '\0' ? finding->advice : NULL));
  }
  sfctl_json_end_array(&json);
}
