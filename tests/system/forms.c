/* Operations in all forms: see forms.h. Runs in ranks. */
#include "tests/system/forms.h"

#define ROUNDS 3 /* how often persistent requests are started */

static void fill(sftest_play_t *play, int32_t i)
{
  play->ended[i] = false;
  play->operations->fill(play->test, i, sftest_random(play->random));
}

static void begin(sftest_play_t *play, int32_t i)
{
  fill(play, i);
  sftest_at(play->self, "begin of operation %d, %s", i, play->operations->name(play->test, i));
  SFTEST_OK(play->self, play->operations->begin(play->test, i, &play->requests[i]));
}

/* Says and does it; whether the operation has ended. */
static bool try_to_end(sftest_play_t *play, int32_t i)
{
  static const char *const calls[] = {"sf_wait", "sf_test", "sf_wait_for"};
  int64_t way = play->form == SFTEST_END_BY_WAIT   ? 0
                : play->form == SFTEST_END_BY_TEST ? 1
                                                   : sftest_below(&play->own, 3);
  bool ended = true;
  sftest_at(play->self, "%s of operation %d, %s", calls[way], i, play->operations->name(play->test, i));
  if (way == 0)
    SFTEST_OK(play->self, sf_wait(&play->requests[i]));
  else if (way == 1)
    SFTEST_OK(play->self, sf_test(&play->requests[i], &ended));
  else
    SFTEST_OK(play->self, sf_wait_for(&play->requests[i], sftest_below(&play->own, 100000), &ended));
  return ended;
}

/* One of those begun: which, and how, is each rank's own choice. */
static void end_some(sftest_play_t *play, int32_t nbegun)
{
  int32_t first = (int32_t)sftest_below(&play->own, nbegun), i = first;
  while (play->ended[i] && (i = (i + 1) % nbegun) != first)
    ;
  if (play->ended[i] || !try_to_end(play, i))
    return;
  play->ended[i] = true;
  play->operations->check(play->test, i);
}

static bool all_ended(const sftest_play_t *play)
{
  for (int32_t i = 0; i < play->n; i++)
    if (!play->ended[i])
      return false;
  return true;
}

static void end_all(sftest_play_t *play)
{
  while (!all_ended(play))
    end_some(play, play->n);
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

static void play_blocking(sftest_play_t *play)
{
  for (int32_t i = 0; i < play->n; i++) {
    fill(play, i);
    sftest_at(play->self, "blocking operation %d, %s", i, play->operations->name(play->test, i));
    SFTEST_OK(play->self, play->operations->call(play->test, i));
    play->operations->check(play->test, i);
  }
}

static void play_split(sftest_play_t *play)
{
  for (int32_t i = 0; i < play->n; i++) {
    begin(play, i);
    if (play->form == SFTEST_END_ANYHOW && sftest_below(&play->own, 3) == 0)
      end_some(play, i + 1);
  }
  end_all(play);
}

/* Together, in another order than they were begun. */
static void play_wait_all(sftest_play_t *play)
{
  sf_request_t *requests[SFTEST_OPERATIONS_MAX];
  for (int32_t i = 0; i < play->n; i++) {
    begin(play, i);
    requests[play->n - 1 - i] = play->requests[i];
  }
  sftest_at(play->self, "sf_wait_all of %d", play->n);
  SFTEST_OK(play->self, sf_wait_all(play->n, requests));
  for (int32_t i = 0; i < play->n; i++) {
    SFTEST_REQUIRE(play->self, requests[i] == NULL);
    play->operations->check(play->test, i);
  }
}

/* Some together, the rest one by one. */
static void start(sftest_play_t *play, int round)
{
  int32_t some = (int32_t)sftest_below(&play->own, play->n + 1);
  for (int32_t i = 0; i < play->n; i++)
    fill(play, i);
  sftest_at(play->self, "sf_start_all of %d and sf_start of %d, round %d", some, play->n - some, round);
  SFTEST_OK(play->self, sf_start_all(some, play->requests));
  for (int32_t i = some; i < play->n; i++)
    SFTEST_OK(play->self, sf_start(play->requests[i]));
  SFTEST_EXPECT(play->self, sf_start(play->requests[0]), SF_ERR_STATE);
}

static void play_persistent(sftest_play_t *play)
{
  for (int32_t i = 0; i < play->n; i++) {
    sftest_at(play->self, "init of operation %d, %s", i, play->operations->name(play->test, i));
    SFTEST_OK(play->self, play->operations->init(play->test, i, &play->requests[i]));
  }
  for (int round = 0; round < ROUNDS; round++) {
    start(play, round);
    end_all(play);
  }
  for (int32_t i = 0; i < play->n && !play->keep_requests; i++)
    SFTEST_OK(play->self, sf_request_free(&play->requests[i]));
}

void sftest_play(sftest_play_t *play)
{
  switch (play->form) {
  case SFTEST_BLOCKING:
    play_blocking(play);
    break;
  case SFTEST_END_ALL:
    play_wait_all(play);
    break;
  case SFTEST_PERSISTENT:
    play_persistent(play);
    break;
  default:
    play_split(play);
    break;
  }
}
