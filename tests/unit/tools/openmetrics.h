/* The rules of OpenMetrics for the text of metrics; and that the man page of sfctl names every family in it. */
#ifndef SFTEST_OPENMETRICS_H
#define SFTEST_OPENMETRICS_H

#include "tests/unit/runner.h"

/* Fails the test if the text breaks a rule. */
void sftest_check_openmetrics(const char *text);

/* Families in the text that was checked last. */
int sftest_openmetrics_families(void);

#endif
