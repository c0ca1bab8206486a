/* sfctl trace: see trace.h. The one thread of sfctl. */
#include "tools/sfctl/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/json.h"

#define PINGS 8

/* All nodes, unless one is named. */
static void set_target(sfctl_connection_t *connection, const sfctl_options_t *options)
{
  connection->target = sfctl_target(options);
  connection->target.all = !connection->target.named;
}

/* ---- Dump -------------------------------------------------------------------------------------------------------- */

typedef struct dump {
  sfctl_trace_t trace;
  int32_t node;      /* queried node */
  bool started;      /* some node traces */
  uint64_t asked_ns; /* of the clock query */
} dump_t;

static sf_status_t take_info(void *context, sfproto_incoming_t *incoming)
{
  dump_t *dump = context;
  const Sfproto__TraceInfo *info = incoming->message->trace_info;
  dump->started |= info->since_ns != 0;
  return sfctl_trace_add(&dump->trace, info);
}

/* The node read its clock about halfway between query and answer. */
static sf_status_t take_clock(void *context, sfproto_incoming_t *incoming)
{
  dump_t *dump = context;
  const Sfproto__ClockInfo *info = incoming->message->clock_info;
  uint64_t now_ns = sfshm_trace_now_ns();
  int64_t half_ns = (int64_t)(now_ns - dump->asked_ns) / 2;
  sfctl_clock_t clock = {info->node, (int64_t)(info->now_ns - dump->asked_ns) - half_ns, half_ns};
  if (dump->node < 0) { /* the queried node's clock is this process's, too */
    dump->node = info->node;
    clock.offset_ns = clock.error_ns = 0;
  }
  return sfctl_trace_add_clock(&dump->trace, &clock);
}

static sf_status_t ask(sfctl_connection_t *connection, Sfproto__Query__What what, sfctl_take_t take, dump_t *dump)
{
  Sfproto__Query query = SFPROTO_BODY(query, .what = what);
  dump->asked_ns = sfshm_trace_now_ns();
  return sfctl_query(connection, &query, take, dump);
}

/* First the queried daemon, to learn its node; then all. */
static sf_status_t collect(sfctl_connection_t *connection, const sfctl_options_t *options, dump_t *dump)
{
  sf_status_t status = ask(connection, SFPROTO__QUERY__WHAT__CLOCK, take_clock, dump);
  set_target(connection, options);
  for (int i = 0; i < PINGS && status == SF_OK; i++)
    status = ask(connection, SFPROTO__QUERY__WHAT__CLOCK, take_clock, dump);
  if (status == SF_OK)
    status = ask(connection, SFPROTO__QUERY__WHAT__TRACE, take_info, dump);
  if (status == SF_OK && !dump->started)
    status = sfshm_error(SF_ERR_STATE, "nothing has been traced: begin with sfctl trace start");
  return status;
}

static sf_status_t write_dump(const sfctl_trace_t *trace, const char *path, FILE *file)
{
  if (path == NULL)
    return sfctl_trace_print(trace, file);
  FILE *output = fopen(path, "we");
  if (output == NULL)
    return sfshm_error_errno(SF_ERR_SYS, "cannot write %s", path);
  sf_status_t status = sfctl_trace_print(trace, output);
  bool failed = ferror(output) != 0;
  if ((fclose(output) != 0 || failed) && status == SF_OK)
    status = sfshm_error_errno(SF_ERR_SYS, "cannot write %s", path);
  return status;
}

static sf_status_t run_dump(const sfctl_options_t *options, FILE *file)
{
  sfctl_connection_t connection;
  dump_t dump = {.node = -1};
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  status = collect(&connection, options, &dump);
  if (status == SF_OK) {
    sfctl_trace_adjust_clocks(&dump.trace, dump.node);
    status = write_dump(&dump.trace, options->output, file);
  }
  if (status == SF_OK)
    status = sfctl_check_missing(&connection, 0);
  sfctl_disconnect(&connection);
  sfctl_trace_clear(&dump.trace);
  return status;
}

/* ---- Start and stop ---------------------------------------------------------------------------------------------- */

typedef struct switched {
  const sfctl_options_t *options;
  sfctl_json_t json;
  bool start;
} switched_t;

/* A line, or an object, per node. */
static sf_status_t print_done(void *context, sfproto_incoming_t *incoming)
{
  switched_t *switched = context;
  char printable[SFREPORT_PRINTABLE_SIZE(512)];
  const char *text = incoming->message->controlled->text;
  if (!switched->options->json) {
    fprintf(switched->json.file, "node %d %s\n", incoming->message->told_by,
            sfreport_text_printable(text, printable, sizeof printable));
    return SF_OK;
  }
  sfctl_json_object(&switched->json, NULL, SFCTL_MEMBER("told_by", incoming->message->told_by),
                    SFCTL_MEMBER("action", switched->start ? "trace start" : "trace stop"), SFCTL_MEMBER("text", text));
  return SF_OK;
}

static sf_status_t run_switch(const sfctl_options_t *options, bool start, FILE *file)
{
  sfctl_connection_t connection;
  switched_t switched = {.options = options, .json = {.file = file}, .start = start};
  Sfproto__Control control = SFPROTO_BODY(control, .action = start ? SFPROTO__CONTROL__ACTION__TRACE_START
                                                                   : SFPROTO__CONTROL__ACTION__TRACE_STOP);
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  set_target(&connection, options);
  if (options->json)
    sfctl_json_begin_array(&switched.json, NULL);
  status = sfctl_request(&connection, &control, print_done, &switched);
  if (options->json)
    sfctl_json_end_array(&switched.json);
  if (status == SF_OK)
    status = sfctl_check_missing(&connection, 0);
  sfctl_disconnect(&connection);
  return status;
}

sf_status_t sfctl_trace_check(const sfctl_options_t *options)
{
  const char *word = options->words[0];
  bool start = strcmp(word, "start") == 0, dump = strcmp(word, "dump") == 0;
  if (!start && !dump && strcmp(word, "stop") != 0)
    return sfshm_error(SF_ERR_ARG, "trace \"%.40s\": expected start, stop or dump", word);
  if (options->output != NULL && !dump)
    return sfshm_error(SF_ERR_ARG, "--output goes with trace dump");
  return SF_OK;
}

sf_status_t sfctl_trace(const sfctl_options_t *options, FILE *file)
{
  const char *word = options->words[0];
  return strcmp(word, "dump") == 0 ? run_dump(options, file) : run_switch(options, strcmp(word, "start") == 0, file);
}
