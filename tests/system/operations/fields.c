/* Operations with several fields: see fields.h. */
#include "tests/system/operations/fields.h"

const int32_t sftest_fields_placings[SFTEST_FIELDS_PLACINGS][SFTEST_FIELDS_RANKS] = {
    {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0}};

void sftest_fields_one_by_one(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[], bool bcast)
{
  for (const sf_field_t *field = fields; field < fields + n; field++)
    SFTEST_OK(self, bcast ? sf_bcast(graph, field->unit, field->rootdata, field->leafdata, field->op)
                          : sf_reduce(graph, field->unit, field->leafdata, field->rootdata, field->op));
}

sf_request_t *sftest_fields_init(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                 bool bcast)
{
  sf_request_t *request;
  SFTEST_OK(self, (bcast ? sf_bcast_init_v : sf_reduce_init_v)(graph, n, fields, &request));
  return request;
}

sf_request_t *sftest_fields_begin(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                  bool bcast)
{
  sf_request_t *request;
  SFTEST_OK(self, (bcast ? sf_bcast_begin_v : sf_reduce_begin_v)(graph, n, fields, &request));
  return request;
}
