/* Operations with several fields beside one operation for each field. */
#ifndef SFTEST_FIELDS_H
#define SFTEST_FIELDS_H

#include "tests/system/cluster.h"

#define SFTEST_FIELDS_RANKS 4
#define SFTEST_FIELDS_PLACINGS 3

/* On one node, two and three. */
extern const int32_t sftest_fields_placings[SFTEST_FIELDS_PLACINGS][SFTEST_FIELDS_RANKS];

/* A bcast, else a reduce, of each field by itself. */
void sftest_fields_one_by_one(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[], bool bcast);

/* One operation with all fields: sf_bcast_init_v or sf_reduce_init_v, and the same for begin. */
sf_request_t *sftest_fields_init(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                 bool bcast);
sf_request_t *sftest_fields_begin(sftest_rank_t *self, sf_graph_t *graph, int32_t n, const sf_field_t fields[],
                                  bool bcast);

#endif
