/* sfrun's command line. One table row per option parses and documents it; whatever is not in the table and comes before
 * the program is mpirun's. Single-threaded. */
#include "tools/sfrun/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"
#include "tools/sfrun/mpi/mpirun_options.h"

#define GRACE_DEFAULT_MS 10000
#define GRACE_MAX_S 1000000
#define SFRUN_JOB_MAX 128

typedef enum kind {
  KIND_FLAG,
  KIND_TEXT,
  KIND_JOB,
  KIND_SECONDS,
  KIND_LAUNCHER,
  KIND_NODES,
  KIND_DISTRIBUTION,
  KIND_FABRIC,
  KIND_PORT,
  KIND_SFD_OPTION
} kind_t;

typedef struct row {
  const char *name, *argument, *help;
  kind_t kind;
  size_t offset; /* of the field in sfrun_options_t */
} row_t;

#define FIELD(name) offsetof(sfrun_options_t, name)

static const row_t rows[] = {
    {"help", NULL, "print this and end", KIND_FLAG, FIELD(help)},
    {"version", NULL, "print the version and end", KIND_FLAG, FIELD(version)},
    {"quiet", NULL, "don't say what is added to mpirun's command line", KIND_FLAG, FIELD(quiet)},
    {"job", "NAME", "name of the job, as sfctl shows it; default: the program's, and a random number", KIND_JOB,
     FIELD(job)},
    {"launcher", "NAME", "mpirun (default), or local: sfrun starts the ranks itself, without MPI", KIND_LAUNCHER,
     FIELD(launcher)},
    {"nodes", "N", "start N daemons on this host, and deal the ranks to them; default 1", KIND_NODES, FIELD(nnodes)},
    {"distribution", "NAME", "how ranks are dealt to nodes: block (default) or cyclic", KIND_DISTRIBUTION,
     FIELD(distribution)},
    {"hostfile", "FILE", "hosts to run on, lines \"HOST slots=N\" or \"HOST:N\": one daemon on each", KIND_TEXT,
     FIELD(hostfile)},
    {"fabric", "NAME", "how several daemons reach each other: tcp (default) or mpi", KIND_FABRIC, FIELD(fabric)},
    {"port", "PORT", "TCP port of the daemons on other hosts; default: one chosen at random", KIND_PORT, FIELD(port)},
    {"mpirun", "PATH", "mpirun to use; default: SFRUN_MPIRUN, else mpirun", KIND_TEXT, FIELD(mpirun)},
    {"sfd", "PATH", "daemon to start; default: the sfd beside sfrun, else in PATH", KIND_TEXT, FIELD(sfd)},
    {"sfd-option", "KEY=VALUE", "give the daemon its option --KEY=VALUE; may be repeated", KIND_SFD_OPTION, 0},
    {"log-level", "LEVEL", "the daemon's log level, as sfd --log-level; default: warn, to a file info", KIND_TEXT,
     FIELD(log_level)},
    {"keep-daemon-log", "FILE", "write the daemon's messages to FILE, not to standard error", KIND_TEXT,
     FIELD(daemon_log)},
    {"grace", "SECONDS", "local launcher: how long the other ranks may go on when one failed; default 10", KIND_SECONDS,
     FIELD(grace_ms)},
};

/* The line while it is read. */
typedef struct parser {
  int argc, at;
  char **argv;
  sfrun_options_t options;
  const char *mpirun_only; /* first of mpirun's options other than -n */
  bool after_unknown;      /* the next word may be the argument of an option that sfrun doesn't know */
} parser_t;

static sf_status_t parse_count(const char *name, const char *text, int64_t minimum, int64_t maximum, int64_t *value_p)
{
  size_t ndigits = strspn(text, "0123456789");
  int64_t value = ndigits > 0 && ndigits < 12 && !text[ndigits] ? strtoll(text, NULL, 10) : -1;
  if (value < minimum || value > maximum)
    return sfshm_error(SF_ERR_ARG, "%s \"%s\": expected a whole number from %lld to %lld", name, text,
                       (long long)minimum, (long long)maximum);
  *value_p = value;
  return SF_OK;
}

static sf_status_t parse_launcher(const char *text, sfrun_launcher_t *launcher_p)
{
  if (strcmp(text, "mpirun") != 0 && strcmp(text, "local") != 0)
    return sfshm_error(SF_ERR_ARG, "--launcher \"%s\": expected mpirun or local", text);
  *launcher_p = *text == 'l' ? SFRUN_LAUNCHER_LOCAL : SFRUN_LAUNCHER_MPIRUN;
  return SF_OK;
}

static sf_status_t parse_fabric(const char *text, sfrun_fabric_t *fabric_p)
{
  if (strcmp(text, "tcp") != 0 && strcmp(text, "mpi") != 0)
    return sfshm_error(SF_ERR_ARG, "--fabric \"%s\": expected tcp or mpi", text);
  *fabric_p = *text == 't' ? SFRUN_FABRIC_TCP : SFRUN_FABRIC_MPI;
  return SF_OK;
}

static sf_status_t parse_small(const char *name, const char *text, int64_t minimum, int64_t maximum, int32_t *value_p)
{
  int64_t value = 0;
  sf_status_t status = parse_count(name, text, minimum, maximum, &value);
  if (!status)
    *value_p = (int32_t)value;
  return status;
}

static sf_status_t add_sfd_option(sfrun_options_t *options, const char *text)
{
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || *text == '-')
    return sfshm_error(SF_ERR_ARG, "--sfd-option \"%s\": expected KEY=VALUE", text);
  options->sfd_options[options->nsfd_options++] = text;
  return SF_OK;
}

static sf_status_t parse_job(const char *text, const char **job_p)
{
  size_t length = strlen(text);
  if (length == 0 || length > SFRUN_JOB_MAX)
    return sfshm_error(SF_ERR_ARG, "--job: a name of %zu bytes, expected 1 to %d", length, SFRUN_JOB_MAX);
  *job_p = text;
  return SF_OK;
}

static sf_status_t apply(const row_t *row, sfrun_options_t *options, const char *value)
{
  void *field = (char *)options + row->offset;
  int64_t seconds = 0;
  sf_status_t status = SF_OK;
  switch (row->kind) {
  case KIND_FLAG:
    *(bool *)field = true;
    return SF_OK;
  case KIND_TEXT:
    if (!*value)
      return sfshm_error(SF_ERR_ARG, "--%s: expected %s, found an empty text", row->name, row->argument);
    *(const char **)field = value;
    return SF_OK;
  case KIND_JOB:
    return parse_job(value, field);
  case KIND_SECONDS:
    status = parse_count("--grace", value, 0, GRACE_MAX_S, &seconds);
    if (!status)
      *(int64_t *)field = seconds * 1000;
    return status;
  case KIND_LAUNCHER:
    return parse_launcher(value, field);
  case KIND_NODES:
    return parse_small("--nodes", value, 1, SFRUN_MAX_NODES, field);
  case KIND_DISTRIBUTION:
    return sfrun_distribution_parse(value, field);
  case KIND_FABRIC:
    return parse_fabric(value, field);
  case KIND_PORT:
    return parse_small("--port", value, 1, UINT16_MAX, field);
  case KIND_SFD_OPTION:
    return add_sfd_option(options, value);
  }
  return SF_ERR_INTERNAL;
}

/* The row of a word like --name or --name=value, NULL if it is none of sfrun's. */
static const row_t *find_row(const char *arg)
{
  if (strncmp(arg, "--", 2) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (sfrun_mpirun_option_is(arg, rows[i].name))
      return &rows[i];
  return NULL;
}

static sf_status_t take_own_option(parser_t *parser, const row_t *row)
{
  const char *equals = strchr(parser->argv[parser->at++], '=');
  if (!row->argument) {
    if (equals)
      return sfshm_error(SF_ERR_ARG, "--%s takes no value, found \"%s\"", row->name, equals + 1);
    return apply(row, &parser->options, NULL);
  }
  if (!equals && parser->at == parser->argc)
    return sfshm_error(SF_ERR_ARG, "--%s: %s is missing", row->name, row->argument);
  return apply(row, &parser->options, equals ? equals + 1 : parser->argv[parser->at++]);
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
      parse_count("number of ranks", equals ? equals + 1 : parser->argv[parser->at], 1, INT32_MAX, &nranks);
  if (status)
    return status;
  if (!equals)
    pass_to_mpirun(parser);
  parser->options.nranks = (int32_t)nranks;
  return SF_OK;
}

/* An option that neither sfrun nor mpirun is known to have, but that is nearly one of sfrun's: passed on, its argument
 * would become the program. */
static sf_status_t check_spelling(const char *arg)
{
  char known[sizeof rows / sizeof *rows][32], spelled[64], hint[SFSHM_SUGGEST_HINT_SIZE];
  snprintf(spelled, sizeof spelled, "%.*s", (int)(strcspn(arg, "=") < 60 ? strcspn(arg, "=") : 60), arg);
  sfshm_suggest_t suggest = {.word = spelled};
  if (strncmp(arg, "--", 2) != 0 || sfrun_mpirun_option_arguments(spelled) >= 0)
    return SF_OK;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(known[i], sizeof known[i], "--%s", rows[i].name);
    sfshm_suggest_show(&suggest, known[i]);
  }
  if (!suggest.best)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "unknown option %s%s; if it is one of mpirun, write it with one dash", spelled,
                     sfshm_suggest_hint(&suggest, hint));
}

static sf_status_t take_mpirun_option(parser_t *parser)
{
  const char *name = parser->argv[parser->at];
  int narguments = sfrun_mpirun_option_arguments(name);
  sf_status_t status = check_spelling(name);
  if (status)
    return status;
  parser->after_unknown = narguments < 0;
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

/* A word without dash is the program, unless it follows an option that sfrun doesn't know and a "--" is still to come:
 * then that marks the program. */
static bool program_starts_here(const parser_t *parser)
{
  const char *arg = parser->argv[parser->at];
  if (arg[0] == '-' && arg[1])
    return false;
  for (int i = parser->at; parser->after_unknown && i < parser->argc; i++)
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
  const row_t *row = find_row(arg);
  if (!row && !is_rank_count(arg))
    return take_mpirun_option(parser);
  parser->after_unknown = false;
  return row ? take_own_option(parser, row) : take_rank_count(parser);
}

static sf_status_t parse_options(parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  while (parser->at < parser->argc && !options->help && !options->version) {
    if (strcmp(parser->argv[parser->at], "--") == 0) {
      parser->at++;
      break;
    }
    if (program_starts_here(parser))
      break;
    sf_status_t status = take_option(parser);
    if (status)
      return status;
  }
  return SF_OK;
}

/* mpirun's ":" begins another program, which would not get its daemon. */
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

static sf_status_t check_complete(const parser_t *parser)
{
  const sfrun_options_t *options = &parser->options;
  if (parser->at == parser->argc)
    return sfshm_error(SF_ERR_ARG, "no program given; usage: sfrun -n RANKS [options] [--] program [arguments]");
  sf_status_t status = check_nodes(parser);
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

void sfrun_options_print_help(FILE *file)
{
  fputs("usage: sfrun -n RANKS [options] [mpirun options] [--] program [arguments]\n\n"
        "Starts a private sfd (or uses the one at SF_SOCKET), runs the program under\n"
        "mpirun, and cleans up.\n\n",
        file);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char usage[40];
    snprintf(usage, sizeof usage, "--%s %s", rows[i].name, rows[i].argument ? rows[i].argument : "");
    fprintf(file, "  %-24s ", usage);
    sfreport_text_wrap(rows[i].help, 27, file);
  }
  fputs("\nOther options go to mpirun. Before the program, \"--\" is needed after an mpirun\n"
        "option that sfrun doesn't know and that takes an argument. See sfrun(1).\n",
        file);
}
