/* One table of options: parsing and help come from it. Runs before anything is measured. */
#include "tools/sfperf/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/base/suggest.h"

typedef sf_status_t take_option_t(sfperf_options_t *options, const char *text);

static take_option_t take_json, take_spread, take_reps, take_sample_ms, take_no_pin, take_sizes, take_random,
    take_contiguous, take_overlapping, take_grid, take_stencil, take_partition, take_matrix, take_edges,
    take_send_order, take_memory, take_fields, take_radius;

static const struct {
  const char *name, *ranks, *summary;
} benches[] = {
    {"pingpong", "2", "one-way time of bcast and reduce between two ranks"},
    {"bandwidth", "2", "many messages in flight between two ranks, one way and both ways"},
    {"exchange", "N", "ghost exchange between all ranks"},
    {"setup", "N", "creation of graphs"},
    {"overlap", "2", "one rank computes while its partner waits for its data"},
    {"incast", "N", "all nodes send to one"},
    {"collective", "N", "patterns beside the collectives of MPI"},
    {"watched", "2", "what sfctl top costs the job that it shows"},
    {"stencil", "N", "halos of several fields on a periodic grid"},
};

enum { NBENCHES = sizeof benches / sizeof benches[0] };

#define WITH_SIZES " pingpong bandwidth overlap incast collective watched "

static const struct {
  const char *name;
  const char *argument; /* NULL: takes none */
  take_option_t *take;
  const char *of; /* benchmarks that take it, each between blanks; NULL: all */
  const char *help;
} table[] = {
    {"json", NULL, take_json, NULL, "print one JSON object a line instead of tables"},
    {"spread", NULL, take_spread, NULL, "print the smallest and the largest sample, too (JSON always has them)"},
    {"reps", "N", take_reps, NULL, "repetitions, interleaved over all contenders (9)"},
    {"sample-ms", "MS", take_sample_ms, NULL, "about how long each sample takes (20)"},
    {"no-pin", NULL, take_no_pin, NULL, "leave ranks that the launcher has not bound where they are"},
    {"sizes", "LIST", take_sizes, WITH_SIZES, "bytes, e.g. 8,64K,2M"},
    {"random", "N", take_random, " exchange ", "each rank N leaves on random roots among 100 N of the others"},
    {"contiguous", "N", take_contiguous, " exchange ", "each rank N leaves on the first N roots of the next"},
    {"overlapping", "N", take_overlapping, " exchange ",
     "each rank N roots, and leaves on half of those of all others"},
    {"grid", "NX,NY,NZ", take_grid, " exchange stencil ", "ghost points of a grid"},
    {"stencil", "7|27", take_stencil, " exchange ", "of --grid (27)"},
    {"partition", "slab|rcb", take_partition, " exchange ", "of --grid: slabs along z, or boxes (slab)"},
    {"matrix", "FILE.mtx", take_matrix, " exchange ", "off-diagonal columns of a Matrix Market file"},
    {"send-order", "distance|number", take_send_order, NULL, "in which order nodes send: nearest first, or by number"},
    {"memory", "host|device", take_memory, " pingpong exchange ", "where the vectors are (host)"},
    {"fields", "LIST", take_fields, " stencil ", "fields in an exchange (4)"},
    {"radius", "N", take_radius, " stencil ", "width of halos (3)"},
    {"edges", "LIST", take_edges, " setup ", "edges of each rank (100,1000,10000,100000)"},
};

enum { NOPTIONS = sizeof table / sizeof table[0] };

static sf_status_t refuse(const char *option, const char *text, const char *expected)
{
  return sfshm_error(SF_ERR_ARG, "--%s: expected %s, found '%s'", option, expected, text);
}

/* Reads a number with an optional suffix K, M or G (powers of 1024); *end_p is where it stopped. */
static bool parse_size(const char *text, const char **end_p, int64_t *number_p)
{
  const char suffixes[] = "KMG";
  char *end;
  double number = strtod(text, &end);
  if (end == text || !(number >= 0) || number > 0x1p40)
    return false;
  const char *suffix = *end ? strchr(suffixes, *end) : NULL;
  if (suffix) {
    number *= (double)((int64_t)1 << (10 * (suffix - suffixes + 1)));
    end++;
  }
  *number_p = (int64_t)number;
  *end_p = end;
  return (double)*number_p == number;
}

/* Reads up to most numbers of at least least, separated by commas; false if something else stands there. */
static bool parse_list(const char *text, int64_t least, int most, int64_t numbers[], int *count_p)
{
  int count = 0;
  do {
    if (count == most || !parse_size(text, &text, &numbers[count]) || numbers[count] < least)
      return false;
    count++;
  } while (*text++ == ',');
  *count_p = count;
  return text[-1] == '\0';
}

static bool parse_number(const char *text, int64_t least, int64_t most, int64_t *number_p)
{
  int count;
  return parse_list(text, least, 1, number_p, &count) && *number_p <= most;
}

static sf_status_t take_json(sfperf_options_t *options, const char *text)
{
  (void)text;
  options->json = true;
  return SF_OK;
}

static sf_status_t take_spread(sfperf_options_t *options, const char *text)
{
  (void)text;
  options->spread = true;
  return SF_OK;
}

static sf_status_t take_no_pin(sfperf_options_t *options, const char *text)
{
  (void)text;
  options->pin = false;
  return SF_OK;
}

static sf_status_t take_reps(sfperf_options_t *options, const char *text)
{
  int64_t number;
  if (!parse_number(text, 1, SFPERF_MAX_REPS, &number))
    return refuse("reps", text, "a number from 1 to 101");
  options->measure.reps = (int)number;
  return SF_OK;
}

static sf_status_t take_sample_ms(sfperf_options_t *options, const char *text)
{
  int64_t number;
  if (!parse_number(text, 1, 10000, &number))
    return refuse("sample-ms", text, "milliseconds from 1 to 10000");
  options->measure.sample_s = 1e-3 * (double)number;
  return SF_OK;
}

static sf_status_t take_sizes(sfperf_options_t *options, const char *text)
{
  bool good = parse_list(text, 8, SFPERF_MAX_CASES, options->sizes, &options->nsizes);
  for (int i = 0; good && i < options->nsizes; i++)
    good = options->sizes[i] % 8 == 0 && options->sizes[i] <= (int64_t)1 << 30;
  return good ? SF_OK : refuse("sizes", text, "up to 32 multiples of 8 from 8 to 1G, separated by commas");
}

static sf_status_t take_edges(sfperf_options_t *options, const char *text)
{
  bool good = parse_list(text, 1, SFPERF_MAX_CASES, options->edges, &options->nedges);
  for (int i = 0; good && i < options->nedges; i++)
    good = options->edges[i] <= 10000000;
  return good ? SF_OK : refuse("edges", text, "up to 32 numbers from 1 to 10000000, separated by commas");
}

static sf_status_t take_fields(sfperf_options_t *options, const char *text)
{
  bool good = parse_list(text, 1, SFPERF_MAX_CASES, options->fields, &options->nfields);
  for (int i = 0; good && i < options->nfields; i++)
    good = options->fields[i] <= 64;
  return good ? SF_OK : refuse("fields", text, "up to 32 numbers from 1 to 64, separated by commas");
}

static sf_status_t take_radius(sfperf_options_t *options, const char *text)
{
  int64_t number;
  if (!parse_number(text, 1, 1000, &number))
    return refuse("radius", text, "a number from 1 to 1000");
  options->radius = (int)number;
  return SF_OK;
}

static sf_status_t add_case(sfperf_options_t *options, const sfperf_case_t *one)
{
  if (options->ncases == SFPERF_MAX_CASES)
    return sfshm_error(SF_ERR_ARG, "more than %d patterns in one run", SFPERF_MAX_CASES);
  options->cases[options->ncases++] = *one;
  return SF_OK;
}

static sf_status_t take_random(sfperf_options_t *options, const char *text)
{
  sfperf_case_t one = {.kind = SFPERF_CASE_RANDOM};
  if (!parse_number(text, 1, 10000000, &one.nleaves))
    return refuse("random", text, "a number from 1 to 10000000");
  return add_case(options, &one);
}

static sf_status_t take_contiguous(sfperf_options_t *options, const char *text)
{
  sfperf_case_t one = {.kind = SFPERF_CASE_CONTIGUOUS};
  if (!parse_number(text, 1, 10000000, &one.nleaves))
    return refuse("contiguous", text, "a number from 1 to 10000000");
  return add_case(options, &one);
}

static sf_status_t take_overlapping(sfperf_options_t *options, const char *text)
{
  sfperf_case_t one = {.kind = SFPERF_CASE_OVERLAPPING};
  if (!parse_number(text, 1, 1000000, &one.nleaves))
    return refuse("overlapping", text, "a number from 1 to 1000000");
  return add_case(options, &one);
}

static sf_status_t take_grid(sfperf_options_t *options, const char *text)
{
  sfperf_case_t one = {.kind = SFPERF_CASE_GRID};
  int count;
  bool good = parse_list(text, 1, 3, one.points, &count) && count == 3;
  for (int d = 0; good && d < 3; d++)
    good = one.points[d] <= 1000000;
  return good ? add_case(options, &one) : refuse("grid", text, "three numbers from 1 to 1000000: NX,NY,NZ");
}

static sf_status_t take_matrix(sfperf_options_t *options, const char *text)
{
  return add_case(options, &(sfperf_case_t){.kind = SFPERF_CASE_MATRIX, .path = text});
}

static sf_status_t take_stencil(sfperf_options_t *options, const char *text)
{
  int64_t number;
  if (!parse_number(text, 7, 27, &number) || (number != 7 && number != 27))
    return refuse("stencil", text, "7 or 27");
  options->stencil = (int)number;
  return SF_OK;
}

static sf_status_t take_partition(sfperf_options_t *options, const char *text)
{
  if (strcmp(text, "slab") == 0)
    options->partition = SFPERF_SLABS;
  else if (strcmp(text, "rcb") == 0)
    options->partition = SFPERF_RCB;
  else
    return refuse("partition", text, "slab or rcb");
  return SF_OK;
}

static sf_status_t take_send_order(sfperf_options_t *options, const char *text)
{
  options->sends_by_number = strcmp(text, "number") == 0;
  return options->sends_by_number || strcmp(text, "distance") == 0 ? SF_OK
                                                                   : refuse("send-order", text, "distance or number");
}

static sf_status_t take_memory(sfperf_options_t *options, const char *text)
{
  options->on_device = strcmp(text, "device") == 0;
  return options->on_device || strcmp(text, "host") == 0 ? SF_OK : refuse("memory", text, "host or device");
}

static void set_sizes(sfperf_options_t *options, const char *bench)
{
  static const int64_t pingpong[] = {8, 32, 128, 512, 2048, 8192, 32768, 65536, 131072, 524288, 2097152, 4194304};
  static const int64_t incast[] = {8, 1024, 65536, 1048576};
  static const int64_t overlap[] = {262144, 1048576, 4194304};
  static const int64_t collective[] = {8, 1024, 65536};
  static const int64_t watched[] = {8, 65536};
  const int64_t *sizes = pingpong;
  options->nsizes = sizeof pingpong / sizeof pingpong[0];
  if (strcmp(bench, "incast") == 0) {
    sizes = incast;
    options->nsizes = sizeof incast / sizeof incast[0];
  } else if (strcmp(bench, "overlap") == 0) {
    sizes = overlap;
    options->nsizes = sizeof overlap / sizeof overlap[0];
  } else if (strcmp(bench, "collective") == 0) {
    sizes = collective;
    options->nsizes = sizeof collective / sizeof collective[0];
  } else if (strcmp(bench, "watched") == 0) {
    sizes = watched;
    options->nsizes = sizeof watched / sizeof watched[0];
    options->measure.sample_s = 0.1; /* a refresh each, as was asked for */
  }
  memcpy(options->sizes, sizes, (size_t)options->nsizes * sizeof sizes[0]);
}

static void set_defaults(sfperf_options_t *options, const char *bench)
{
  *options = (sfperf_options_t){
      .pin = true,
      .measure = {.reps = 9, .sample_s = 0.02},
      .nedges = 4,
      .edges = {100, 1000, 10000, 100000},
      .stencil = 27,
      .partition = SFPERF_SLABS,
      .nfields = 1,
      .fields = {4},
      .radius = 3,
  };
  set_sizes(options, bench);
}

/* What exchange or stencil measures when no pattern is named. */
static void default_cases(sfperf_options_t *options, const char *bench)
{
  if (strcmp(bench, "stencil") == 0) {
    options->cases[options->ncases++] = (sfperf_case_t){.kind = SFPERF_CASE_GRID, .points = {256, 256, 256}};
    return;
  }
  for (int64_t nleaves = 100; nleaves <= 100000; nleaves *= 10)
    options->cases[options->ncases++] = (sfperf_case_t){.kind = SFPERF_CASE_RANDOM, .nleaves = nleaves};
  options->cases[options->ncases++] = (sfperf_case_t){.kind = SFPERF_CASE_CONTIGUOUS, .nleaves = 10000};
}

static sf_status_t unknown_option(const char *word)
{
  char known[NOPTIONS][32], hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = word};
  for (int i = 0; i < NOPTIONS; i++) {
    snprintf(known[i], sizeof known[i], "--%s", table[i].name);
    sfshm_suggest_show(&suggest, known[i]);
  }
  return sfshm_error(SF_ERR_ARG, "unknown option %s%s; sfperf --help lists them", word,
                     sfshm_suggest_hint(&suggest, hint));
}

/* Whether the benchmark takes the option. */
static bool takes(const char *bench, int option)
{
  char word[32];
  snprintf(word, sizeof word, " %.20s ", bench);
  return table[option].of == NULL || strstr(table[option].of, word) != NULL;
}

sf_status_t sfperf_options_parse(int argc, char *argv[], sfperf_options_t *options_p)
{
  struct option longs[NOPTIONS + 1] = {0};
  for (int i = 0; i < NOPTIONS; i++)
    longs[i] = (struct option){.name = table[i].name, .has_arg = table[i].argument != NULL, .val = i};
  sfperf_options_t options;
  set_defaults(&options, argv[0]);
  optind = 0; /* start afresh, whoever used getopt before */
  opterr = 0; /* one rank prints, not all */
  int found;
  while ((found = getopt_long(argc, argv, "+:", longs, NULL)) != -1) {
    if (found == ':')
      return sfshm_error(SF_ERR_ARG, "%s needs an argument", argv[optind - 1]);
    if (found < 0 || found >= NOPTIONS)
      return unknown_option(argv[optind - 1]);
    if (!takes(argv[0], found))
      return sfshm_error(SF_ERR_ARG, "--%s is an option of%.*s, not of %s", table[found].name,
                         (int)strlen(table[found].of) - 1, table[found].of, argv[0]);
    sf_status_t status = table[found].take(&options, optarg);
    if (status != SF_OK)
      return status;
  }
  if (optind < argc)
    return sfshm_error(SF_ERR_ARG, "unexpected argument %s", argv[optind]);
  if (options.ncases == 0)
    default_cases(&options, argv[0]);
  *options_p = options;
  return SF_OK;
}

void sfperf_options_help(const char *bench, FILE *file)
{
  int only = NBENCHES;
  for (int b = 0; b < NBENCHES; b++)
    if (strcmp(bench, benches[b].name) == 0)
      only = b;
  if (only < NBENCHES) {
    fprintf(file, "usage: sfrun [--nodes N] -n %s sfperf %s [options]\n%s\n\n", benches[only].ranks, bench,
            benches[only].summary);
  } else {
    fputs("usage: sfrun [--nodes N] -n N sfperf BENCHMARK [options]\n"
          "       sfperf judge THRESHOLDS [RESULTS...]\n"
          "       sfperf BENCHMARK --help\n"
          "\n",
          file);
    for (int b = 0; b < NBENCHES; b++)
      fprintf(file, "  %-11s %s\n", benches[b].name, benches[b].summary);
    fputs("  judge       compare JSON results with a table of thresholds\n\n", file);
  }
  for (int i = 0; i < NOPTIONS; i++) {
    char usage[40];
    if (only < NBENCHES && !takes(bench, i))
      continue;
    snprintf(usage, sizeof usage, "--%s %s", table[i].name, table[i].argument ? table[i].argument : "");
    const char *of = only < NBENCHES || table[i].of == NULL ? " " : table[i].of;
    if (of[1] != '\0')
      fprintf(file, "  %-28s %.*s: %s\n", usage, (int)strlen(of) - 2, of + 1, table[i].help);
    else
      fprintf(file, "  %-28s %s\n", usage, table[i].help);
  }
  fputs("  --help, --version\n", file);
}
