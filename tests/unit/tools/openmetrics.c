/* The rules of OpenMetrics: see openmetrics.h. */
#include "tests/unit/tools/openmetrics.h"

#include "proto/report/metrics.h"

#include <ctype.h>
#include <math.h>

#define MAN_PAGE "docs/man/sfctl.1"

#define MAX_FAMILIES 128
#define MAX_SAMPLES 512

typedef struct family {
  char name[64], type[16], unit[16];
  bool has_help;
} family_t;

/* What has been read of the text. */
static family_t families[MAX_FAMILIES];
static char series[MAX_SAMPLES][256]; /* names with labels */
static int nfamilies, nseries;

static const char *documented(void)
{
  static char man[1 << 16];
  FILE *file = fopen(MAN_PAGE, "re");
  ck_assert_msg(file != NULL, "no " MAN_PAGE " in the current directory");
  man[fread(man, 1, sizeof man - 1, file)] = '\0';
  fclose(file);
  const char *section = strstr(man, "\n.SH METRICS\n");
  ck_assert_ptr_nonnull(section);
  return section;
}

static void expect_documented(const char *name)
{
  const char *found = documented();
  size_t length = strlen(name);
  while ((found = strstr(found, name)) != NULL) {
    if (found[-1] != '_' && !isalnum((unsigned char)found[-1]) && found[length] != '_' &&
        !isalnum((unsigned char)found[length]))
      return;
    found++;
  }
  ck_abort_msg("\"%s\" is not in the METRICS of " MAN_PAGE, name);
}

static size_t name_length(const char *text)
{
  return isdigit((unsigned char)*text)
             ? 0
             : strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static void begin_family(const char *name, const char *type)
{
  for (int i = 0; i < nfamilies; i++)
    ck_assert_msg(strcmp(families[i].name, name) != 0, "%s comes twice", name);
  ck_assert_int_lt(nfamilies, MAX_FAMILIES);
  ck_assert_uint_eq(name_length(name), strlen(name));
  family_t *family = &families[nfamilies++];
  *family = (family_t){.has_help = false};
  snprintf(family->name, sizeof family->name, "%s", name);
  snprintf(family->type, sizeof family->type, "%s", type);
  ck_assert_msg(strcmp(type, "gauge") == 0 || strcmp(type, "counter") == 0 || strcmp(type, "info") == 0 ||
                    strcmp(type, "stateset") == 0 || strcmp(type, "histogram") == 0,
                "%s has type %s", name, type);
  expect_documented(name);
}

/* "# TYPE", "# UNIT" and "# HELP", in this order, once for each family, before its samples. */
static void take_metadata(const char *line)
{
  char word[8], name[64];
  int at = 0;
  ck_assert_msg(sscanf(line, "# %7s %63s %n", word, name, &at) == 2 && at > 0, "no metadata: %s", line);
  const char *text = line + at;
  ck_assert_str_ne(text, "");
  if (strcmp(word, "TYPE") == 0) {
    begin_family(name, text);
    return;
  }
  ck_assert_int_gt(nfamilies, 0);
  family_t *family = &families[nfamilies - 1];
  ck_assert_str_eq(name, family->name);
  ck_assert(!family->has_help);
  if (strcmp(word, "HELP") == 0) {
    family->has_help = true;
    ck_assert_ptr_null(strpbrk(text, "\\\""));
    return;
  }
  ck_assert_str_eq(word, "UNIT");
  snprintf(family->unit, sizeof family->unit, "_%s", text);
  size_t length = strlen(name), unit = strlen(family->unit);
  ck_assert_msg(length > unit && strcmp(name + length - unit, family->unit) == 0, "%s has unit %s", name, text);
}

static const char *suffix_of(const char *type)
{
  return strcmp(type, "counter") == 0 ? "_total" : strcmp(type, "info") == 0 ? "_info" : "";
}

/* Returns the character behind the closing quote. */
static const char *skip_value(const char *text)
{
  ck_assert_int_eq(*text, '"');
  for (text++; *text != '"'; text++) {
    ck_assert_msg(*text != '\0', "a label's value does not end");
    if (*text == '\\')
      ck_assert_msg(*++text == 'n' || *text == '"' || *text == '\\', "escape \\%c", *text);
  }
  return text + 1;
}

/* Returns the character behind the closing brace; all labels differ. of_state: whether the one of a stateset is there.
 */
static const char *skip_labels(const char *text, const char *family, bool *of_state)
{
  char names[8][64];
  int n = 0;
  do {
    text++; /* the brace or comma */
    size_t length = name_length(text);
    ck_assert(length > 0 && length < sizeof names[0] && text[length] == '=' && n < 8);
    snprintf(names[n], sizeof names[n], "%.*s", (int)length, text);
    for (int i = 0; i < n; i++)
      ck_assert_str_ne(names[i], names[n]);
    expect_documented(names[n]);
    *of_state = *of_state || strcmp(names[n++], family) == 0;
    text = skip_value(text + length + 1);
  } while (*text == ',');
  ck_assert_int_eq(*text, '}');
  return text + 1;
}

static void note_series(const char *line, size_t length)
{
  ck_assert(nseries < MAX_SAMPLES && length < sizeof series[0]);
  snprintf(series[nseries], sizeof series[0], "%.*s", (int)length, line);
  for (int i = 0; i < nseries; i++)
    ck_assert_str_ne(series[i], series[nseries]);
  nseries++;
}

/* Buckets of a histogram, their bounds and counts going up to +Inf, then their number, which is the last count, and
 * their sum. */
static void take_histogram(const char *line, const family_t *family)
{
  static double bound, below;
  const char *suffix = line + strlen(family->name), *le = strstr(line, "le=\"");
  double value = strtod(strrchr(line, ' '), NULL);
  if (strncmp(suffix, "_bucket{", 8) == 0) {
    ck_assert_ptr_nonnull(le);
    double next = strtod(le + 4, NULL);
    if (bound == INFINITY || below < 0)
      bound = below = 0;
    ck_assert_msg(next > bound && value >= below, "out of order: %s", line);
    bound = next;
    below = value;
    return;
  }
  ck_assert_msg(bound == INFINITY && le == NULL, "before the last bucket: %s", line);
  if (strncmp(suffix, "_count{", 7) == 0) {
    ck_assert(value == below);
    return;
  }
  ck_assert_msg(strncmp(suffix, "_sum{", 5) == 0, "in a histogram: %s", line);
  below = -1;
}

static void take_sample(const char *line)
{
  ck_assert_msg(nfamilies > 0, "before any family: %s", line);
  const family_t *family = &families[nfamilies - 1];
  char wanted[80], *end;
  bool of_state = false;
  size_t length = name_length(line);
  snprintf(wanted, sizeof wanted, "%s%s", family->name, suffix_of(family->type));
  bool histogram = strcmp(family->type, "histogram") == 0;
  ck_assert_msg((histogram || strlen(wanted) == length) && strncmp(line, wanted, strlen(wanted)) == 0,
                "in family %s: %s", family->name, line);
  ck_assert(family->has_help);
  const char *at = line[length] == '{' ? skip_labels(line + length, family->name, &of_state) : line + length;
  note_series(line, (size_t)(at - line));
  ck_assert_int_eq(*at, ' ');
  double value = strtod(at + 1, &end);
  ck_assert_msg(end > at + 1 && *end == '\0', "no number at the end: %s", line);
  bool counts = strcmp(family->type, "counter") == 0, states = strcmp(family->type, "stateset") == 0;
  ck_assert(!counts || value >= 0);
  if (histogram)
    take_histogram(line, family);
  ck_assert(!states || (of_state && (value == 0 || value == 1)));
  ck_assert(strcmp(family->type, "info") != 0 || value == 1);
}

void sftest_check_openmetrics(const char *text)
{
  char *copy = strdup(text), *rest = copy, *line;
  size_t length = strlen(text);
  ck_assert(length > 6 && strcmp(text + length - 7, "\n# EOF\n") == 0);
  copy[length - 6] = '\0'; /* the mark is the last line, and is there once */
  ck_assert_ptr_null(strstr(copy, "# EOF"));
  nfamilies = nseries = 0;
  while ((line = strsep(&rest, "\n")) != NULL && (rest != NULL || *line != '\0'))
    if (line[0] == '#')
      take_metadata(line);
    else
      take_sample(line);
  free(copy);
}

int sftest_openmetrics_families(void)
{
  return nfamilies;
}
