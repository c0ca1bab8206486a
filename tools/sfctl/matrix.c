/* sfctl matrix: see matrix.h. The one thread of sfctl. */
#include "tools/sfctl/matrix.h"

#include <string.h>

#include "shm/base/clock.h"
#include "shm/base/error.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/print/matrix.h"
#include "tools/sfctl/traffic.h"

/* With an interval only what was sent meanwhile. */
static sf_status_t ask(const sfctl_options_t *options, sfctl_connection_t *connection, sfctl_traffic_t *traffic_p)
{
  const sfctl_by_t by = strcmp(options->by, "nodes") == 0   ? SFCTL_BY_NODES
                        : strcmp(options->by, "pairs") == 0 ? SFCTL_BY_PAIRS
                                                            : SFCTL_BY_RANKS;
  sfctl_traffic_question_t question = {.job = options->job, .by = by};
  sfctl_traffic_t before = {0};
  sf_status_t status = SF_OK;
  if (options->graph != NULL)
    status = sfctl_collect_graph_id(connection, options->graph, &question.graph);
  if (status != SF_OK)
    return status;
  if (options->interval_ms > 0) {
    status = sfctl_traffic_ask(connection, &question, &before);
    if (status == SF_OK)
      sfshm_sleep_ms(options->interval_ms);
    sfctl_renew(connection);
  }
  if (status == SF_OK)
    status = sfctl_traffic_ask(connection, &question, traffic_p);
  if (status == SF_OK && options->interval_ms > 0)
    sfctl_traffic_subtract(traffic_p, &before);
  sfctl_traffic_free(&before);
  return status;
}

static sf_status_t print(const sfctl_options_t *options, const sfctl_traffic_t *traffic, FILE *file)
{
  const sfctl_matrix_style_t style = {.seconds = (double)options->interval_ms / 1000,
                                      .messages = strcmp(options->count, "messages") == 0};
  if (options->json)
    sfctl_matrix_print_json(traffic, &style, file);
  else if (strcmp(options->format, "csv") == 0)
    sfctl_matrix_print_csv(traffic, file);
  else if (strcmp(options->format, "svg") == 0)
    return sfctl_matrix_print_svg(traffic, &style, file);
  else
    return sfctl_matrix_print_text(traffic, &style, file);
  return SF_OK;
}

sf_status_t sfctl_matrix(const sfctl_options_t *options, FILE *file)
{
  sfctl_connection_t connection;
  sfctl_traffic_t traffic;
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  connection.target = sfctl_target(options);
  status = ask(options, &connection, &traffic);
  if (status == SF_OK) {
    status = print(options, &traffic, file);
    if (status == SF_OK && traffic.nunknown > 0)
      status = sfshm_error(SF_ERR_VERSION, "the counters of %d ranks can't be read: they are missing above",
                           traffic.nunknown);
    sfctl_traffic_free(&traffic);
  }
  if (status == SF_OK)
    status = sfctl_check_missing(&connection, 1);
  sfctl_disconnect(&connection);
  return status;
}
