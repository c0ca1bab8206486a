/* The command line of cg. Used by one thread. */
#include "common/cg_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

const char cg_usage[] =
    "usage: sfrun -n RANKS -- cg [--grid NX,NY,NZ | --matrix FILE.mtx] [--max-iterations N]\n"
    "  --grid NX,NY,NZ      points of the Poisson problem on a box (100,100,100)\n"
    "  --matrix FILE.mtx    symmetric positive definite Matrix Market file instead, scaled to a diagonal of ones\n"
    "  --max-iterations N   give up after N iterations (10000)\n"
    "A badly conditioned matrix may not converge in so many: that scaling is all its preconditioning.\n"
    "Exit status: 0 all is well; 1 a check failed or the input is bad; 2 the iteration did not converge.\n";

/* Reads a number from 1 up and moves *text behind it. */
static bool take_count(const char **text, int32_t *count_p)
{
  char *end;
  errno = 0;
  long long value = strtoll(*text, &end, 10);
  if (end == *text || errno || value < 1 || value > INT32_MAX)
    return false;
  *text = end;
  *count_p = (int32_t)value;
  return true;
}

static bool parse_grid(const char *text, int32_t grid[3])
{
  for (int d = 0; d < 3; d++)
    if (!take_count(&text, &grid[d]) || *text++ != (d < 2 ? ',' : '\0'))
      return false;
  return (int64_t)grid[0] * grid[1] < INT32_MAX && (int64_t)grid[0] * grid[1] * grid[2] < INT32_MAX;
}

bool cg_options_parse(int argc, char *argv[], cg_options_t *options_p, char message[], size_t message_bytes)
{
  static const struct option table[] = {
      {"grid", required_argument, NULL, 'g'},
      {"matrix", required_argument, NULL, 'm'},
      {"help", no_argument, NULL, 'h'},
      {"max-iterations", required_argument, NULL, 'i'},
      {0},
  };
  cg_options_t options = {.grid = {100, 100, 100}, .max_iterations = 10000};
  bool ok = true;
  opterr = 0;
  for (int found; ok && (found = getopt_long(argc, argv, "", table, NULL)) != -1;) {
    const char *text = optarg;
    if (found == 'g')
      ok = parse_grid(text, options.grid);
    else if (found == 'm')
      options.matrix = text;
    else if (found == 'i')
      ok = take_count(&text, &options.max_iterations) && *text == '\0';
    else if (found == 'h')
      options.help = true;
    else
      ok = false;
  }
  if (!ok || optind < argc) {
    snprintf(message, message_bytes, "'%s' is not understood", argv[ok ? optind : optind - 1]);
    return false;
  }
  *options_p = options;
  return true;
}
