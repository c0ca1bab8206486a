/* A daemon that serves one job, whose ranks are clients of the test: the fixture of tests of what a running job does.
 */
#ifndef SFTEST_DAEMON_JOB_H
#define SFTEST_DAEMON_JOB_H

#include "tests/unit/daemon_fixture.h"

#define SFTEST_JOB_MAX 4

extern sftest_client_t clients[SFTEST_JOB_MAX];

/* Before each test of the case a daemon is started, and so many clients join job "job"; after it they have gone, and
 * the daemon with nothing left. */
void sftest_daemon_job(TCase *tcase, int32_t size);

#endif
