/* One table of options: parsing and help come from it. Runs before anything is measured. */
#include "tools/sfperf/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/common/options.h"

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
    {"fields", "N", "several fields in one operation"},
    {"onesided", "2", "one-sided access to arrays, beside that of MPI"},
    {"fock", "N", "tiles of a matrix, added and read by tasks from a counter"},
    {"product", "N", "products of distributed matrices by tasks from a counter"},
};

enum { NBENCHES = sizeof benches / sizeof benches[0] };

#define WITH_SIZES " pingpong bandwidth overlap incast collective watched onesided "

#define FIELD(name) .offset = offsetof(sfperf_options_t, name)

static sf_status_t take_sample_ms(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_list(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_leaves(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_grid(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_matrix(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_stencil(const sftool_option_t *option, void *options, const char *text);

/* Words of choices are in the order of the enum. */
static const sftool_option_t table[] = {
    {"json", NULL, "print one JSON object a line instead of tables", SFTOOL_FLAG, FIELD(json)},
    {"spread", NULL, "print the smallest and the largest sample, too (JSON always has them)", SFTOOL_FLAG,
     FIELD(spread)},
    {"reps", "N", "repetitions, interleaved over all contenders (9)", SFTOOL_INT, FIELD(measure.reps), .min = 1,
     .max = SFPERF_MAX_REPS},
    {"sample-ms", "MS", "about how long each sample takes (20)", SFTOOL_OWN, .min = 1, .max = 10000,
     .parse = take_sample_ms},
    {"no-pin", NULL, "leave ranks that the launcher has not bound where they are", SFTOOL_NO_FLAG, FIELD(pin)},
    {"sizes", "LIST", "bytes, e.g. 8,64K,2M", SFTOOL_OWN, FIELD(sizes), .min = 8, .max = (int64_t)1 << 30,
     .with = WITH_SIZES, .parse = take_list},
    {"random", "N", "each rank N leaves on random roots among 100 N of the others", SFTOOL_OWN,
     .offset = SFPERF_CASE_RANDOM, .max = 10000000, .with = " exchange fields ", .parse = take_leaves},
    {"contiguous", "N", "each rank N leaves on the first N roots of the next", SFTOOL_OWN,
     .offset = SFPERF_CASE_CONTIGUOUS, .max = 10000000, .with = " exchange fields ", .parse = take_leaves},
    {"overlapping", "N", "each rank N roots, and leaves on half of those of all others", SFTOOL_OWN,
     .offset = SFPERF_CASE_OVERLAPPING, .max = 1000000, .with = " exchange fields ", .parse = take_leaves},
    {"grid", "NX,NY,NZ", "ghost points of a grid", SFTOOL_OWN, .with = " exchange stencil fields ", .parse = take_grid},
    {"stencil", "7|27", "of --grid (27)", SFTOOL_OWN, .with = " exchange fields ", .parse = take_stencil},
    {"partition", "slab|rcb", "of --grid: slabs along z, or boxes (slab)", SFTOOL_CHOICE, FIELD(partition),
     .with = " exchange fields "},
    {"matrix", "FILE.mtx", "off-diagonal columns of a Matrix Market file", SFTOOL_OWN, .with = " exchange fields ",
     .parse = take_matrix},
    {"send-order", "distance|number", "in which order nodes send: nearest first, or by number", SFTOOL_CHOICE,
     FIELD(sends_by_number)},
    {"memory", "host|device", "where the vectors are (host)", SFTOOL_CHOICE, FIELD(on_device),
     .with = " pingpong exchange "},
    {"fields", "LIST", "fields in an exchange (4, of fields 8)", SFTOOL_OWN, FIELD(fields), .min = 1, .max = 64,
     .with = " stencil fields ", .parse = take_list},
    {"radius", "N", "width of halos (3)", SFTOOL_INT, FIELD(radius), .min = 1, .max = 1000, .with = " stencil "},
    {"tasks", "LIST", "squares: tiles of the matrix (256,1024,4096,16384; of product 256)", SFTOOL_OWN, FIELD(tasks),
     .min = 1, .max = 1000000, .with = " fock product ", .parse = take_list},
    {"extent", "N", "rows and columns of the matrix (4096, of product 2048)", SFTOOL_INT, FIELD(extent), .min = 1,
     .max = 32768, .with = " fock product "},
    {"busy", "MS", "rank 1 computes so long, without a call, while rank 0 gets", SFTOOL_INT, FIELD(busy_ms), .min = 1,
     .max = 10000, .with = " onesided "},
    {"edges", "LIST", "edges of each rank (100,1000,10000,100000)", SFTOOL_OWN, FIELD(edges), .min = 1, .max = 10000000,
     .with = " setup ", .parse = take_list},
};

enum { NOPTIONS = sizeof table / sizeof table[0] };

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

static sf_status_t take_sample_ms(const sftool_option_t *option, void *options, const char *text)
{
  int64_t number;
  sf_status_t status = sftool_parse_integer("--sample-ms", text, option->min, option->max, &number);
  if (status == SF_OK)
    ((sfperf_options_t *)options)->measure.sample_s = 1e-3 * (double)number;
  return status;
}

/* Sizes are multiples of 8. */
static sf_status_t take_list(const sftool_option_t *option, void *options, const char *text)
{
  sfperf_list_t *list = (sfperf_list_t *)((char *)options + option->offset);
  bool good = parse_list(text, option->min, SFPERF_MAX_CASES, list->at, &list->n);
  for (int i = 0; good && i < list->n; i++)
    good = list->at[i] <= option->max && (option->min != 8 || list->at[i] % 8 == 0);
  return good ? SF_OK
              : sfshm_error(SF_ERR_ARG, "--%s: expected up to %d %s from %lld to %lld, separated by commas, found '%s'",
                            option->name, SFPERF_MAX_CASES, option->min == 8 ? "multiples of 8" : "numbers",
                            (long long)option->min, (long long)option->max, text);
}

static sf_status_t add_case(sfperf_options_t *options, const sfperf_case_t *one)
{
  if (options->ncases == SFPERF_MAX_CASES)
    return sfshm_error(SF_ERR_ARG, "more than %d patterns in one run", SFPERF_MAX_CASES);
  options->cases[options->ncases++] = *one;
  return SF_OK;
}

static sf_status_t take_leaves(const sftool_option_t *option, void *options, const char *text)
{
  sfperf_case_t one = {.kind = (sfperf_case_kind_t)option->offset};
  int count;
  if (!parse_list(text, 1, 1, &one.nleaves, &count) || one.nleaves > option->max)
    return sfshm_error(SF_ERR_ARG, "--%s: expected a number from 1 to %lld, found '%s'", option->name,
                       (long long)option->max, text);
  return add_case(options, &one);
}

static sf_status_t take_grid(const sftool_option_t *option, void *options, const char *text)
{
  sfperf_case_t one = {.kind = SFPERF_CASE_GRID};
  int count;
  bool good = parse_list(text, 1, 3, one.points, &count) && count == 3;
  for (int d = 0; good && d < 3; d++)
    good = one.points[d] <= 1000000;
  return good ? add_case(options, &one)
              : sfshm_error(SF_ERR_ARG, "--%s: expected three numbers from 1 to 1000000: NX,NY,NZ, found '%s'",
                            option->name, text);
}

static sf_status_t take_matrix(const sftool_option_t *option, void *options, const char *text)
{
  (void)option;
  return add_case(options, &(sfperf_case_t){.kind = SFPERF_CASE_MATRIX, .path = text});
}

static sf_status_t take_stencil(const sftool_option_t *option, void *options, const char *text)
{
  if (strcmp(text, "7") != 0 && strcmp(text, "27") != 0)
    return sfshm_error(SF_ERR_ARG, "--%s: expected 7 or 27, found '%s'", option->name, text);
  ((sfperf_options_t *)options)->stencil = atoi(text);
  return SF_OK;
}

#define LIST(...)                                                                                                      \
  {                                                                                                                    \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                                                \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }

static void set_sizes(sfperf_options_t *options, const char *bench)
{
  static const struct {
    const char *bench;
    sfperf_list_t sizes;
  } defaults[] = {
      {"incast", LIST(8, 1024, 65536, 1048576)},
      {"overlap", LIST(262144, 1048576, 4194304)},
      {"collective", LIST(8, 1024, 65536)},
      {"watched", LIST(8, 65536)},
      {"onesided", LIST(8, 64, 1024, 8192, 65536, 1048576)},
      {NULL, LIST(8, 32, 128, 512, 2048, 8192, 32768, 65536, 131072, 524288, 2097152, 4194304)},
  };
  int i = 0;
  while (defaults[i].bench && strcmp(bench, defaults[i].bench) != 0)
    i++;
  options->sizes = defaults[i].sizes;
  if (strcmp(bench, "watched") == 0)
    options->measure.sample_s = 0.1; /* a refresh each, as was asked for */
}

static void set_defaults(sfperf_options_t *options, const char *bench)
{
  *options = (sfperf_options_t){
      .pin = true,
      .measure = {.reps = 9, .sample_s = 0.02},
      .edges = LIST(100, 1000, 10000, 100000),
      .stencil = 27,
      .partition = SFPERF_SLABS,
      .fields = LIST(4),
      .radius = 3,
      .tasks = LIST(256, 1024, 4096, 16384),
      .extent = 4096,
  };
  if (strcmp(bench, "fields") == 0)
    options->fields = (sfperf_list_t)LIST(8);
  if (strcmp(bench, "product") == 0) {
    options->tasks = (sfperf_list_t)LIST(256);
    options->extent = 2048;
  }
  set_sizes(options, bench);
}

/* What exchange, stencil or fields measures when no pattern is named. */
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

static sf_status_t take_option(const char *bench, int argc, char *argv[], int *at_p, sfperf_options_t *options)
{
  char spelled[SFTOOL_SPELLED_SIZE], hint[SFTOOL_HINT_SIZE];
  const char *word = argv[*at_p];
  const sftool_option_t *option = sftool_option_find(table, NOPTIONS, word);
  if (word[0] != '-')
    return sfshm_error(SF_ERR_ARG, "unexpected argument %s", word);
  if (option == NULL) {
    (void)sftool_option_suggest(table, NOPTIONS, word, spelled, hint);
    return sfshm_error(SF_ERR_ARG, "unknown option %s%s; sfperf --help lists them", spelled, hint);
  }
  if (!sftool_option_goes_with(option, bench))
    return sfshm_error(SF_ERR_ARG, "--%s is an option of%.*s, not of %s", option->name, (int)strlen(option->with) - 1,
                       option->with, bench);
  return sftool_option_take(option, argc, argv, at_p, options);
}

sf_status_t sfperf_options_parse(int argc, char *argv[], sfperf_options_t *options_p)
{
  sfperf_options_t options;
  set_defaults(&options, argv[0]);
  for (int at = 1; at < argc;) {
    sf_status_t status = take_option(argv[0], argc, argv, &at, &options);
    if (status != SF_OK)
      return status;
  }
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
    fprintf(file, "usage: sfrun [--nodes N] -n %s sfperf %s [options]\n", benches[only].ranks, bench);
    sfreport_text_wrap(benches[only].summary, 0, file);
    fputs("\n", file);
  } else {
    fputs("usage: sfrun [--nodes N] -n N sfperf BENCHMARK [options]\n"
          "       sfperf judge THRESHOLDS [RESULTS...]\n"
          "       sfperf BENCHMARK --help\n"
          "\n",
          file);
    for (int b = 0; b < NBENCHES; b++)
      sftool_print_help(file, 14, "", benches[b].name, NULL, benches[b].summary);
    fputs("  judge       compare JSON results with a table of thresholds\n\n", file);
  }
  for (int i = 0; i < NOPTIONS; i++) {
    char help[256];
    if (only < NBENCHES && !sftool_option_goes_with(&table[i], bench))
      continue;
    const char *of = only < NBENCHES || table[i].with == NULL ? " " : table[i].with;
    snprintf(help, sizeof help, "%.*s%s%s", of[1] != '\0' ? (int)strlen(of) - 2 : 0, of + 1, of[1] != '\0' ? ": " : "",
             table[i].help);
    sftool_print_help(file, 31, "--", table[i].name, table[i].argument, help);
  }
  fputs("  --help, --version\n", file);
}
