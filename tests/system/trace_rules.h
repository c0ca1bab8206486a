/* Files of sfctl trace: whether they hold to the rules of their format, and what is in them. */
#ifndef SFTEST_TRACE_RULES_H
#define SFTEST_TRACE_RULES_H

/* Reads the file, in place of the one before. Fails the test if it is not made of events. */
void sftest_trace_read(const char *path);
void sftest_trace_free(void);

/* Of what was read: every begin has its end, every flow its two ends, each within a slice, time does not go backwards
 * on a track, and slices of a track lie within each other or apart. Fails the test otherwise. */
void sftest_trace_check(void);

/* Events of that phase whose names begin so. */
int sftest_trace_count(char phase, const char *name);

/* And of which process. When the first of them begins and the last one ends, in microseconds; 0 and 0: there are none.
 */
typedef struct sftest_trace_span {
  double begin_us, end_us;
} sftest_trace_span_t;
sftest_trace_span_t sftest_trace_span(unsigned pid, char phase, const char *name);

#endif
