/* Findings of sfctl doctor, one per check. */
#ifndef SFCTL_DOCTOR_REPORT_H
#define SFCTL_DOCTOR_REPORT_H

#include <stddef.h>
#include <stdio.h>

typedef enum sfctl_verdict { SFCTL_FINE, SFCTL_WARNING, SFCTL_PROBLEM } sfctl_verdict_t;

typedef struct sfctl_finding {
  const char *check; /* static storage */
  sfctl_verdict_t verdict;
  char found[400];
  char advice[240]; /* what to do; "": none */
} sfctl_finding_t;

#define SFCTL_REPORT_MAX 32 /* more than there are checks */

/* Start with {0}. */
typedef struct sfctl_report {
  sfctl_finding_t findings[SFCTL_REPORT_MAX];
  size_t count;
} sfctl_report_t;

/* Long texts are cut. */
void sfctl_report_add(sfctl_report_t *report, const char *check, sfctl_verdict_t verdict, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Advice on the last finding. */
void sfctl_report_advise(sfctl_report_t *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Number of findings with that verdict. */
size_t sfctl_report_count(const sfctl_report_t *report, sfctl_verdict_t verdict);

/* One line per finding, and a summary; or an array of objects with names that docs/man/sfctl.1 lists. Write errors stay
 * in the stream. */
void sfctl_report_print_text(const sfctl_report_t *report, FILE *file);
void sfctl_report_print_json(const sfctl_report_t *report, FILE *file);

#endif
