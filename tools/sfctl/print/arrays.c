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
  char id[SFCTL_ID_SIZE], shape[SFREPORT_ARRAY_TEXT_SIZE], grid[SFREPORT_ARRAY_TEXT_SIZE];
  char blocks[SFREPORT_ARRAY_TEXT_SIZE];
  sfctl_table_add(table, SFCTL_VALUE(sfctl_id_text(info->graph, digits, id)), SFCTL_VALUE(info->job),
                  SFCTL_VALUE(info->state), SFCTL_VALUE(info->unit), SFCTL_VALUE(sfreport_array_shape(info, shape)),
                  SFCTL_VALUE(sfreport_array_grid(info, grid)), SFCTL_VALUE(sfreport_array_blocks(info, blocks)));
  for (int way = 0; way < SFREPORT_ARRAY_WAYS; way++)
    sfctl_table_add(table, SFCTL_VALUE(sum_way(info->operations, info->n_operations, way)),
                    sfctl_bytes(sum_way(info->bytes, info->n_bytes, way)));
  sfctl_table_add(table, SFCTL_VALUE(info->in_flight));
  for (int access = 0; access < SFREPORT_ARRAY_ACCESSES; access++)
    sfctl_table_add(table, SFCTL_VALUE(sum_access(info, access)));
  sfctl_table_add(table, SFCTL_VALUE(info->here), sfctl_bytes(info->length));
}

sf_status_t sfctl_print_arrays(const sfreport_list_t *list, int digits, const sfctl_print_style_t *style, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"GRAPH", SFCTL_RIGHT},        {"JOB", SFCTL_LEFT},        {"STATE", SFCTL_LEFT},       {"UNIT", SFCTL_LEFT},
      {"SHAPE", SFCTL_LEFT},         {"RANKS", SFCTL_LEFT},      {"BLOCKS", SFCTL_LEFT},      {"OWN", SFCTL_RIGHT},
      {"OWN-BYTES", SFCTL_RIGHT},    {"NODE", SFCTL_RIGHT},      {"NODE-BYTES", SFCTL_RIGHT}, {"DAEMON", SFCTL_RIGHT},
      {"DAEMON-BYTES", SFCTL_RIGHT}, {"IN-FLIGHT", SFCTL_RIGHT}, {"PUTS", SFCTL_RIGHT},       {"GETS", SFCTL_RIGHT},
      {"ACCS", SFCTL_RIGHT},         {"ATOMICS", SFCTL_RIGHT},   {"HERE", SFCTL_RIGHT},       {"MEMORY", SFCTL_RIGHT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  for (size_t i = 0; i < list->count; i++)
    add_array(&table, list->items[i].message->array_info, digits);
  return sfctl_table_print_all(&table, "arrays", style->width, file);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void print_dims(sfctl_json_t *json, const Sfproto__ArrayInfo *info)
{
  sfctl_json_begin_array(json, "dimensions");
  for (size_t d = 0; d < info->n_extents && d < info->n_grid && d < info->n_blocks; d++) {
    sfctl_json_object(json, NULL, SFCTL_MEMBER("extent", info->extents[d]), SFCTL_MEMBER("ranks", info->grid[d]),
                      SFCTL_MEMBER_IF("block", info->blocks[d] != 0, info->blocks[d]));
  }
  sfctl_json_end_array(json);
}

void sfctl_print_array_json(sfctl_json_t *json, const Sfproto__ArrayInfo *info)
{
  sfctl_json_add(json, SFCTL_FIELD(info, graph), SFCTL_FIELD(info, job_id), SFCTL_FIELD(info, job),
                 SFCTL_FIELD(info, state), SFCTL_FIELD(info, unit));
  print_dims(json, info);
  sfctl_json_add(json, SFCTL_FIELD(info, here), SFCTL_MEMBER("part_bytes", info->length), SFCTL_FIELD(info, in_flight));
  sfctl_json_begin_array(json, "operations");
  for (int k = 0; k < SFREPORT_ARRAY_WAYS * SFREPORT_ARRAY_ACCESSES; k++) {
    int way = k / SFREPORT_ARRAY_ACCESSES, access = k % SFREPORT_ARRAY_ACCESSES;
    sfctl_json_object(
        json, NULL, SFCTL_MEMBER("way", sfreport_array_ways[way]),
        SFCTL_MEMBER("kind", sfreport_array_accesses[access]),
        SFCTL_MEMBER("operations", sfreport_array_count(info->operations, info->n_operations, way, access)),
        SFCTL_MEMBER("bytes", sfreport_array_count(info->bytes, info->n_bytes, way, access)));
  }
  sfctl_json_end_array(json);
}
