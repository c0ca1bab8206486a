/* Degrees of graphs. The one thread of sfctl. */
#include <inttypes.h>

#include "tools/sfctl/print/print.h"
#include "tools/sfctl/print/table.h"

static const sfctl_column_t columns[] = {
    {"RANK", SFCTL_RIGHT},     {"ROOTS", SFCTL_RIGHT},     {"LEAVES", SFCTL_RIGHT},
    {"ON-ROOTS", SFCTL_RIGHT}, {"ON-LEAVES", SFCTL_RIGHT}, {"MOST", SFCTL_LEFT},
};

static void add_row(sfctl_table_t *table, const sfctl_degrees_t *rank)
{
  const sfreport_degrees_t *edges = &rank->edges;
  sfctl_table_add(table, SFCTL_VALUE(edges->rank), SFCTL_VALUE(rank->nroots), SFCTL_VALUE(rank->nleaves),
                  SFCTL_VALUE(edges->root_edges), SFCTL_VALUE(edges->leaf_edges));
  if (edges->top_leaves > 0)
    sfctl_table_cell(table, "%" PRIu64 " on root %" PRId64 " of rank %d", edges->top_leaves, edges->top_root,
                     edges->top_rank);
  else
    sfctl_table_cell(table, "-");
}

sf_status_t sfctl_print_degrees_text(const sfctl_print_style_t *style, int32_t node, FILE *file)
{
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  sfreport_shape_t shape = {0};
  char text[400];
  sf_status_t status = SF_OK;
  for (size_t i = 0; i < style->within->nranks; i++) {
    if (style->within->ranks[i].node != node)
      continue;
    sfreport_shape_add(&shape, &style->within->ranks[i].edges);
    add_row(&table, &style->within->ranks[i]);
  }
  sfreport_shape_describe(&shape, text, sizeof text);
  if (text[0] != '\0')
    fprintf(file, "%s\n", text);
  if (style->pairs && shape.nranks > 0)
    status = sfctl_table_print(&table, style->width, file);
  sfctl_table_clear(&table);
  return status;
}

void sfctl_print_degrees_json(sfctl_json_t *json, const sfctl_within_t *within, int32_t node)
{
  sfctl_json_begin_array(json, "ranks");
  for (size_t i = 0; i < within->nranks; i++) {
    const sfctl_degrees_t *rank = &within->ranks[i];
    if (rank->node != node)
      continue;
    sfctl_json_object(json, NULL, SFCTL_MEMBER("rank", rank->edges.rank), SFCTL_MEMBER("roots", rank->nroots),
                      SFCTL_MEMBER("leaves", rank->nleaves), SFCTL_MEMBER("root_edges", rank->edges.root_edges),
                      SFCTL_MEMBER("leaf_edges", rank->edges.leaf_edges),
                      SFCTL_MEMBER("top_rank", rank->edges.top_rank), SFCTL_MEMBER("top_root", rank->edges.top_root),
                      SFCTL_MEMBER("top_leaves", rank->edges.top_leaves));
  }
  sfctl_json_end_array(json);
}
