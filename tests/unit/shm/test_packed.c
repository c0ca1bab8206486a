/* Packed images: they come back as they were, and what somebody hostile has packed is refused. */
#include "shm/edges/packed.h"

#include "shm/base/error.h"
#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

#define MAX_WORDS 3000

static uint32_t words[MAX_WORDS];
static uint64_t state;

static uint32_t random_word(void)
{
  return (uint32_t)sftest_random(&state) << 16 ^ (uint32_t)sftest_random(&state);
}

/* Words of at most so many bits from a base on. */
static void fill(size_t nwords, uint32_t base, unsigned bits)
{
  for (size_t i = 0; i < nwords; i++)
    words[i] = base + (bits == 0 ? 0 : random_word() >> (32 - bits));
}

static void expect_back(const void *packed, size_t packed_bytes, size_t nwords)
{
  void *image;
  size_t image_bytes;
  ck_assert(sfshm_is_packed(packed, packed_bytes));
  ck_assert_int_eq(sfshm_unpack(packed, packed_bytes, &image, &image_bytes), SF_OK);
  ck_assert_uint_eq(image_bytes, nwords * 4);
  ck_assert_mem_eq(image, words, image_bytes);
  free(image);
}

/* Packs the words; false if that would not be shorter. They come back. */
static bool round_trip(size_t nwords, size_t *packed_bytes_p)
{
  void *packed;
  if (!sfshm_pack(words, nwords * 4, &packed, packed_bytes_p))
    return false;
  expect_back(packed, *packed_bytes_p, nwords);
  free(packed);
  return true;
}

static void expect_round_trip(size_t nwords, unsigned bits)
{
  size_t nblocks = (nwords + SFSHM_PACKED_WORDS - 1) / SFSHM_PACKED_WORDS, packed_bytes = 0;
  size_t most = sizeof(sfshm_packed_header_t) + nblocks * (sizeof(sfshm_packed_block_t) + 32 * (size_t)bits);
  ck_assert(round_trip(nwords, &packed_bytes) || most >= nwords * 4);
  ck_assert_uint_le(packed_bytes, most);
}

static void setup(void)
{
  state = sftest_random_start(sftest_seed(1), 0);
}

SFTEST_FIXTURE(setup, NULL);

SFTEST(words_of_every_width_come_back)
{
  static const size_t lengths[] = {256, 257, 511, 512, 1000, MAX_WORDS};
  for (unsigned bits = 0; bits < 32; bits++) {
    const uint32_t highest = UINT32_MAX - ((UINT32_C(1) << bits) - 1), bases[] = {0, random_word() >> 1, highest};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
      for (size_t k = 0; k < sizeof bases / sizeof bases[0]; k++) {
        fill(lengths[i], bases[k], bits);
        expect_round_trip(lengths[i], bits);
      }
  }
}

SFTEST(a_wide_block_comes_back_from_among_narrow_ones)
{
  size_t packed_bytes;
  fill(MAX_WORDS, 1000, 9);
  words[300] = 0;
  words[301] = UINT32_MAX;
  ck_assert(round_trip(MAX_WORDS, &packed_bytes));
}

SFTEST(what_would_not_be_shorter_is_not_packed)
{
  void *packed;
  size_t packed_bytes;
  fill(MAX_WORDS, 0, 32);
  words[0] = 0;
  ck_assert(!sfshm_pack(words, sizeof words, &packed, &packed_bytes));
  ck_assert(!sfshm_pack(words, 4, &packed, &packed_bytes));
  fill(4, 9, 0);
  ck_assert(!sfshm_pack(words, 16, &packed, &packed_bytes));
}

/* ---- Hostile ones ------------------------------------------------------------------------------------------------ */

/* Two blocks of 7 bits, the second with 44 words of the image. */
typedef struct bytes {
  sfshm_packed_header_t header;
  sfshm_packed_block_t first;
  uint32_t stream[8 * 7];
  sfshm_packed_block_t second;
  uint32_t more[8 * 7];
} bytes_t;

static bytes_t make_bytes(void)
{
  return (bytes_t){.header = {SFSHM_PACKED_MAGIC, 0, 4 * 300}, .first = {5, 7}, .second = {100, 7}};
}

static sf_status_t unpack(const void *packed, size_t packed_bytes)
{
  void *image, *exact = malloc(packed_bytes + 1); /* so that a sanitizer sees what lies behind */
  size_t image_bytes;
  memcpy(exact, packed, packed_bytes);
  sf_status_t status = sfshm_unpack(exact, packed_bytes, &image, &image_bytes);
  if (status == SF_OK)
    free(image);
  free(exact);
  return status;
}

#define REFUSED(change)                                                                                                \
  do {                                                                                                                 \
    bytes_t bytes = make_bytes();                                                                                      \
    change;                                                                                                            \
    ck_assert_int_eq(unpack(&bytes, sizeof bytes), SF_ERR_PROTO);                                                      \
  } while (0)

SFTEST(malformed_ones_are_refused)
{
  bytes_t good = make_bytes();
  ck_assert_int_eq(unpack(&good, sizeof good), SF_OK);
  REFUSED(bytes.header.magic++);
  REFUSED(bytes.header.reserved = 1);
  REFUSED(bytes.header.image_bytes = 0);
  REFUSED(bytes.header.image_bytes = 4 * 300 + 2);
  REFUSED(bytes.header.image_bytes = 4 * 256); /* a block too many */
  REFUSED(bytes.header.image_bytes = 4 * 513); /* one too few */
  REFUSED(bytes.header.image_bytes = UINT64_MAX - 3);
  REFUSED(bytes.header.image_bytes = UINT64_C(1) << 40);
  REFUSED(bytes.first.width = 33);
  REFUSED(bytes.first.width = 8);
  REFUSED(bytes.second.width = 8);
  REFUSED(bytes.second.width = 6);
  REFUSED(bytes.second.width = UINT32_MAX);
}

SFTEST(every_piece_of_one_is_refused)
{
  bytes_t good = make_bytes();
  for (size_t n = 0; n < sizeof good; n++)
    ck_assert_int_eq(unpack(&good, n), SF_ERR_PROTO);
}
