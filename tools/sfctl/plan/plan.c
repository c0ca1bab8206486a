/* sfctl plan for a matrix or grid. The one thread of sfctl. */
#include "tools/sfctl/plan/plan.h"

#include <inttypes.h>
#include <string.h>

#include "proto/report/text.h"
#include "tools/sfctl/plan/forecast.h"
#include "tools/sfctl/plan/grid.h"
#include "tools/sfctl/plan/mtx.h"
#include "tools/sfctl/plan/stencil.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/table.h"

/* Traffic by one way, over all nodes. */
typedef struct way {
  const char *name, *help;
  sfctl_load_t total, most; /* most: maximum sent by a node */
  int32_t most_at;          /* node with the most values */
} way_t;

typedef struct summary {
  const sfctl_options_t *options;
  const sfctl_stencil_t *stencil; /* NULL: none */
  const sfctl_forecast_t *forecast;
  way_t ways[3];
} summary_t;

/* ---- Sums ---- */

static void add_node(way_t *way, int32_t node, const sfctl_load_t *load)
{
  way->total.messages += load->messages;
  way->total.values += load->values;
  if (load->messages > way->most.messages)
    way->most.messages = load->messages;
  if (load->values > way->most.values) {
    way->most.values = load->values;
    way->most_at = node;
  }
}

static void sum_up(summary_t *summary)
{
  const sfctl_forecast_t *forecast = summary->forecast;
  summary->ways[0] = (way_t){.name = "flat", .help = "rank to rank, between nodes"};
  summary->ways[1] = (way_t){.name = "coalesced", .help = "node to node, each root once"};
  summary->ways[2] = (way_t){.name = "within", .help = "rank to rank, within nodes: shared memory"};
  for (int32_t i = 0; i < forecast->nnodes; i++) {
    add_node(&summary->ways[0], i, &forecast->nodes[i].flat_out);
    add_node(&summary->ways[1], i, &forecast->nodes[i].out);
    add_node(&summary->ways[2], i, &forecast->nodes[i].within);
  }
}

/* ---- Printing ---- */

static double mean(const summary_t *summary, int64_t sum)
{
  return (double)sum / summary->forecast->nnodes;
}

static const sfctl_column_t columns[] = {
    {"", SFCTL_LEFT},          {"MESSAGES", SFCTL_RIGHT}, {"VALUES", SFCTL_RIGHT},     {"BYTES", SFCTL_RIGHT},
    {"NODE-MSG", SFCTL_RIGHT}, {"MOST", SFCTL_RIGHT},     {"NODE-BYTES", SFCTL_RIGHT}, {"MOST", SFCTL_RIGHT},
    {"NODE", SFCTL_RIGHT},     {"WHICH", SFCTL_LEFT},
};

static void add_way(sfctl_table_t *table, const summary_t *summary, const way_t *way)
{
  uint64_t unit = (uint64_t)summary->options->unit;
  sfctl_table_add(table, SFCTL_VALUE(way->name), SFCTL_VALUE(way->total.messages), SFCTL_VALUE(way->total.values),
                  sfctl_bytes((uint64_t)way->total.values * unit));
  sfctl_table_cell(table, "%.1f", mean(summary, way->total.messages));
  sfctl_table_add(table, SFCTL_VALUE(way->most.messages),
                  sfctl_bytes((uint64_t)(mean(summary, way->total.values) * (double)unit)),
                  sfctl_bytes((uint64_t)way->most.values * unit), SFCTL_VALUE(way->most_at), SFCTL_VALUE(way->help));
}

static sf_status_t print_pairs(const summary_t *summary, FILE *file)
{
  static const sfctl_column_t pair_columns[] = {{"FROM", SFCTL_RIGHT},
                                                {"TO", SFCTL_RIGHT},
                                                {"FLAT-MSG", SFCTL_RIGHT},
                                                {"FLAT-VALUES", SFCTL_RIGHT},
                                                {"VALUES", SFCTL_RIGHT}};
  sfctl_table_t table = {SFCTL_COLUMNS(pair_columns)};
  for (size_t i = 0; i < summary->forecast->npairs; i++) {
    const sfctl_node_pair_t *pair = &summary->forecast->pairs[i];
    sfctl_table_add(&table, SFCTL_VALUE(pair->from), SFCTL_VALUE(pair->to), SFCTL_VALUE(pair->flat.messages),
                    SFCTL_VALUE(pair->flat.values), SFCTL_VALUE(pair->coalesced.values));
  }
  return summary->forecast->npairs > 0 ? sfctl_table_print(&table, 0, file) : SF_OK;
}

static void print_ratio(const summary_t *summary, FILE *file)
{
  const way_t *flat = &summary->ways[0], *coalesced = &summary->ways[1];
  if (coalesced->total.messages == 0) {
    fputs("nothing travels between nodes\n", file);
    return;
  }
  fprintf(file, "coalesced: %.1f times fewer messages, %.2f times fewer bytes\n",
          (double)flat->total.messages / (double)coalesced->total.messages,
          (double)flat->total.values / (double)coalesced->total.values);
}

static sf_status_t print_text(const summary_t *summary, FILE *file)
{
  const sfctl_options_t *options = summary->options;
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  char what[SFREPORT_PRINTABLE_SIZE(256)];
  fprintf(file,
          "%s on %" PRId64 " ranks, %" PRId64 " to a node: %d nodes; a bcast of %" PRId64
          " bytes a value (a reduce: the other way)\n",
          sfreport_text_printable(options->matrix != NULL ? options->matrix : options->grid, what, sizeof what),
          options->ranks, options->per_node, summary->forecast->nnodes, options->unit);
  for (size_t i = 0; i < sizeof summary->ways / sizeof summary->ways[0]; i++)
    add_way(&table, summary, &summary->ways[i]);
  sf_status_t status = sfctl_table_print(&table, 0, file);
  print_ratio(summary, file);
  if (status == SF_OK && summary->stencil != NULL)
    return sfctl_stencil_print(summary->stencil, options->pairs, file);
  return status == SF_OK && options->pairs ? print_pairs(summary, file) : status;
}

static void print_load(sfctl_json_t *json, const summary_t *summary, const way_t *way)
{
  sfctl_json_object(json, way->name, SFCTL_MEMBER("messages", way->total.messages),
                    SFCTL_MEMBER("values", way->total.values),
                    SFCTL_MEMBER("bytes", way->total.values * summary->options->unit),
                    SFCTL_MEMBER("node_mean_messages", mean(summary, way->total.messages)),
                    SFCTL_MEMBER("node_max_messages", way->most.messages),
                    SFCTL_MEMBER("node_mean_values", mean(summary, way->total.values)),
                    SFCTL_MEMBER("node_max_values", way->most.values), SFCTL_MEMBER("node_max", way->most_at));
}

static sf_status_t print_json(const summary_t *summary, FILE *file)
{
  const sfctl_options_t *options = summary->options;
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_add(&json, SFCTL_FIELD(options, ranks), SFCTL_FIELD(options, per_node),
                 SFCTL_MEMBER("nodes", summary->forecast->nnodes), SFCTL_MEMBER("unit_bytes", options->unit));
  for (size_t i = 0; i < sizeof summary->ways / sizeof summary->ways[0]; i++)
    print_load(&json, summary, &summary->ways[i]);
  if (options->pairs)
    sfctl_json_begin_array(&json, "pairs");
  for (size_t i = 0; options->pairs && i < summary->forecast->npairs; i++) {
    const sfctl_node_pair_t *pair = &summary->forecast->pairs[i];
    sfctl_json_object(
        &json, NULL, SFCTL_FIELD(pair, from), SFCTL_FIELD(pair, to), SFCTL_MEMBER("flat_messages", pair->flat.messages),
        SFCTL_MEMBER("flat_values", pair->flat.values), SFCTL_MEMBER("messages", pair->coalesced.messages),
        SFCTL_MEMBER("values", pair->coalesced.values));
  }
  if (options->pairs)
    sfctl_json_end_array(&json);
  sf_status_t status = SF_OK;
  if (summary->stencil != NULL)
    status = sfctl_stencil_write(summary->stencil, options->pairs, &json);
  sfctl_json_end_object(&json);
  return status;
}

/* Frees the forecast. */
static sf_status_t print(const sfctl_options_t *options, const sfctl_stencil_t *stencil, sfctl_forecast_t *forecast,
                         FILE *file)
{
  summary_t summary = {.options = options, .stencil = stencil, .forecast = forecast};
  sum_up(&summary);
  sf_status_t status = options->json ? print_json(&summary, file) : print_text(&summary, file);
  sfctl_forecast_free(forecast);
  return status;
}

static sf_status_t report(const sfctl_options_t *options, const sfctl_problem_t *problem, FILE *file)
{
  sfctl_forecast_t forecast;
  sf_status_t status = sfctl_forecast_make(problem, &forecast);
  return status == SF_OK ? print(options, NULL, &forecast, file) : status;
}

/* ---- Problems ---- */

static sf_status_t wants_of_grid(const void *context, int32_t rank, sfctl_wants_t *wants)
{
  return sfctl_grid_wants(context, rank, wants);
}

static sf_status_t wants_of_matrix(const void *context, int32_t rank, sfctl_wants_t *wants)
{
  return sfctl_mtx_wants(context, rank, wants);
}

static sf_status_t plan_grid(const sfctl_options_t *options, sfctl_problem_t *problem, FILE *file)
{
  sfctl_grid_t grid;
  sf_status_t status = sfctl_grid_init(options->grid, options->stencil, problem->nranks, &grid);
  problem->wants = wants_of_grid;
  problem->context = &grid;
  return status == SF_OK ? report(options, problem, file) : status;
}

/* As the library divides grids. All fields are sent together. */
static sf_status_t plan_stencil(const sfctl_options_t *options, FILE *file)
{
  sfctl_options_t of_points = *options;
  sfctl_forecast_t forecast;
  sfctl_stencil_t stencil;
  of_points.ranks = options->nodes * options->per_node;
  of_points.unit = options->unit * options->fields;
  sf_status_t status = sfctl_stencil_init(options, &stencil);
  if (status != SF_OK)
    return status;
  status = sfctl_stencil_forecast(&stencil, &forecast);
  if (status == SF_OK)
    status = print(&of_points, &stencil, &forecast, file);
  sfctl_stencil_free(&stencil);
  return status;
}

static sf_status_t plan_matrix(const sfctl_options_t *options, sfctl_problem_t *problem, FILE *file)
{
  sfctl_mtx_t matrix;
  sf_status_t status = sfctl_mtx_read(options->matrix, problem->nranks, &matrix);
  if (status != SF_OK)
    return status;
  problem->wants = wants_of_matrix;
  problem->context = &matrix;
  status = report(options, problem, file);
  sfctl_mtx_free(&matrix);
  return status;
}

sf_status_t sfctl_plan_check(const sfctl_options_t *options)
{
  sfctl_grid_t grid;
  return options->grid != NULL ? sfctl_grid_init(options->grid, options->stencil, 1, &grid) : SF_OK;
}

sf_status_t sfctl_plan(const sfctl_options_t *options, FILE *file)
{
  sfctl_problem_t problem = {.nranks = (int32_t)options->ranks,
                             .per_node = (int32_t)options->per_node,
                             .cyclic = strcmp(options->distribution, "cyclic") == 0};
  if (options->nodes > 0)
    return plan_stencil(options, file);
  return options->grid != NULL ? plan_grid(options, &problem, file) : plan_matrix(options, &problem, file);
}
