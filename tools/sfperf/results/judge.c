/* The verdicts of make bench. Runs alone, without MPI and without the library. */
#include "tools/sfperf/results/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfperf/results/stats.h"

enum { EXIT_MISSED = 1, EXIT_BAD_INPUT = 2, MAX_LINE = 8192 };

typedef struct results {
  sfperf_record_t *records;
  int count;
  int capacity;
} results_t;

typedef struct tally {
  int met;
  int missed;
  int skipped;
} tally_t;

/* ---- Input ------------------------------------------------------------------------------------------------------- */

/* Does something with one line of a file; the detail text says why if it fails. */
typedef sf_status_t take_line_t(const char *line, void *state);

static sf_status_t add_record(const char *line, void *state)
{
  results_t *results = state;
  sfperf_record_t record;
  sf_status_t status = sfperf_record_parse(line, &record);
  if (status != SF_OK || record.reps == 0) /* the description of the machine has no samples */
    return status;
  if (results->count == results->capacity) {
    int capacity = results->capacity ? 2 * results->capacity : 64;
    sfperf_record_t *records = realloc(results->records, (size_t)capacity * sizeof records[0]);
    if (!records)
      return sfshm_error(SF_ERR_NOMEM, "no memory for %d results", capacity);
    results->records = records;
    results->capacity = capacity;
  }
  results->records[results->count++] = record;
  return SF_OK;
}

/* Hands over the lines that are neither blank nor comments. Prints what is wrong. */
static sf_status_t each_line(FILE *file, const char *path, take_line_t *take, void *state)
{
  char line[MAX_LINE];
  for (int number = 1; fgets(line, sizeof line, file); number++) {
    size_t blank = strspn(line, " \t\r\n");
    if (line[blank] == '#' || line[blank] == '\0')
      continue;
    sf_status_t status = take(line, state);
    if (status != SF_OK) {
      (void)sfshm_error(status, "%s:%d: %s", path, number, sfshm_error_detail());
      sfreport_text_complain("sfperf", sfshm_error_detail());
      return status;
    }
  }
  return SF_OK;
}

/* Prints why there is no file. */
static FILE *open_file(const char *path)
{
  FILE *file = fopen(path, "re");
  if (!file)
    fprintf(stderr, "sfperf: %s: %s\n", path, strerror(errno));
  return file;
}

/* ---- Thresholds -------------------------------------------------------------------------------------------------- */

static sf_status_t parse_limit(const char *relation, const char *limit, sfperf_threshold_t *threshold)
{
  char *unit;
  threshold->strict = strcmp(relation, "<") == 0;
  if (!threshold->strict && strcmp(relation, "<=") != 0)
    return sfshm_error(SF_ERR_ARG, "expected < or <=, found '%s'", relation);
  threshold->limit = strtod(limit, &unit);
  if (unit == limit || !(threshold->limit > 0))
    return sfshm_error(SF_ERR_ARG, "expected a positive limit, found '%s'", limit);
  bool ratio = strcmp(threshold->peers, "-") != 0;
  if (ratio != (*unit == '\0'))
    return sfshm_error(SF_ERR_ARG, "limit '%s': ratios to a peer have no unit, all others need one", limit);
  strcpy(threshold->unit, unit);
  return SF_OK;
}

/* Cuts "@2x4" off the name of the bench. */
static sf_status_t parse_place(sfperf_threshold_t *threshold)
{
  int nodes, each, end = 0;
  char *at = strchr(threshold->bench, '@');
  if (!at)
    return SF_OK;
  if (sscanf(at, "@%4dx%6d%n", &nodes, &each, &end) != 2 || at[end] != '\0' || nodes < 1 || each < 1)
    return sfshm_error(SF_ERR_ARG, "expected bench@NODESxRANKS, as exchange@2x4, found '%s'", threshold->bench);
  *at = '\0';
  threshold->nodes = nodes;
  threshold->ranks = nodes * each;
  return SF_OK;
}

sf_status_t sfperf_threshold_parse(const char *line, sfperf_threshold_t *threshold_p)
{
  sfperf_threshold_t threshold = {0};
  char value[8], relation[8], limit[32];
  int end = 0;
  int found = sscanf(line, "%95s %95s %95s %95s %7s %7s %31s %95s %n", threshold.bench, threshold.case_name,
                     threshold.op, threshold.contender, value, relation, limit, threshold.peers, &end);
  if (found != 8 || line[end] != '\0')
    return sfshm_error(SF_ERR_ARG, "expected: bench[@NODESxRANKS] case op contender total|net <=|< limit peers");
  threshold.net = strcmp(value, "net") == 0;
  if (!threshold.net && strcmp(value, "total") != 0)
    return sfshm_error(SF_ERR_ARG, "expected total or net, found '%s'", value);
  sf_status_t status = parse_place(&threshold);
  if (status == SF_OK)
    status = parse_limit(relation, limit, &threshold);
  if (status == SF_OK)
    *threshold_p = threshold;
  return status;
}

/* ---- Verdicts ---------------------------------------------------------------------------------------------------- */

static double sample(const sfperf_record_t *record, int rep, bool net)
{
  return record->samples[rep] - (net ? record->rewrite : 0);
}

/* Noise can make a peer seem to take no time net of rewriting; that must not look like a win. */
static double ratio(double value, double peer)
{
  const double hopeless = 1e9;
  return peer > 0 ? value / peer : hopeless;
}

sfperf_outcome_t sfperf_judge_pair(const sfperf_record_t *record, const sfperf_record_t *peer, bool net)
{
  double ratios[SFPERF_MAX_REPS];
  int reps = peer && peer->reps < record->reps ? peer->reps : record->reps;
  for (int i = 0; i < reps; i++)
    ratios[i] = ratio(sample(record, i, net), peer ? sample(peer, i, net) : 1);
  sfperf_stats_t stats = sfperf_stats(ratios, reps);
  return (sfperf_outcome_t){stats.median, stats.q1, stats.q3};
}

/* Whether the record was measured on the nodes and ranks that the threshold is about. */
static bool is_placed(const sfperf_record_t *record, const sfperf_threshold_t *threshold)
{
  if (threshold->nodes == 0)
    return record->nodes <= 1;
  return record->nodes == threshold->nodes && record->ranks == threshold->ranks;
}

static const sfperf_record_t *find(const results_t *results, const sfperf_threshold_t *threshold, const char *case_name,
                                   const char *contender)
{
  for (int i = 0; i < results->count; i++) {
    const sfperf_record_t *record = &results->records[i];
    if (is_placed(record, threshold) && strcmp(record->bench, threshold->bench) == 0 &&
        strcmp(record->case_name, case_name) == 0 && strcmp(record->op, threshold->op) == 0 &&
        strcmp(record->contender, contender) == 0)
      return record;
  }
  return NULL;
}

/* The peer with the smallest median; NULL if none was measured. */
static const sfperf_record_t *best_peer(const results_t *results, const sfperf_threshold_t *threshold,
                                        const char *case_name)
{
  char names[SFPERF_NAME_LEN];
  char *rest = NULL;
  const sfperf_record_t *best = NULL;
  strcpy(names, threshold->peers);
  for (char *name = strtok_r(names, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
    const sfperf_record_t *record = find(results, threshold, case_name, name);
    if (record &&
        (!best || sfperf_judge_pair(record, NULL, false).median < sfperf_judge_pair(best, NULL, false).median))
      best = record;
  }
  return best;
}

static void print_figure(const sfperf_threshold_t *threshold, const char *case_name, const char *peer)
{
  char figure[4 * SFPERF_NAME_LEN], place[32] = "";
  if (threshold->nodes)
    snprintf(place, sizeof place, "@%dx%d", threshold->nodes, threshold->ranks / threshold->nodes);
  snprintf(figure, sizeof figure, "%s%s %s %s%s: %s%s%s", threshold->bench, place, case_name, threshold->op,
           threshold->net ? " net" : "", threshold->contender, *peer ? " / " : "", peer);
  printf("%-68s", figure);
}

static void print_outcome(const sfperf_threshold_t *threshold, const sfperf_outcome_t *outcome)
{
  char spread[64], limit[SFPERF_NAME_LEN + 64];
  snprintf(spread, sizeof spread, "%.3g..%.3g", outcome->q1, outcome->q3);
  snprintf(limit, sizeof limit, "%s %.4g%s", threshold->strict ? "<" : "<=", threshold->limit, threshold->unit);
  printf(" %8.3g  %-15s %-14s", outcome->median, spread, limit);
}

static bool is_met(const sfperf_threshold_t *threshold, double value)
{
  return threshold->strict ? value < threshold->limit : value <= threshold->limit;
}

/* Judges one record that the threshold is about. */
static void judge_record(const results_t *results, const sfperf_threshold_t *threshold, const sfperf_record_t *record,
                         tally_t *tally)
{
  bool absolute = strcmp(threshold->peers, "-") == 0;
  const sfperf_record_t *peer = absolute ? NULL : best_peer(results, threshold, record->case_name);
  if (!absolute && !peer) {
    print_figure(threshold, record->case_name, threshold->peers);
    printf(" skipped: %s was not measured\n", threshold->peers);
    tally->skipped++;
    return;
  }
  print_figure(threshold, record->case_name, absolute ? "" : peer->contender);
  if (absolute && strcmp(threshold->unit, record->unit) != 0) {
    printf(" MISSED: limit in %s, result in %s\n", threshold->unit, record->unit);
    tally->missed++;
    return;
  }
  sfperf_outcome_t outcome = sfperf_judge_pair(record, peer, threshold->net);
  bool met = is_met(threshold, outcome.median);
  print_outcome(threshold, &outcome);
  puts(met ? "met" : "MISSED");
  if (met)
    tally->met++;
  else
    tally->missed++;
}

typedef struct session {
  const results_t *results;
  tally_t tally;
} session_t;

/* Judges one line of the table. */
static sf_status_t judge_line(const char *line, void *state)
{
  session_t *session = state;
  const results_t *results = session->results;
  sfperf_threshold_t threshold;
  sf_status_t status = sfperf_threshold_parse(line, &threshold);
  if (status != SF_OK)
    return status;
  int found = 0;
  for (int i = 0; i < results->count; i++) {
    const sfperf_record_t *record = &results->records[i];
    const char *wanted = strcmp(threshold.case_name, "*") == 0 ? record->case_name : threshold.case_name;
    if (find(results, &threshold, wanted, threshold.contender) != record)
      continue;
    judge_record(results, &threshold, record, &session->tally);
    found++;
  }
  if (found == 0) {
    print_figure(&threshold, threshold.case_name, "");
    puts(" MISSED: no result");
    session->tally.missed++;
  }
  return SF_OK;
}

static sf_status_t read_results(int count, char *paths[], results_t *results)
{
  if (count == 0)
    return each_line(stdin, "standard input", add_record, results);
  sf_status_t status = SF_OK;
  for (int i = 0; i < count && status == SF_OK; i++) {
    FILE *file = open_file(paths[i]);
    if (!file)
      return SF_ERR_SYS;
    status = each_line(file, paths[i], add_record, results);
    fclose(file);
  }
  return status;
}

int sfperf_judge(int argc, char *argv[])
{
  if (argc < 2) {
    fputs("usage: sfperf judge THRESHOLDS [RESULTS...]\n", stderr);
    return EXIT_BAD_INPUT;
  }
  FILE *thresholds = open_file(argv[1]); /* first: results may come from a terminal */
  if (!thresholds)
    return EXIT_BAD_INPUT;
  results_t results = {0};
  session_t session = {.results = &results};
  sf_status_t status = read_results(argc - 2, argv + 2, &results);
  if (status == SF_OK) {
    printf("%-68s %8s  %-15s %-14s%s\n", "figure", "median", "quartiles", "limit", "verdict");
    status = each_line(thresholds, argv[1], judge_line, &session);
  }
  fclose(thresholds);
  free(results.records);
  if (status != SF_OK)
    return EXIT_BAD_INPUT;
  printf("%d met, %d missed, %d skipped\n", session.tally.met, session.tally.missed, session.tally.skipped);
  return session.tally.missed ? EXIT_MISSED : EXIT_SUCCESS;
}
