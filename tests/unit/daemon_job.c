/* A daemon and a job: see daemon_job.h. */
#include "tests/unit/daemon_job.h"

#include <assert.h>

sftest_client_t clients[SFTEST_JOB_MAX];

static int32_t job_size;

static void setup(void)
{
  sftest_daemon_start(&daemon_);
  sftest_join_all(&daemon_, clients, "job", job_size);
}

static void teardown(void)
{
  sftest_drop_all(clients, job_size);
  sftest_daemon_expect_idle(&daemon_);
  sftest_daemon_stop(&daemon_);
}

void sftest_daemon_job(TCase *tcase, int32_t size)
{
  assert(size <= SFTEST_JOB_MAX);
  job_size = size;
  tcase_add_checked_fixture(tcase, setup, teardown);
}
