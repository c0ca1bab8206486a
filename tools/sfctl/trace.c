/* sfctl trace start, stop, dump: see trace.h. The one thread of sfctl. */
#include "tools/sfctl/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/report/text.h"
#include "shm/error.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/json.h"

#define PINGS 8

/* ---- Dump -------------------------------------------------------------------------------------------------------- */

typedef struct dump {
  sfctl_trace_t trace;
  int32_t node;      /* the one that is asked */
  bool started;      /* some node has been told to trace */
  uint64_t asked_ns; /* when the clock was asked for */
} dump_t;

static sf_status_t take_info(void *context, sfproto_incoming_t *incoming)
{
  dump_t *dump = context;
  const Sfproto__TraceInfo *info = incoming->message->trace_info;
  dump->started |= info->since_ns != 0;
  return sfctl_trace_add(&dump->trace, info);
}

/* The node's clock was read about in the middle between question and answer. */
static sf_status_t take_clock(void *context, sfproto_incoming_t *incoming)
{
  dump_t *dump = context;
  const Sfproto__ClockInfo *info = incoming->message->clock_info;
  uint64_t now_ns = sfshm_trace_now_ns();
  int64_t half_ns = (int64_t)(now_ns - dump->asked_ns) / 2;
  const sfctl_clock_t clock = {info->node, (int64_t)(info->now_ns - dump->asked_ns) - half_ns, half_ns};
  dump->node = info->node;
  return sfctl_trace_add_clock(&dump->trace, &clock);
}

static sf_status_t ask(sfctl_connection_t *connection, Sfproto__Query__What what, sfctl_take_t take, dump_t *dump)
{
  Sfproto__Query query = SFPROTO__QUERY__INIT;
  query.what = what;
  dump->asked_ns = sfshm_trace_now_ns();
  return sfctl_query(connection, &query, take, dump);
}

static sf_status_t collect(sfctl_connection_t *connection, dump_t *dump)
{
  sf_status_t status = SF_OK;
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
  status = collect(&connection, &dump);
  sfctl_disconnect(&connection);
  if (status == SF_OK) {
    sfctl_trace_adjust_clocks(&dump.trace, dump.node);
    status = write_dump(&dump.trace, options->output, file);
  }
  sfctl_trace_clear(&dump.trace);
  return status;
}

/* ---- Start and stop ---------------------------------------------------------------------------------------------- */

static sf_status_t take_text(void *context, sfproto_incoming_t *incoming)
{
  *(char **)context = strdup(incoming->message->controlled->text);
  return *(char **)context != NULL ? SF_OK : sfshm_error(SF_ERR_NOMEM, "no memory for an answer");
}

static void print_done(const sfctl_options_t *options, const char *action, const char *text, FILE *file)
{
  char printable[SFREPORT_PRINTABLE_SIZE(512)];
  sfctl_json_t json = {.file = file};
  if (!options->json) {
    fprintf(file, "%s\n", sfreport_text_printable(text, printable, sizeof printable));
    return;
  }
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_string(&json, "action", action);
  sfctl_json_string(&json, "text", text);
  sfctl_json_end_object(&json);
}

static sf_status_t run_switch(const sfctl_options_t *options, bool start, FILE *file)
{
  sfctl_connection_t connection;
  char *text = NULL;
  Sfproto__Control control = SFPROTO__CONTROL__INIT;
  control.action = start ? SFPROTO__CONTROL__ACTION__TRACE_START : SFPROTO__CONTROL__ACTION__TRACE_STOP;
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  status = sfctl_request(&connection, &control, take_text, &text);
  sfctl_disconnect(&connection);
  if (status == SF_OK)
    print_done(options, start ? "trace start" : "trace stop", text, file);
  free(text);
  return status;
}

sf_status_t sfctl_trace(const sfctl_options_t *options, FILE *file)
{
  const char *word = options->words[0];
  bool start = strcmp(word, "start") == 0, dump = strcmp(word, "dump") == 0;
  if (!start && !dump && strcmp(word, "stop") != 0)
    return sfshm_error(SF_ERR_ARG, "trace \"%.40s\": expected start, stop or dump", word);
  if (options->output != NULL && !dump)
    return sfshm_error(SF_ERR_ARG, "--output goes with trace dump");
  return dump ? run_dump(options, file) : run_switch(options, start, file);
}
