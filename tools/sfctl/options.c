/* Command line of sfctl: see options.h. Single-threaded. */
#include "tools/sfctl/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "shm/base/suggest.h"
#include "tools/common/options.h"
#include "tools/sfctl/plan/plan.h"

#define TIMEOUT_DEFAULT_MS 5000
#define HELP_COLUMN 30
#define MAX_INTEGER (INT64_C(1) << 24)
#define THRESHOLD_DEFAULT_MS 1000
#define SECONDS_MAX_MS 604800000

typedef struct command {
  const char *name, *argument, *help;
  sfctl_task_t task;
  int what; /* Sfproto__Query__What or Sfproto__Control__Action */
  int min_words, max_words;
} command_t;

#define QUERY(name) SFCTL_TASK_QUERY, SFPROTO__QUERY__WHAT__##name
#define CONTROL(name) SFCTL_TASK_CONTROL, SFPROTO__CONTROL__ACTION__##name

static const command_t commands[] = {
    {"daemons", NULL, "the daemons of this user; the default command", SFCTL_TASK_DAEMONS, 0, 0, 0},
    {"status", NULL, "the daemon: version, process, socket, jobs and ranks", QUERY(STATUS), 0, 0},
    {"jobs", "[JOB]", "jobs: program, ranks, nodes, state", QUERY(JOBS), 0, 1},
    {"ranks", "[JOB]", "ranks: operations, bytes, memory and how other ranks access it", QUERY(RANKS), 0, 1},
    {"graphs", "[JOB]", "graphs: sizes, operations, bytes by protocol", QUERY(GRAPHS), 0, 1},
    {"arrays", "[JOB]", "arrays: shape, distribution, operations, bytes", QUERY(ARRAYS), 0, 1},
    {"plan", "GRAPH", "the messages of a graph, or with --matrix or --grid a forecast", QUERY(PLAN), 0, 1},
    {"top", "[VIEW [JOB]]", "current activity, refreshed; VIEW: jobs, ranks, graphs, arrays or channels",
     SFCTL_TASK_TOP, 0, 0, 2},
    {"matrix", "[JOB]", "traffic by sender and receiver", SFCTL_TASK_MATRIX, 0, 0, 1},
    {"peers", NULL, "channels to other nodes: messages, frames, bytes", QUERY(PEERS), 0, 0},
    {"stuck", "[JOB]", "operations that ranks wait for too long, and the ranks that have not begun them",
     SFCTL_TASK_STUCK, 0, 0, 1},
    {"trace", "start|stop|dump", "a timeline of ranks and daemons, for Perfetto", SFCTL_TASK_TRACE, 0, 1, 1},
    {"metrics", NULL, "the same data as OpenMetrics text, for Prometheus", SFCTL_TASK_METRICS, 0, 0, 0},
    {"doctor", NULL, "check the installation, and say what to repair", SFCTL_TASK_DOCTOR, 0, 0, 0},
    {"topo", NULL, "this machine: cores, caches, memory, devices and their connections", SFCTL_TASK_TOPO, 0, 0, 0},
    {"config", NULL, "the daemon's options, and the source of each value", QUERY(CONFIG), 0, 0},
    {"log", "[LEVEL [COMPONENT]]", "the daemon's log levels; with LEVEL: change them", CONTROL(LOG), 0, 2},
    {"drain", NULL, "refuse new jobs; --undo: accept them again", CONTROL(DRAIN), 0, 0},
    {"kill", "JOB", "end a job: its ranks get an error that names the user", CONTROL(KILL), 1, 1},
    {"shutdown", NULL, "end the daemon if it has no jobs; --force: in any case", CONTROL(SHUTDOWN), 0, 0},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

#define WITH_ALL_NODES                                                                                                 \
  " top matrix metrics status jobs ranks graphs arrays plan peers stuck trace config log drain shutdown doctor "
#define WITH_NODES WITH_ALL_NODES "kill "
#define WITH_TABLES " top jobs ranks graphs arrays plan peers stuck "
#define FIELD(name) offsetof(sfctl_options_t, name)
#define COUNT(name, least) SFTOOL_INTEGER, .offset = FIELD(name), .min = (least), .max = MAX_INTEGER
#define SECONDS(name) SFTOOL_SECONDS, .offset = FIELD(name), .min = 1, .max = SECONDS_MAX_MS
#define WORD(name) SFTOOL_WORD, .offset = FIELD(name)
#define TEXT(name) SFTOOL_TEXT, .offset = FIELD(name)
#define FLAG(name) SFTOOL_FLAG, .offset = FIELD(name)

static sf_status_t take_graph(const sftool_option_t *option, void *options, const char *text);

static const sftool_option_t rows[] = {
    {"help", NULL, "print this help", FLAG(help)},
    {"version", NULL, "print the version", FLAG(version)},
    {"json", NULL, "print JSON: one object, or an array of them", FLAG(json),
     .with =
         " daemons top matrix status jobs ranks graphs arrays plan peers stuck trace doctor topo config log drain kill "
         "shutdown "},
    {"regions", NULL, "with ranks: list each region of memory, not sums", FLAG(regions), .with = " ranks "},
    {"socket", "PATH", "the daemon's socket; default: SF_SOCKET, else sfd's default, else the user's only daemon",
     TEXT(socket)},
    {"wide", NULL, "all columns, names in full; default: what fits the terminal", FLAG(wide), .with = WITH_TABLES},
    {"timeout", "SECONDS", "how long to wait for the daemon; default 5", SECONDS(timeout_ms)},
    {"node", "NUMBER", "ask the daemon of that node, through this one", COUNT(node, 0), .with = WITH_NODES},
    {"all-nodes", NULL, "ask the daemons of all nodes, through this one", FLAG(all_nodes), .with = WITH_ALL_NODES},
    {"matrix", "FILE", "plan for a Matrix Market file, rows in blocks", TEXT(matrix), .with = " plan "},
    {"grid", "AxBxC", "plan for a grid of that many points; also A,B,C", TEXT(grid), .with = " plan "},
    {"stencil", "POINTS", "with --grid: 3, 5, 7, 9 or 27; default 3, 5 or 7", COUNT(stencil, 1), .with = " plan "},
    {"parts", "boxes|rows", "with --grid: shape of subdomains; default boxes, as sf_grid", WORD(parts),
     .with = " plan "},
    {"ranks", "COUNT", "with plan: all ranks", COUNT(ranks, 1), .with = " plan "},
    {"per-node", "COUNT", "with plan: ranks of a node", COUNT(per_node, 1), .with = " plan "},
    {"nodes", "COUNT", "with --grid: nodes, instead of --ranks", COUNT(nodes, 1), .with = " plan "},
    {"fields", "COUNT", "with --grid in boxes: fields in a message; default 1", COUNT(fields, 1), .with = " plan "},
    {"radius", "POINTS", "with --grid in boxes: of the stencil; default 1", COUNT(radius, 1), .with = " plan "},
    {"periodic", NULL, "with --grid in boxes: all axes are rings", FLAG(periodic), .with = " plan "},
    {"distances", "FILE", "with --grid in boxes: matrix of distances between places of a node", TEXT(distances),
     .with = " plan "},
    {"distribution", "block|cyclic", "with plan: how ranks are assigned to nodes; default block", WORD(distribution),
     .with = " plan "},
    {"unit", "BYTES", "with plan: size of a value; default 8", COUNT(unit, 1), .with = " plan "},
    {"pairs", NULL, "with plan: list each pair, too: of ranks, or of nodes in a forecast", FLAG(pairs),
     .with = " plan "},
    {"threshold", "SECONDS", "with stuck: shortest wait that is shown; default 1", SECONDS(threshold_ms),
     .with = " stuck "},
    {"output", "FILE", "with trace dump: file to write; default: standard output", TEXT(output), .with = " trace "},
    {"batch", NULL, "with top, -b: plain lines, also on a terminal", FLAG(batch), .with = " top "},
    {"iterations", "COUNT", "with top, -n: end after that many refreshes", COUNT(iterations, 1), .with = " top "},
    {"delay", "SECONDS", "with top, -d: between refreshes; default 1", SECONDS(delay_ms), .with = " top "},
    {"sort", "COLUMN", "with top: by that column, highest first", TEXT(sort), .with = " top "},
    {"graph", "NUMBER", "with matrix: of that graph only", SFTOOL_OWN, .with = " matrix ", .parse = take_graph},
    {"by", "ranks|nodes|pairs", "with matrix: senders and receivers; default ranks", WORD(by), .with = " matrix "},
    {"format", "text|csv|svg", "with matrix; default text", WORD(format), .with = " matrix "},
    {"count", "bytes|messages", "with matrix: value that is shaded; default bytes", WORD(count), .with = " matrix "},
    {"interval", "SECONDS", "with matrix: traffic during that time only", SECONDS(interval_ms), .with = " matrix "},
    {"undo", NULL, "with drain: accept new jobs again", FLAG(undo), .with = " drain "},
    {"force", NULL, "with shutdown: also if there are jobs", FLAG(force), .with = " shutdown "},
};
#define NROWS (sizeof rows / sizeof rows[0])

/* State of parsing. */
typedef struct parser {
  int argc, at;
  char *const *argv;
  const command_t *command; /* NULL: none yet */
  int nwords;               /* after the command */
  bool given[NROWS];
  bool only_words; /* after "--" */
  sfctl_options_t options;
} parser_t;

const char *sfctl_options_command_name(size_t index)
{
  return index < NCOMMANDS ? commands[index].name : NULL;
}

const char *sfctl_options_option_name(size_t index)
{
  return index < NROWS ? rows[index].name : NULL;
}

/* ---- Options ---- */

static sf_status_t parse_graph(const char *name, const char *word, const char **graph_p)
{
  char *end;
  errno = 0;
  (void)strtoull(word, &end, 10);
  if (word[0] < '0' || word[0] > '9' || *end != '\0' || errno != 0)
    return sfshm_error(SF_ERR_ARG, "%s \"%.80s\": expected the number of a graph, as sfctl graphs shows it", name,
                       word);
  *graph_p = word;
  return SF_OK;
}

static sf_status_t take_graph(const sftool_option_t *option, void *options, const char *text)
{
  return parse_graph(option->name, text, &((sfctl_options_t *)options)->graph);
}

static sf_status_t unknown_option(const char *word)
{
  char spelled[SFTOOL_SPELLED_SIZE], hint[SFTOOL_HINT_SIZE];
  (void)sftool_option_suggest(rows, NROWS, word, spelled, hint);
  return sfshm_error(SF_ERR_ARG, "unknown option %s%s; see sfctl --help", spelled, hint);
}

/* As in top(1). */
static const sftool_option_t *find_short(const char *word)
{
  static const char *const names[][2] = {{"-b", "batch"}, {"-n", "iterations"}, {"-d", "delay"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (size_t k = 0; k < NROWS && strcmp(word, names[i][0]) == 0; k++)
      if (strcmp(rows[k].name, names[i][1]) == 0)
        return &rows[k];
  return NULL;
}

static sf_status_t take_option(parser_t *parser)
{
  const char *word = parser->argv[parser->at];
  const sftool_option_t *row = sftool_option_find(rows, NROWS, word);
  if (row == NULL)
    row = find_short(word);
  if (row == NULL)
    return unknown_option(word);
  parser->given[row - rows] = true;
  return sftool_option_take(row, parser->argc, parser->argv, &parser->at, &parser->options);
}

/* ---- Commands ---- */

static sf_status_t take_command(parser_t *parser, const char *word)
{
  char hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = word};
  for (size_t i = 0; i < NCOMMANDS; i++) {
    if (strcmp(word, commands[i].name) == 0) {
      parser->command = &commands[i];
      parser->options.task = commands[i].task;
      if (commands[i].task == SFCTL_TASK_QUERY)
        parser->options.command = (Sfproto__Query__What)commands[i].what;
      else if (commands[i].task == SFCTL_TASK_CONTROL)
        parser->options.action = (Sfproto__Control__Action)commands[i].what;
      return SF_OK;
    }
    sfshm_suggest_show(&suggest, commands[i].name);
  }
  return sfshm_error(SF_ERR_ARG, "unknown command \"%.80s\"%s; see sfctl --help", word,
                     sfshm_suggest_hint(&suggest, hint));
}

static bool is_query(const parser_t *parser, Sfproto__Query__What what)
{
  return parser->command->task == SFCTL_TASK_QUERY && parser->options.command == what;
}

static sf_status_t take_word(parser_t *parser)
{
  const char *word = parser->argv[parser->at++];
  if (parser->command == NULL)
    return take_command(parser, word);
  if (parser->nwords >= parser->command->max_words)
    return sfshm_error(SF_ERR_ARG, "unexpected argument \"%.80s\"; usage: sfctl %s%s%s", word, parser->command->name,
                       parser->command->argument != NULL ? " " : "",
                       parser->command->argument != NULL ? parser->command->argument : "");
  parser->options.words[parser->nwords++] = word;
  if (is_query(parser, SFPROTO__QUERY__WHAT__PLAN))
    return parse_graph("plan", word, &parser->options.graph);
  parser->options.job = parser->options.words[0];
  return SF_OK;
}

static sf_status_t take(parser_t *parser)
{
  const char *word = parser->argv[parser->at];
  if (parser->only_words || word[0] != '-')
    return take_word(parser);
  if (strcmp(word, "--") != 0)
    return take_option(parser);
  parser->only_words = true;
  parser->at++;
  return SF_OK;
}

static sf_status_t misplaced(const sftool_option_t *row, const command_t *command)
{
  if (strlen(row->with) > 40)
    return sfshm_error(SF_ERR_ARG, "--%s does not go with %s", row->name, command->name);
  return sfshm_error(SF_ERR_ARG, "--%s goes with the command%.*s, not with %s", row->name, (int)strlen(row->with) - 1,
                     row->with, command->name);
}

/* A grid that is divided as the library divides grids. */
static bool is_in_boxes(const sfctl_options_t *options)
{
  return options->grid != NULL && strcmp(options->parts, "boxes") == 0;
}

static sf_status_t check_plan_option(const parser_t *parser, const sftool_option_t *row)
{
  const sfctl_options_t *options = &parser->options;
  bool of_boxes = row->offset == FIELD(fields) || row->offset == FIELD(radius) || row->offset == FIELD(periodic) ||
                  row->offset == FIELD(distances) || row->offset == FIELD(nodes);
  bool of_grid = of_boxes || row->offset == FIELD(stencil) || row->offset == FIELD(parts);
  if (parser->nwords > 0 && row->offset != FIELD(pairs))
    return sfshm_error(SF_ERR_ARG, "plan: --%s goes with --matrix or --grid, not with a graph", row->name);
  if (of_grid && options->matrix != NULL)
    return sfshm_error(SF_ERR_ARG, "plan: --%s goes with --grid, not with --matrix", row->name);
  if (is_in_boxes(options) ? row->offset == FIELD(distribution) : of_boxes)
    return sfshm_error(SF_ERR_ARG, "plan: --%s goes with %s, not with a grid in %s", row->name,
                       of_boxes ? "--parts boxes" : "--matrix or --parts rows", options->parts);
  return SF_OK;
}

/* Numbers of ranks of a matrix or grid. A file that can't be read is named before numbers that are missing. */
static sf_status_t check_plan_numbers(const sfctl_options_t *options)
{
  const char *all = is_in_boxes(options) ? "--ranks or --nodes" : "--ranks";
  bool counted = options->ranks > 0 || options->nodes > 0;
  if (options->ranks > 0 && options->nodes > 0)
    return sfshm_error(SF_ERR_ARG, "plan: only one of --ranks and --nodes can be given, with --per-node");
  if ((!counted || options->per_node == 0) && options->matrix != NULL && access(options->matrix, R_OK) != 0)
    return sfshm_error(SF_ERR_ARG, "--matrix: cannot open %.200s: %s", options->matrix, strerror(errno));
  if (!counted && options->per_node == 0)
    return sfshm_error(SF_ERR_ARG, "plan: --per-node is missing, and %s", all);
  if (!counted || options->per_node == 0)
    return sfshm_error(SF_ERR_ARG, "plan: %s is missing", counted ? "--per-node" : all);
  if (options->nodes > MAX_INTEGER / options->per_node)
    return sfshm_error(SF_ERR_ARG, "plan: --nodes and --per-node make more than %lld ranks", (long long)MAX_INTEGER);
  if (is_in_boxes(options) && options->ranks % options->per_node != 0)
    return sfshm_error(SF_ERR_ARG, "plan: --ranks %lld: expected a multiple of --per-node %lld, for a grid in boxes",
                       (long long)options->ranks, (long long)options->per_node);
  return SF_OK;
}

/* A graph, a matrix or a grid; the latter two with numbers of ranks. */
static sf_status_t check_plan(const parser_t *parser)
{
  const sfctl_options_t *options = &parser->options;
  int given = parser->nwords + (options->matrix != NULL) + (options->grid != NULL);
  if (given == 0)
    return sfshm_error(
        SF_ERR_ARG, "plan: GRAPH is missing, the number of a graph, as sfctl graphs shows it; or --matrix or --grid");
  if (given > 1)
    return sfshm_error(SF_ERR_ARG, "plan: only one of GRAPH, --matrix and --grid can be given");
  for (size_t i = 0; i < NROWS; i++) {
    bool of_plan = parser->given[i] && rows[i].with != NULL && strcmp(rows[i].with, " plan ") == 0;
    sf_status_t status = of_plan ? check_plan_option(parser, &rows[i]) : SF_OK;
    if (status != SF_OK)
      return status;
  }
  sf_status_t status = sfctl_plan_check(options);
  return status == SF_OK && parser->nwords == 0 ? check_plan_numbers(options) : status;
}

static sf_status_t check_complete(parser_t *parser)
{
  if (parser->command == NULL)
    (void)take_command(parser, "daemons");
  const command_t *command = parser->command;
  if (parser->options.node >= 0 && parser->options.all_nodes)
    return sfshm_error(SF_ERR_ARG, "only one of --node and --all-nodes can be given");
  if (parser->nwords < command->min_words)
    return sfshm_error(SF_ERR_ARG, "%s: %s is missing", command->name, command->argument);
  if (is_query(parser, SFPROTO__QUERY__WHAT__PLAN)) {
    sf_status_t status = check_plan(parser);
    if (status != SF_OK)
      return status;
  }
  for (size_t i = 0; i < NROWS; i++)
    if (parser->given[i] && !sftool_option_goes_with(&rows[i], command->name))
      return misplaced(&rows[i], command);
  return SF_OK;
}

sf_status_t sfctl_options_parse(int argc, char *const argv[], sfctl_options_t *options_p)
{
  parser_t parser = {.argc = argc,
                     .argv = argv,
                     .at = 1,
                     .options = {.timeout_ms = TIMEOUT_DEFAULT_MS,
                                 .threshold_ms = THRESHOLD_DEFAULT_MS,
                                 .node = -1,
                                 .delay_ms = 1000,
                                 .by = "ranks",
                                 .format = "text",
                                 .count = "bytes",
                                 .unit = 8,
                                 .fields = 1,
                                 .radius = 1,
                                 .parts = "boxes",
                                 .distribution = "block"}};
  const sfctl_options_t *options = &parser.options;
  while (parser.at < argc && !options->help && !options->version) {
    sf_status_t status = take(&parser);
    if (status != SF_OK)
      return status;
  }
  sf_status_t status = options->help || options->version ? SF_OK : check_complete(&parser);
  if (status != SF_OK)
    return status;
  *options_p = *options;
  if (options->matrix != NULL || options->grid != NULL)
    options_p->task = SFCTL_TASK_PLAN;
  if (is_in_boxes(options) && options->nodes == 0)
    options_p->nodes = options->ranks / options->per_node;
  return SF_OK;
}

/* ---- Help ---- */

void sfctl_options_print_help(FILE *file)
{
  fputs("usage: sfctl [options] [COMMAND [JOB|GRAPH]]\n\n"
        "Inspects a running sfd and its jobs without disturbing them, or controls the\ndaemon.\n\n"
        "Commands:\n",
        file);
  for (size_t i = 0; i < NCOMMANDS; i++)
    sftool_print_help(file, HELP_COLUMN, "", commands[i].name, commands[i].argument, commands[i].help);
  fputs("\nJOB is a job's name or number, GRAPH a graph's number. Options:\n", file);
  for (size_t i = 0; i < NROWS; i++)
    sftool_print_help(file, HELP_COLUMN, "--", rows[i].name, rows[i].argument, rows[i].help);
  fputs("\nExit status: 0 done, 1 the request failed or doctor found problems,\n2 wrong usage, 3 no daemon, 4 daemon "
        "of another version.\n"
        "See sfctl(1).\n",
        file);
}
