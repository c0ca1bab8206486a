/* A naive model of what kernels combine, one element at a time, written without looking at how the kernels do it; and
 * random data for it. */
#ifndef SFTEST_KERNEL_MODEL_H
#define SFTEST_KERNEL_MODEL_H

#include "shm/kernels/kernels.h"
#include "tests/unit/runner.h"

void sftest_kernel_start(unsigned seed, int test_index);

int64_t sftest_kernel_below(int64_t bound);

void sftest_kernel_model(sfshm_unit_t unit, sfshm_op_t op, unsigned char *to, const unsigned char *from);

/* Values for a number of units. Exactly as long as it must be, at an odd address every other time. */
typedef struct sftest_data {
  unsigned char *memory; /* to be freed */
  unsigned char *start;
  size_t len_bytes;
} sftest_data_t;

sftest_data_t sftest_data_new(sfshm_unit_t unit, int64_t nunits);

unsigned char *sftest_data_copy(const sftest_data_t *data);

/* One assertion for all elements: Check writes to a pipe for each. */
void sftest_expect_data(const sftest_data_t *data, const unsigned char *expected, sfshm_unit_t unit, sfshm_op_t op);

unsigned char *sftest_vertex(unsigned char *array, sfshm_unit_t unit, int64_t number);

#endif
