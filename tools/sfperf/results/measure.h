/* Interleaved measurement: in every repetition each contender is timed once, so that whatever disturbs the machine
 * disturbs all of them, and values of the same repetition can be compared. */
#ifndef SFPERF_RESULTS_MEASURE_H
#define SFPERF_RESULTS_MEASURE_H

#include <stdint.h>
#include <time.h>

#define SFPERF_MAX_REPS 101

typedef struct sfperf_contender {
  const char *name;                               /* stable: appears in tables and JSON */
  double (*run)(void *state, int64_t iterations); /* runs so many iterations, returns the seconds that count */
  void *state;                                    /* given to run */
  int operations;                                 /* in an iteration: samples are per operation */
  double samples_us[SFPERF_MAX_REPS];             /* result: time of one operation in each repetition */
} sfperf_contender_t;

typedef struct sfperf_measure {
  int reps;        /* repetitions, 1..SFPERF_MAX_REPS */
  double sample_s; /* about how long one sample shall take */
} sfperf_measure_t;

/* Seconds of a clock that only goes forward. */
static inline double sfperf_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Fills the samples of all contenders. A sample is the time of the slowest rank. Collective. */
void sfperf_measure(const sfperf_measure_t *measure, sfperf_contender_t contenders[], int count);

#endif
