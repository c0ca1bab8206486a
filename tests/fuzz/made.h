/* Fuzz targets without libFuzzer: ordinary programs that make up their inputs. For the file of the target alone. */
#ifndef SFTEST_FUZZ_MADE_H
#define SFTEST_FUZZ_MADE_H

#include <stddef.h>

#include "tests/unit/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SFTEST_MADE_MAX (1u << 18)

typedef struct sftest_made {
  size_t size;
  uint8_t bytes[SFTEST_MADE_MAX];
} sftest_made_t;

static uint64_t random_state;

static inline unsigned below(unsigned limit)
{
  return sftest_random(&random_state) % limit;
}

/* Changes a few of the first reach bytes, and now and then cuts something off at the end. */
static inline void spoil_bytes(uint8_t bytes[], size_t *size, size_t reach)
{
  static const uint8_t interesting[] = {0, 1, 2, 15, 16, 31, 32, 33, 40, 64, 65, 0x7f, 0x80, 0xff};
  for (unsigned n = 1 + below(3); n > 0; n--) {
    uint8_t *byte = &bytes[below((unsigned)reach)];
    uint8_t flipped = (uint8_t)(*byte ^ (1u << below(8)));
    *byte = below(2) ? interesting[below(sizeof interesting)] : flipped;
  }
  if (below(4) == 0)
    *size = 1 + below((unsigned)*size);
}

/* What main is to return. make: fills in an input, by chance from below alone. */
static inline int run_rounds(const char *name, unsigned rounds, void (*make)(sftest_made_t *input))
{
  static sftest_made_t input;
  unsigned seed = sftest_seed(1);
  for (unsigned round = 0; round < rounds; round++) {
    random_state = sftest_random_start(seed, round);
    make(&input);
    LLVMFuzzerTestOneInput(input.bytes, input.size);
  }
  printf("%s: %u inputs\n", name, rounds);
  return EXIT_SUCCESS;
}

#endif
