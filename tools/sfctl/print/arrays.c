/* Arrays: see arrays.h. The one thread of sfctl. */
#include "tools/sfctl/print/arrays.h"

#include "proto/report/arrays.h"
#include "proto/report/text.h"
#include "tools/sfctl/print/short_id.h"
#include "tools/sfctl/print/table.h"

/* ---- For people -------------------------------------------------------------------------------------------------- */

static uint64_t sum_way(const uint64_t counts[], size_t n, int way)
{
  uint64_t sum = 0;
  for (int access = 0; access < SFREPORT_ARRAY_ACCESSES; access++)
    sum += sfreport_array_count(counts, n, way, access);
  return sum;
}

static uint64_t sum_access(const Sfproto__ArrayInfo *info, int access)
{
  uint64_t sum = 0;
  for (int way = 0; way < SFREPORT_ARRAY_WAYS; way++)
    sum += sfreport_array_count(info->operations, info->n_operations, way, access);
  return sum;
}

static void add_array(sfctl_table_t *table, const Sfproto__ArrayInfo *info, int digits)
{
  char id[SFCTL_ID_SIZE], text[SFREPORT_ARRAY_TEXT_SIZE];
  sfctl_table_cell(table, "%s", sfctl_id_text(info->graph, digits, id));
  sfctl_table_cell(table, "%s", info->job);
  sfctl_table_cell(table, "%s", info->state);
  sfctl_table_cell(table, "%s", info->unit);
  sfctl_table_cell(table, "%s", sfreport_array_shape(info, text));
  sfctl_table_cell(table, "%s", sfreport_array_grid(info, text));
  sfctl_table_cell(table, "%s", sfreport_array_blocks(info, text));
  for (int way = 0; way < SFREPORT_ARRAY_WAYS; way++) {
    sfctl_table_number(table, sum_way(info->operations, info->n_operations, way));
    sfctl_table_bytes(table, sum_way(info->bytes, info->n_bytes, way));
  }
  sfctl_table_number(table, info->in_flight);
  for (int access = 0; access < SFREPORT_ARRAY_ACCESSES; access++)
    sfctl_table_number(table, sum_access(info, access));
  sfctl_table_cell(table, "%d", info->here);
  sfctl_table_bytes(table, info->length);
}

sf_status_t sfctl_print_arrays(const sfreport_list_t *list, int digits, const sfctl_print_style_t *style, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"GRAPH", SFCTL_RIGHT},        {"JOB", SFCTL_LEFT},        {"STATE", SFCTL_LEFT},       {"UNIT", SFCTL_LEFT},
      {"SHAPE", SFCTL_LEFT},         {"RANKS", SFCTL_LEFT},      {"BLOCKS", SFCTL_LEFT},      {"OWN", SFCTL_RIGHT},
      {"OWN-BYTES", SFCTL_RIGHT},    {"NODE", SFCTL_RIGHT},      {"NODE-BYTES", SFCTL_RIGHT}, {"DAEMON", SFCTL_RIGHT},
      {"DAEMON-BYTES", SFCTL_RIGHT}, {"IN-FLIGHT", SFCTL_RIGHT}, {"PUTS", SFCTL_RIGHT},       {"GETS", SFCTL_RIGHT},
      {"ACCS", SFCTL_RIGHT},         {"ATOMICS", SFCTL_RIGHT},   {"HERE", SFCTL_RIGHT},       {"MEMORY", SFCTL_RIGHT}};
  sfctl_table_t table = {.columns = columns, .ncolumns = sizeof columns / sizeof columns[0]};
  for (size_t i = 0; i < list->count; i++)
    add_array(&table, list->items[i].message->array_info, digits);
  return sfctl_table_print_all(&table, "arrays", style->width, file);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void print_dims(sfctl_json_t *json, const Sfproto__ArrayInfo *info)
{
  sfctl_json_begin_array(json, "dimensions");
  for (size_t d = 0; d < info->n_extents && d < info->n_grid && d < info->n_blocks; d++) {
    sfctl_json_begin_object(json, NULL);
    sfctl_json_int(json, "extent", info->extents[d]);
    sfctl_json_int(json, "ranks", info->grid[d]);
    if (info->blocks[d] != 0)
      sfctl_json_int(json, "block", info->blocks[d]);
    else
      sfctl_json_null(json, "block");
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
}

void sfctl_print_array_json(sfctl_json_t *json, const Sfproto__ArrayInfo *info)
{
  sfctl_json_uint(json, "graph", info->graph);
  sfctl_json_uint(json, "job_id", info->job_id);
  sfctl_json_string(json, "job", info->job);
  sfctl_json_string(json, "state", info->state);
  sfctl_json_string(json, "unit", info->unit);
  print_dims(json, info);
  sfctl_json_int(json, "here", info->here);
  sfctl_json_uint(json, "part_bytes", info->length);
  sfctl_json_uint(json, "in_flight", info->in_flight);
  sfctl_json_begin_array(json, "operations");
  for (int k = 0; k < SFREPORT_ARRAY_WAYS * SFREPORT_ARRAY_ACCESSES; k++) {
    int way = k / SFREPORT_ARRAY_ACCESSES, access = k % SFREPORT_ARRAY_ACCESSES;
    sfctl_json_begin_object(json, NULL);
    sfctl_json_string(json, "way", sfreport_array_ways[way]);
    sfctl_json_string(json, "kind", sfreport_array_accesses[access]);
    sfctl_json_uint(json, "operations", sfreport_array_count(info->operations, info->n_operations, way, access));
    sfctl_json_uint(json, "bytes", sfreport_array_count(info->bytes, info->n_bytes, way, access));
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
}
