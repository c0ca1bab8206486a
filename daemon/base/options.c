/* Options: table and sources. The daemon's thread, at start. */
#include "daemon/base/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/option_value.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "shm/base/suggest.h"

#define NAME_SIZE 64          /* of an option's name with prefix */
#define LABEL_SIZE 320        /* of an option's name with its source */
#define FILE_LIMIT (1u << 20) /* bytes of a configuration file */
#define ENVIRONMENT_PREFIX "SFD_"

/* Offset of a field of options, checked to have that type. */
#define FIELD(ctype, field)                                                                                            \
  (offsetof(sfd_options_t, field) +                                                                                    \
   0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((sfd_options_t *)0)->field), ctype) ? 1 : -1]))
#define TEXT(field) FIELD(char *, field)
#define NUMBER(field) FIELD(int64_t, field)
#define SWITCH(field) FIELD(bool, field)

/* clang-format off */
static const sfd_option_t table[] = {
    /* name, type, lowest source, field, default, min, max, unit, help */
    {"config", SFD_OPTION_PATH, SFD_SOURCE_ENVIRONMENT, TEXT(config), "", 0, 0, "PATH",
     "configuration file: lines NAME = VALUE, # begins a comment"},
    {"socket", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(socket), "", 0, 0, "PATH",
     "socket to serve; empty: SF_SOCKET, else $XDG_RUNTIME_DIR/sfd.sock, else /tmp/sfd-UID/sfd.sock"},
    {"join-timeout", SFD_OPTION_SECONDS, SFD_SOURCE_FILE, NUMBER(join_timeout_ms), "60", 1, 7 * 86400000, "SECONDS",
     "time limit for all ranks of a job to join"},
    {"hello-timeout", SFD_OPTION_SECONDS, SFD_SOURCE_FILE, NUMBER(hello_timeout_ms), "10", 100, 3600000, "SECONDS",
     "time limit for a connection to send Hello"},
    {"fabric", SFD_OPTION_CHOICE, SFD_SOURCE_FILE, TEXT(fabric), "none", 0, 0, "none|tcp|mpi",
     "transport to the daemons of other nodes; mpi: the daemons are the processes of an MPI job"},
    {"peers", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(peers), "", 0, 0, "LIST",
     "fabric tcp: HOST:PORT,HOST:PORT,... of all daemons, the same on each; or a file with one per line"},
    {"node", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(node), "-1", -1, INT32_MAX, "NUMBER",
     "fabric tcp: index of this daemon in the list of peers, from 0; -1: the entry of this host"},
    {"peer-auth", SFD_OPTION_CHOICE, SFD_SOURCE_FILE, TEXT(peer_auth), "", 0, 0, "key|munge|user",
     "fabric tcp: authentication between daemons: peer-key, MUNGE, or the same user on loopback, where alone the "
     "daemons listen then; empty: the first that is available"},
    {"peer-key", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(peer_key), "", 0, 0, "PATH",
     "fabric tcp: file with the shared secret of the daemons, at least 32 bytes, private"},
    {"munge-socket", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(munge_socket), "", 0, 0, "PATH",
     "fabric tcp: socket of munged; empty: default of MUNGE's library"},
    {"bind", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(bind), "", 0, 0, "HOST:PORT",
     "fabric tcp: address to listen on, if it is not the one in the list of peers"},
    {"fabric-fd", SFD_OPTION_INTEGER, SFD_SOURCE_COMMAND_LINE, NUMBER(fabric_fd), "-1", -1, INT_MAX, "FD",
     "fabric tcp: socket to listen on, bound by the caller; -1: none"},
    {"plugin-dir", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(plugin_dir), "", 0, 0, "PATH",
     "directory of libsfd_mpi.so and libsfd_munge.so; empty: that of sfd, or ../lib/sfd or ../lib from there"},
    {"cluster", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(cluster), "", 0, 0, "NAME",
     "name of the cluster, the same on all daemons"},
    {"connect-timeout", SFD_OPTION_SECONDS, SFD_SOURCE_FILE, NUMBER(connect_timeout_ms), "10", 1000, 3600000, "SECONDS",
     "time limit for connecting to another daemon"},
    {"max-clients", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_clients), "4096", 1, 1 << 20, "COUNT",
     "limit of open connections"},
    {"max-ranks", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_ranks), "65536", 1, 1 << 20, "COUNT",
     "limit of the size of a job"},
    {"max-segments", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_segments), "1024", 1, 1 << 20, "COUNT",
     "limit of shared memory segments of a client"},
    {"max-regions", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_regions), "65536", 1, 1 << 24, "COUNT",
     "limit of registered memory regions of a client"},
    {"max-exchange-memory", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_exchange_memory), "-1", -1,
     INT64_C(1) << 40, "MIB",
     "limit of memory for exchanges with other nodes, of all jobs of a user; -1: half of the node's memory, or all "
     "if the daemon serves its own user only"},
    {"max-device-memory", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(max_device_memory), "-1", -1, INT64_C(1) << 40,
     "MIB",
     "limit of device memory that the library allocates for a job (sf_alloc_on_device, message slots), in blocks of "
     "2 MiB; -1: none"},
    {"calibrate", SFD_OPTION_CHOICE, SFD_SOURCE_FILE, TEXT(calibrate), "yes", 0, 0, "yes|no|again",
     "measure copy costs at start, or use those kept from a start of the last day; again: measure in any case; no: use "
     "built-in figures"},
    {"offload-workers", SFD_OPTION_INTEGER, SFD_SOURCE_FILE, NUMBER(offload_workers), "-1", -1, 64, "COUNT",
     "worker threads that copy for clients; -1: one for each core that no rank needs, at most 4"},
    {"stall-after", SFD_OPTION_SECONDS, SFD_SOURCE_FILE, NUMBER(stall_after_ms), "30", 0, 7 * 86400000, "SECONDS",
     "time after which an operation that ranks wait for is logged as a stall; 0: never"},
    {"metrics", SFD_OPTION_PATH, SFD_SOURCE_FILE, TEXT(metrics), "", 0, 0, "PATH|PORT",
     "serve GET /metrics over HTTP, at a Unix socket or a loopback port; empty: no"},
    {"log-level", SFD_OPTION_LEVELS, SFD_SOURCE_FILE, TEXT(log_level), "info", 0, 0, "LEVELS",
     "error, warn, info, debug or trace, for all or by component: info,session=debug; "
     "components: main, session, job, graph, memory, query, network"},
    {"log-time", SFD_OPTION_BOOL, SFD_SOURCE_FILE, SWITCH(log_time), "no", 0, 0, "yes|no",
     "begin log lines with the time (UTC)"},
    {"ready-fd", SFD_OPTION_INTEGER, SFD_SOURCE_COMMAND_LINE, NUMBER(ready_fd), "-1", -1, INT_MAX, "FD",
     "descriptor to which READY=1 is written, and which is closed, when clients are served; -1: none"},
    {"make-key", SFD_OPTION_PATH, SFD_SOURCE_COMMAND_LINE, TEXT(make_key), "", 0, 0, "PATH",
     "write a random key for peer-key to a new file that only its owner can read, and exit"},
    {"print-config", SFD_OPTION_ACTION, SFD_SOURCE_COMMAND_LINE, SWITCH(print_config), "no", 0, 0, "",
     "print the effective values and their sources, and exit"},
    {"help", SFD_OPTION_ACTION, SFD_SOURCE_COMMAND_LINE, SWITCH(help), "no", 0, 0, "",
     "print this text and exit"},
    {"version", SFD_OPTION_ACTION, SFD_SOURCE_COMMAND_LINE, SWITCH(version), "no", 0, 0, "",
     "print the version and exit"},
};
/* clang-format on */
_Static_assert(sizeof table / sizeof table[0] == SFD_OPTION_COUNT, "one row per option");

/* Source of a value. */
typedef struct sfd_place {
  sfd_option_source_t source;
  const char *file;
  int line;
} sfd_place_t;

const sfd_option_t *sfd_options_table(size_t *count_p)
{
  *count_p = SFD_OPTION_COUNT;
  return table;
}

/* "max-clients" becomes "SFD_MAX_CLIENTS". */
static void environment_name(const char *name, char out[NAME_SIZE])
{
  snprintf(out, NAME_SIZE, ENVIRONMENT_PREFIX "%s", name);
  for (char *p = out; *p; p++)
    *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

/* The name as spelled in the source. */
static void spelled_name(sfd_option_source_t source, const char *name, char out[NAME_SIZE])
{
  if (source == SFD_SOURCE_ENVIRONMENT)
    environment_name(name, out);
  else
    snprintf(out, NAME_SIZE, "%s%s", source == SFD_SOURCE_COMMAND_LINE ? "--" : "", name);
}

/* Begin of errors: "--max-clients", "SFD_MAX_CLIENTS" or "sfd.conf:3: max-clients". */
static const char *make_label(const sfd_option_t *option, const sfd_place_t *place, char label[LABEL_SIZE])
{
  char name[NAME_SIZE];
  spelled_name(place->source, option->name, name);
  if (place->source == SFD_SOURCE_FILE)
    snprintf(label, LABEL_SIZE, "%.200s:%d: %s", place->file, place->line, name);
  else
    snprintf(label, LABEL_SIZE, "%s", name);
  return label;
}

/* Checks the value, and stores it unless a source of higher precedence has set the option. */
static sf_status_t set_option(sfd_options_t *options, const sfd_option_t *option, const sfd_place_t *place,
                              const char *text)
{
  char label[LABEL_SIZE];
  sfd_option_origin_t *origin = &options->origin[option - table];
  bool store = place->source >= origin->source;
  sf_status_t status = sfd_option_set(option, make_label(option, place, label), text, store ? options : NULL);
  if (!status && store)
    *origin = (sfd_option_origin_t){.source = place->source, .line = place->line};
  return status;
}

static sf_status_t set_defaults(sfd_options_t *options)
{
  sfd_place_t place = {.source = SFD_SOURCE_DEFAULT};
  for (size_t i = 0; i < SFD_OPTION_COUNT; i++) {
    sf_status_t status = set_option(options, &table[i], &place, table[i].default_text);
    if (status)
      return status;
  }
  return SF_OK;
}

/* NULL: no such option in that source. */
static const sfd_option_t *find_option(sfd_option_source_t source, const char *spelled)
{
  for (size_t i = 0; i < SFD_OPTION_COUNT; i++) {
    char name[NAME_SIZE];
    spelled_name(source, table[i].name, name);
    if (strcmp(name, spelled) == 0)
      return &table[i];
  }
  return NULL;
}

static sf_status_t unknown_option(const sfd_place_t *place, const char *spelled)
{
  char names[SFD_OPTION_COUNT][NAME_SIZE], hint[SFSHM_SUGGEST_HINT_SIZE];
  sfshm_suggest_t suggest = {.word = spelled};
  for (size_t i = 0; i < SFD_OPTION_COUNT; i++) {
    spelled_name(place->source, table[i].name, names[i]);
    if (place->source >= table[i].lowest)
      sfshm_suggest_show(&suggest, names[i]);
  }
  sfshm_suggest_hint(&suggest, hint);
  if (place->source == SFD_SOURCE_FILE)
    return sfshm_error(SF_ERR_ARG, "%.200s:%d: unknown option '%.60s'%s", place->file, place->line, spelled, hint);
  if (place->source == SFD_SOURCE_ENVIRONMENT)
    return sfshm_error(SF_ERR_ARG, "unknown option %.60s in the environment%s", spelled, hint);
  return sfshm_error(SF_ERR_ARG, "unknown option %.60s%s; see sfd --help", spelled, hint);
}

/* Sets an option of the environment or the file. */
static sf_status_t set_named(sfd_options_t *options, const sfd_place_t *place, const char *spelled, const char *text)
{
  const sfd_option_t *option = find_option(place->source, spelled);
  if (!option)
    return unknown_option(place, spelled);
  if (place->source >= option->lowest)
    return set_option(options, option, place, text);
  char label[LABEL_SIZE];
  return sfshm_error(SF_ERR_ARG, "%s can be given only on the command line%s", make_label(option, place, label),
                     option->lowest == SFD_SOURCE_ENVIRONMENT ? " or in the environment" : "");
}

/* The value after argv[*index_p] without "="; moves the index if that is the next argument. */
static const char *following_value(const sfd_option_t *option, char *const argv[], int *index_p)
{
  const char *next = argv[*index_p + 1];
  if (option->type == SFD_OPTION_ACTION)
    return "yes";
  if (strncmp(option->unit, "yes|no", 6) == 0 && (!next || next[0] == '-'))
    return "yes";
  if (!next || strncmp(next, "--", 2) == 0)
    return NULL;
  ++*index_p;
  return next;
}

static sf_status_t parse_argument(sfd_options_t *options, char *const argv[], int *index_p)
{
  sfd_place_t place = {.source = SFD_SOURCE_COMMAND_LINE};
  const char *argument = argv[*index_p], *equals = strchr(argument, '=');
  if (argument[0] != '-')
    return sfshm_error(SF_ERR_ARG, "unexpected argument '%.80s': expected --NAME VALUE or --NAME=VALUE; see sfd --help",
                       argument);
  char name[NAME_SIZE];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
  const sfd_option_t *option = find_option(place.source, name);
  if (!option)
    return unknown_option(&place, name);
  if (equals && option->type == SFD_OPTION_ACTION)
    return sfshm_error(SF_ERR_ARG, "%s takes no value, found '%.80s'", name, equals + 1);
  const char *text = equals ? equals + 1 : following_value(option, argv, index_p);
  if (!text)
    return sfshm_error(SF_ERR_ARG, "%s needs a value: %s %s, or %s=%s if it begins with --", name, name, option->unit,
                       name, option->unit);
  return set_option(options, option, &place, text);
}

static sf_status_t parse_command_line(sfd_options_t *options, int argc, char *const argv[])
{
  for (int i = 1; i < argc; i++) {
    sf_status_t status = parse_argument(options, argv, &i);
    if (status)
      return status;
  }
  return SF_OK;
}

/* An empty variable counts as not set. */
static sf_status_t parse_environment(sfd_options_t *options, char *const environment[])
{
  sfd_place_t place = {.source = SFD_SOURCE_ENVIRONMENT};
  for (; *environment; environment++) {
    const char *equals = strchr(*environment, '=');
    if (!equals || equals[1] == '\0' || strncmp(*environment, ENVIRONMENT_PREFIX, strlen(ENVIRONMENT_PREFIX)) != 0)
      continue;
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)(equals - *environment), *environment);
    sf_status_t status = set_named(options, &place, name, equals + 1);
    if (status)
      return status;
  }
  return SF_OK;
}

/* Trims blanks. */
static char *trim(char *text)
{
  text += strspn(text, " \t\r");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r", text[length - 1]))
    text[--length] = '\0';
  return text;
}

/* Removes a comment: # at the beginning or after a blank. */
static void cut_comment(char *line)
{
  for (char *p = line; *p; p++) {
    if (*p == '#' && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
      *p = '\0';
      return;
    }
  }
}

static sf_status_t parse_line(sfd_options_t *options, const sfd_place_t *place, char *line)
{
  cut_comment(line);
  line = trim(line);
  if (!*line)
    return SF_OK;
  char *equals = strchr(line, '=');
  if (!equals)
    return sfshm_error(SF_ERR_ARG, "%.200s:%d: expected NAME = VALUE, found '%.80s'", place->file, place->line, line);
  *equals = '\0';
  return set_named(options, place, trim(line), trim(equals + 1));
}

/* Reads at most FILE_LIMIT bytes; free *text_p. */
static sf_status_t read_stream(FILE *stream, const char *path, char **text_p)
{
  char *text = malloc(FILE_LIMIT + 2);
  if (!text)
    return sfshm_error(SF_ERR_NOMEM, "no memory to read %.200s", path);
  sf_status_t status = SF_OK;
  size_t length = fread(text, 1, FILE_LIMIT + 1, stream);
  text[length] = '\0';
  if (ferror(stream))
    status = sfshm_error_errno(SF_ERR_SYS, "cannot read the configuration file %.200s", path);
  else if (length > FILE_LIMIT)
    status = sfshm_error(SF_ERR_LIMIT, "the configuration file %.200s is longer than %u bytes", path, FILE_LIMIT);
  else if (strlen(text) != length)
    status = sfshm_error(SF_ERR_ARG, "the configuration file %.200s isn't text: byte %zu is zero", path, strlen(text));
  if (status)
    free(text);
  else
    *text_p = text;
  return status;
}

static sf_status_t parse_file(sfd_options_t *options, const char *path)
{
  FILE *stream = fopen(path, "re");
  if (!stream)
    return sfshm_error_errno(SF_ERR_SYS, "cannot open the configuration file %.200s", path);
  char *text = NULL;
  sf_status_t status = read_stream(stream, path, &text);
  fclose(stream);
  if (status)
    return status;
  sfd_place_t place = {.source = SFD_SOURCE_FILE, .file = path, .line = 1};
  for (char *next = text, *line; !status && (line = strsep(&next, "\n")); place.line++)
    status = parse_line(options, &place, line);
  free(text);
  return status;
}

sf_status_t sfd_options_parse(int argc, char *const argv[], char *const environment[], sfd_options_t *options_p)
{
  sfd_options_t options = {0};
  sf_status_t status = set_defaults(&options);
  if (!status)
    status = parse_command_line(&options, argc, argv);
  if (!status && !options.help && !options.version) {
    status = parse_environment(&options, environment);
    if (!status && options.config[0])
      status = parse_file(&options, options.config);
  }
  if (status)
    sfd_options_free(&options);
  else
    *options_p = options;
  return status;
}

void sfd_options_free(sfd_options_t *options)
{
  for (size_t i = 0; options && i < SFD_OPTION_COUNT; i++)
    sfd_option_clear(&table[i], options);
}

void sfd_options_print_help(FILE *stream)
{
  fputs("Usage: sfd [--NAME VALUE | --NAME=VALUE]...\n"
        "\n"
        "The star forest daemon: serves the ranks of parallel jobs on this node until\n"
        "SIGTERM or SIGINT.\n"
        "\n"
        "Options, with their defaults:\n",
        stream);
  for (size_t i = 0; i < SFD_OPTION_COUNT; i++) {
    const sfd_option_t *option = &table[i];
    fprintf(stream, "  --%s", option->name);
    if (option->type != SFD_OPTION_ACTION)
      fprintf(stream, " %s  [%s]", option->unit, option->default_text[0] ? option->default_text : "none");
    fputs("\n      ", stream);
    sfreport_text_wrap(option->help, 6, stream);
  }
  fputs("\n"
        "In the environment an option is SFD_NAME (capitals, _ for -), in the\n"
        "configuration file NAME = VALUE. The command line wins over the environment,\n"
        "that over the file. Only on the command line: ready-fd, make-key and the three\n"
        "that print. Not in the file: config.\n",
        stream);
}

void sfd_options_origin(const sfd_options_t *options, size_t index, char *text, size_t size)
{
  const sfd_option_origin_t *origin = &options->origin[index];
  char name[NAME_SIZE];
  switch (origin->source) {
  case SFD_SOURCE_DEFAULT:
    snprintf(text, size, "default");
    break;
  case SFD_SOURCE_FILE:
    snprintf(text, size, "%s:%d", options->config, origin->line);
    break;
  case SFD_SOURCE_ENVIRONMENT:
    environment_name(table[index].name, name);
    snprintf(text, size, "environment %s", name);
    break;
  case SFD_SOURCE_COMMAND_LINE:
    snprintf(text, size, "command line");
    break;
  }
}

void sfd_options_print_config(const sfd_options_t *options, FILE *stream)
{
  for (size_t i = 0; i < SFD_OPTION_COUNT; i++) {
    if (table[i].type == SFD_OPTION_ACTION)
      continue;
    char buffer[SFD_OPTION_TEXT_SIZE], origin[SFD_OPTION_ORIGIN_SIZE];
    const char *prefix = table[i].lowest == SFD_SOURCE_FILE ? "" : "# ";
    int width = fprintf(stream, "%s%s = %s", prefix, table[i].name, sfd_option_text(&table[i], options, buffer));
    sfd_options_origin(options, i, origin, sizeof origin);
    fprintf(stream, "%*s  # %s\n", width < 28 ? 28 - width : 0, "", origin);
  }
}
