/* What sfctl shows of copies by the daemon's workers: the bytes of each rank, or that there are no workers. */
#include "tests/system/sfctl.h"
#include "tests/system/work.h"

static const char *const two_workers[] = {"--offload-workers=2", NULL};
static const char *const no_workers[] = {"--offload-workers=0", NULL};

enum { UNITS = 20000 };

typedef struct meeting {
  bool is_offloaded;
  _Atomic int32_t ndone;
  _Atomic bool over;
} meeting_t;

SFTEST_JOINED(exchange_and_stay)
{
  meeting_t *meeting = self->argument;
  sf_graph_t *graph;
  char *source, *target;
  sf_request_t *request;
  bool done = false;
  SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(double), (void **)&source));
  SFTEST_OK(self, sf_alloc(context, UNITS * sizeof(double), (void **)&target));
  SFTEST_OK(self, sftest_ring_create(world, UNITS, 0, &graph));
  source[UNITS * sizeof(double) - 1] = 1;
  SFTEST_OK(self, sf_bcast_begin(graph, SF_DOUBLE, source, target, SF_REPLACE, &request));
  while (meeting->is_offloaded && __atomic_load_n(&target[UNITS * sizeof(double) - 1], __ATOMIC_RELAXED) == 0)
    sftest_sleep_ms(1); /* else this rank would do it */
  while (!done) {
    SFTEST_OK(self, sf_test(&request, &done));
    sftest_sleep_ms(1);
  }
  meeting->ndone++;
  SFTEST_SLEEP_WHILE(!meeting->over);
  SFTEST_OK(self, sf_graph_destroy(graph));
}

/* Starts the exchange and looks at it when it is done. */
static void look(const sftest_node_t *node, sftest_job_t *job, meeting_t *meeting)
{
  sftest_job_start(job, node, 2, exchange_and_stay, meeting);
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while (meeting->ndone < 2 && sftest_now_ms() < until)
    sftest_sleep_ms(5);
  ck_assert_int_eq(meeting->ndone, 2);
  sftest_sfctl(node->socket, WORDS("ranks", "--json"), 0);
}

/* Until the daemon has counted what its workers copied, which it does after they have told the ranks. */
static void await_counts(const sftest_node_t *node)
{
  int64_t until = sftest_now_ms() + SFTEST_HANG_MS;
  while ((sftest_sfctl_number("\"rank\":0,", "offloaded_bytes") == 0 ||
          sftest_sfctl_number("\"rank\":1,", "offloaded_bytes") == 0) &&
         sftest_now_ms() < until)
    sftest_sfctl(node->socket, WORDS("ranks", "--json"), 0);
}

static void finish(sftest_job_t *job, meeting_t *meeting)
{
  meeting->over = true;
  sftest_job_end_well(job);
}

SFTEST(bytes_are_counted)
{
  sftest_node_t node;
  sftest_job_t job;
  meeting_t *meeting = sftest_shared(sizeof *meeting);
  meeting->is_offloaded = true;
  sftest_node_start(&node, two_workers);
  look(&node, &job, meeting);
  await_counts(&node);
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":0,", "offloaded_bytes"), UNITS * sizeof(double));
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":1,", "offloaded_bytes"), UNITS * sizeof(double));
  ck_assert_uint_eq(sftest_sfctl_number("\"rank\":0,", "ring_depth"), 0);
  sftest_sfctl(node.socket, WORDS("ranks"), 0);
  sftest_expect_in(sftest_sfctl_out, "OFFLOADED");
  sftest_expect_in(sftest_sfctl_out, "156.2 KiB");
  finish(&job, meeting);
  sftest_node_stop(&node);
}

SFTEST(off_is_off)
{
  sftest_node_t node;
  sftest_job_t job;
  meeting_t *meeting = sftest_shared(sizeof *meeting);
  sftest_node_start(&node, no_workers);
  look(&node, &job, meeting);
  sftest_expect_in(sftest_sfctl_out, "\"offloaded_bytes\":null");
  finish(&job, meeting);
  sftest_node_stop(&node);
}
