/* Command line of sfrun: see options.h. Single-threaded. */
#include "tools/sfrun/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/common/options.h"
#include "tools/sfrun/mpi/mpirun_options.h"

#define GRACE_DEFAULT_MS 10000
#define GRACE_MAX_S 1000000
#define SFRUN_JOB_MAX 128

#define FIELD(name) .offset = offsetof(sfrun_options_t, name)

static sf_status_t take_job(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_grace(const sftool_option_t *option, void *options, const char *text);
static sf_status_t take_sfd_option(const sftool_option_t *option, void *options, const char *text);

/* Words of choices are in the order of the enum. */
static const sftool_option_t rows[] = {
    {"help", NULL, "print this and end", SFTOOL_FLAG, FIELD(help)},
    {"version", NULL, "print the version and end", SFTOOL_FLAG, FIELD(version)},
    {"quiet", NULL, "do not print the words that sfrun adds to mpirun's command line", SFTOOL_FLAG, FIELD(quiet)},
    {"job", "NAME", "name of the job, as sfctl shows it; default: the program's, and a random number", SFTOOL_OWN,
     .parse = take_job},
    {"launcher", "mpirun|local", "mpirun (default), or local: sfrun starts the ranks itself, without MPI",
     SFTOOL_CHOICE, FIELD(launcher)},
    {"neighbors", NULL, "have sfd carry the program's MPI_Neighbor_* functions", SFTOOL_FLAG, FIELD(neighbors)},
    {"nodes", "N", "start N daemons on this host, and distribute the ranks over them; default 1", SFTOOL_INT,
     FIELD(nnodes), .min = 1, .max = SFRUN_MAX_NODES},
    {"distribution", "block|cyclic", "how ranks are distributed over nodes; default block", SFTOOL_CHOICE,
     FIELD(distribution)},
    {"hostfile", "FILE", "hosts to run on, lines \"HOST slots=N\" or \"HOST:N\": one daemon on each", SFTOOL_TEXT,
     FIELD(hostfile)},
    {"fabric", "tcp|mpi", "how several daemons reach each other; default tcp", SFTOOL_CHOICE, FIELD(fabric)},
    {"port", "PORT", "TCP port of the daemons on other hosts; default: one chosen at random", SFTOOL_INT, FIELD(port),
     .min = 1, .max = UINT16_MAX},
    {"mpirun", "PATH", "mpirun to use; default: SFRUN_MPIRUN, else mpirun", SFTOOL_TEXT, FIELD(mpirun)},
    {"sfd", "PATH", "daemon to start; default: the sfd beside sfrun, else in PATH", SFTOOL_TEXT, FIELD(sfd)},
    {"sfd-option", "KEY=VALUE", "give the daemon its option --KEY=VALUE; may be repeated", SFTOOL_OWN,
     .parse = take_sfd_option},
    {"log-level", "LEVEL", "the daemon's log level, as sfd --log-level; default: warn, to a file info", SFTOOL_TEXT,
     FIELD(log_level)},
    {"keep-daemon-log", "FILE", "write the daemon's messages to FILE, not to standard error", SFTOOL_TEXT,
     FIELD(daemon_log)},
    {"grace", "SECONDS", "local launcher: how long the other ranks may go on when one failed; default 10", SFTOOL_OWN,
     .parse = take_grace},
};
#define NROWS (sizeof rows / sizeof rows[0])

/* State of parsing. */
typedef struct parser {
  int argc, at;
  char **argv;
  sfrun_options_t options;
  const char *mpirun_only; /* first option of mpirun other than -n */
  const char *unknown;     /* last option, if it is unknown: the next word may be its value */
} parser_t;

static sf_status_t take_sfd_option(const sftool_option_t *option, void *options, const char *text)
{
  sfrun_options_t *own = options;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || *text == '-')
    return sfshm_error(SF_ERR_ARG, "--%s \"%s\": expected KEY=VALUE", option->name, text);
  own->sfd_options[own->nsfd_options++] = text;
  return SF_OK;
}

static sf_status_t take_job(const sftool_option_t *option, void *options, const char *text)
{
  size_t length = strlen(text);
  if (length == 0 || length > SFRUN_JOB_MAX)
    return sfshm_error(SF_ERR_ARG, "--%s: a name of %zu bytes, expected 1 to %d", option->name, length, SFRUN_JOB_MAX);
  ((sfrun_options_t *)options)->job = text;
  return SF_OK;
}

static sf_status_t take_grace(const sftool_option_t *option, void *options, const char *text)
{
  int64_t seconds;
  (void)option;
  sf_status_t status = sftool_parse_integer("--grace", text, 0, GRACE_MAX_S, &seconds);
  if (!status)
    ((sfrun_options_t *)options)->grace_ms = seconds * 1000;
  return status;
}

static void pass_to_mpirun(parser_t *parser)
{
  parser->options.mpirun_args[parser->options.nmpirun_args++] = parser->argv[parser->at++];
}

static bool is_rank_count(const char *arg)
{
  return sfrun_mpirun_option_is(arg, "n") || sfrun_mpirun_option_is(arg, "np") || sfrun_mpirun_option_is(arg, "c");
}

/* Both mpirun and sfrun need to know the number of ranks. */
static sf_status_t take_rank_count(parser_t *parser)
{
  const char *name = parser->argv[parser->at];
  const char *equals = strchr(name, '=');
  pass_to_mpirun(parser);
  if (!equals && parser->at == parser->argc)
    return sfshm_error(SF_ERR_ARG, "%s: the number of ranks is missing", name);
  int64_t nranks = 0;
  sf_status_t status =
      sftool_parse_integer("number of ranks", equals ? equals + 1 : parser->argv[parser->at], 1, INT32_MAX, &nranks);
  if (status)
    return status;
  if (!equals)
    pass_to_mpirun(parser);
  parser->options.nranks = (int32_t)nranks;
  return SF_OK;
}

/* An unknown option that resembles one of sfrun's: passed to mpirun, its value would become the program. */
static sf_status_t check_spelling(const char *arg)
{
  char spelled[SFTOOL_SPELLED_SIZE], hint[SFTOOL_HINT_SIZE];
  if (strncmp(arg, "--", 2) != 0 || !sftool_option_suggest(rows, NROWS, arg, spelled, hint) ||
      sfrun_mpirun_option_arguments(spelled) >= 0)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "unknown option %s%s; if it is one of mpirun, write it with one dash", spelled, hint);
}

static sf_status_t take_mpirun_option(parser_t *parser)
{
  const char *name = parser->argv[parser->at];
  int narguments = sfrun_mpirun_option_arguments(name);
  sf_status_t status = check_spelling(name);
  if (status)
    return status;
  parser->unknown = narguments < 0 ? name : NULL;
  if (!parser->mpirun_only)
    parser->mpirun_only = name;
  pass_to_mpirun(parser);
  for (int i = 0; i < narguments; i++) {
    if (parser->at == parser->argc)
      return sfshm_error(SF_ERR_ARG, "mpirun's option %s takes %d argument%s, found %d", name, narguments,
                         narguments == 1 ? "" : "s", i);
    pass_to_mpirun(parser);
  }
  return SF_OK;
}

/* A word without dash is the program, unless it follows an unknown option and "--" is still to come. */
static bool program_starts_here(const parser_t *parser)
{
  const char *arg = parser->argv[parser->at];
  if (arg[0] == '-' && arg[1])
    return false;
  for (int i = parser->at; parser->unknown && i < parser->argc; i++)
    if (strcmp(parser->argv[i], "--") == 0)
      return false;
  return true;
}

static sf_status_t take_option(parser_t *parser)
{
  const char *arg = parser->argv[parser->at];
  if (arg[0] != '-') {
    pass_to_mpirun(parser);
    return SF_OK;
  }
  const sftool_option_t *row = sftool_option_find(rows, NROWS, arg);
  if (!row && !is_rank_count(arg))
    return take_mpirun_option(parser);
  parser->unknown = NULL;
  return row ? sftool_option_take(row, parser->argc, parser->argv, &parser->at, &parser->options)
             : take_rank_count(parser);
}

static sf_status_t parse_options(parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  while (parser->at < parser->argc && !options->help && !options->version) {
    if (strcmp(parser->argv[parser->at], "--") == 0) {
      parser->at++;
      break;
    }
    if (program_starts_here(parser)) {
      parser->options.unknown = parser->unknown;
      break;
    }
    sf_status_t status = take_option(parser);
    if (status)
      return status;
  }
  return SF_OK;
}

/* mpirun's ":" begins another program, without daemon. */
static sf_status_t check_nodes(const parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  if (options->nnodes && options->hostfile)
    return sfshm_error(SF_ERR_ARG, "--nodes and --hostfile: several daemons on this host, or one on each of several "
                                   "hosts, not both");
  if (options->hostfile && options->launcher == SFRUN_LAUNCHER_LOCAL)
    return sfshm_error(SF_ERR_ARG, "--hostfile: --launcher local starts ranks on this host only");
  for (int i = parser->at; options->nnodes > 1 && i < parser->argc; i++)
    if (strcmp(parser->argv[i], ":") == 0)
      return sfshm_error(SF_ERR_ARG, "--nodes with several programs (\":\") is not supported");
  for (int i = 0; options->nnodes > 1 && i < options->nsfd_options; i++)
    if (strncmp(options->sfd_options[i], "metrics=", strlen("metrics=")) == 0)
      return sfshm_error(SF_ERR_ARG,
                         "--sfd-option %s: the %d daemons of --nodes can't all serve there; sfctl metrics "
                         "--all-nodes prints what they would",
                         options->sfd_options[i], options->nnodes);
  return SF_OK;
}

/* A library is preloaded into the program, not into mpirun or a second program. */
static sf_status_t check_neighbors(const parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  if (options->neighbors && options->launcher == SFRUN_LAUNCHER_LOCAL)
    return sfshm_error(SF_ERR_ARG, "--neighbors: --launcher local is for programs without MPI");
  for (int i = parser->at; options->neighbors && i < parser->argc; i++)
    if (strcmp(parser->argv[i], ":") == 0)
      return sfshm_error(SF_ERR_ARG, "--neighbors with several programs (\":\") is not supported");
  return SF_OK;
}

static sf_status_t check_complete(const parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  if (parser->at == parser->argc)
    return sfshm_error(SF_ERR_ARG, "no program given; usage: sfrun -n RANKS [options] [--] program [arguments]");
  sf_status_t status = check_nodes(parser);
  if (!status)
    status = check_neighbors(parser);
  if (status)
    return status;
  if (options->launcher != SFRUN_LAUNCHER_LOCAL)
    return SF_OK;
  if (parser->mpirun_only)
    return sfshm_error(SF_ERR_ARG, "%s: not an option of sfrun, and --launcher local has no mpirun to give it to",
                       parser->mpirun_only);
  if (!options->nranks)
    return sfshm_error(SF_ERR_ARG, "--launcher local needs the number of ranks: -n RANKS");
  return SF_OK;
}

sf_status_t sfrun_options_parse(int argc, char *argv[], sfrun_options_t *options_p)
{
  size_t nwords = argc > 0 ? (size_t)argc : 1;
  parser_t parser = {.argc = argc, .argv = argv, .at = 1, .options = {.grace_ms = GRACE_DEFAULT_MS}};
  sfrun_options_t *options = &parser.options;
  options->sfd_options = calloc(nwords, sizeof *options->sfd_options);
  options->mpirun_args = calloc(nwords, sizeof *options->mpirun_args);
  sf_status_t status = SF_OK;
  if (!options->sfd_options || !options->mpirun_args)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for %zu words of the command line", nwords);
  if (!status)
    status = parse_options(&parser);
  if (!status && !options->help && !options->version)
    status = check_complete(&parser);
  if (status) {
    sfrun_options_free(options);
    return status;
  }
  if (parser.at < argc)
    options->program = argv + parser.at;
  *options_p = *options;
  return SF_OK;
}

void sfrun_options_free(sfrun_options_t *options)
{
  free(options->sfd_options);
  free(options->mpirun_args);
}

/* As sftool_option_suggest, for an option with one dash or two. If no name is close, the hint names the only option
 * that contains the word, if there is one: the word abbreviates it. */
static void find_hint(const char *unknown, char hint[SFTOOL_HINT_SIZE])
{
  char word[SFTOOL_SPELLED_SIZE], spelled[SFTOOL_SPELLED_SIZE];
  const char *name = unknown + strspn(unknown, "-"), *only = NULL;
  int nfound = 0;
  snprintf(word, sizeof word, "--%s", name);
  for (size_t i = 0; i < NROWS; i++)
    if (strstr(rows[i].name, name)) {
      only = rows[i].name;
      nfound++;
    }
  if (!sftool_option_suggest(rows, NROWS, word, spelled, hint) && nfound == 1)
    snprintf(hint, SFTOOL_HINT_SIZE, " (did you mean --%s?)", only);
}

sf_status_t sfrun_options_explain(const sfrun_options_t *options, sf_status_t status)
{
  char hint[SFTOOL_HINT_SIZE];
  if (!status || !options->unknown)
    return status;
  find_hint(options->unknown, hint);
  return sfshm_error(status,
                     "%s; it follows %s%s, which is an option neither of sfrun nor, as far as it knows, of mpirun",
                     sfshm_error_detail(), options->unknown, hint);
}

void sfrun_options_print_help(FILE *file)
{
  fputs("usage: sfrun -n RANKS [options] [mpirun options] [--] program [arguments]\n\n"
        "Starts a private sfd (or uses the one at SF_SOCKET), runs the program under\n"
        "mpirun, and cleans up.\n\n",
        file);
  for (size_t i = 0; i < NROWS; i++)
    sftool_print_help(file, 27, "--", rows[i].name, rows[i].argument, rows[i].help);
  fputs("\nOther options go to mpirun. Before the program, \"--\" is needed after an mpirun\n"
        "option that sfrun doesn't know and that takes an argument. See sfrun(1).\n",
        file);
}
