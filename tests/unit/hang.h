/* The one limit of all that tests wait for. */
#ifndef SFTEST_HANG_H
#define SFTEST_HANG_H

/* Nothing in a test takes that long unless it hangs, by the monotonic clock. Verdicts depend on no other time. */
#define SFTEST_HANG_MS 400000

#endif
