/* Copies, reordered copies, and comparison of graphs. */
#include <stdlib.h>
#include <string.h>

#include "client/algebra/derive.h"
#include "client/graph.h"

sf_status_t sf_graph_duplicate(sf_graph_t *graph, uint32_t flags, sf_graph_t **copy_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  return status == SF_OK ? sfc_derive_copy(__func__, graph, flags, SF_OK, copy_p) : status;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

typedef struct arrow {
  int64_t root_rank, root, leaf;
} arrow_t;

static int by_root(const void *a, const void *b)
{
  const arrow_t *x = a, *y = b;
  if (x->root_rank != y->root_rank)
    return (x->root_rank > y->root_rank) - (x->root_rank < y->root_rank);
  if (x->root != y->root)
    return (x->root > y->root) - (x->root < y->root);
  return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* Sorts the edges by root. */
static void sort_edges(sfc_derive_t *derive, sfc_derive_edges_t *edges)
{
  arrow_t *arrows = sfc_derive_array(derive, edges->n, sizeof *arrows);
  if (arrows == NULL)
    return;
  for (int64_t i = 0; i < edges->n; i++)
    arrows[i] = (arrow_t){edges->root_rank[i], edges->root[i], edges->leaf[i]};
  qsort(arrows, (size_t)edges->n, sizeof *arrows, by_root);
  for (int64_t i = 0; i < edges->n; i++) {
    edges->root_rank[i] = (int32_t)arrows[i].root_rank;
    edges->root[i] = arrows[i].root;
    edges->leaf[i] = arrows[i].leaf;
  }
}

sf_status_t sf_graph_rank_order(sf_graph_t *graph, int64_t old_leaf[], sf_graph_t **ordered_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  sfc_derive_read_edges(&derive, graph, &derive.edges);
  sort_edges(&derive, &derive.edges);
  if (old_leaf != NULL && derive.status == SF_OK)
    memcpy(old_leaf, derive.edges.leaf, (size_t)derive.edges.n * sizeof *old_leaf);
  derive.edges.leaf = NULL;
  return sfc_derive_end(&derive, ordered_p);
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static bool equal_here(sfc_derive_t *derive, const sf_graph_t *a, const sf_graph_t *b)
{
  sfc_derive_edges_t of_a, of_b;
  if (a->nroots != b->nroots || a->nleaves != b->nleaves)
    return false;
  sfc_derive_read_edges(derive, a, &of_a);
  sfc_derive_read_edges(derive, b, &of_b);
  size_t n = (size_t)of_a.n;
  return of_a.n == of_b.n && memcmp(of_a.leaf, of_b.leaf, n * sizeof *of_a.leaf) == 0 &&
         memcmp(of_a.root_rank, of_b.root_rank, n * sizeof *of_a.root_rank) == 0 &&
         memcmp(of_a.root, of_b.root, n * sizeof *of_a.root) == 0;
}

sf_status_t sf_graph_equal(sf_graph_t *a, sf_graph_t *b, bool *equal_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_from_two(&derive, __func__, a, b);
  if (status != SF_OK)
    return status;
  sfc_derive_check_output(&derive, equal_p);
  const int64_t differs = !equal_here(&derive, a, b);
  int64_t ndifferent = 0;
  const int64_t *all = sfc_derive_allgather(&derive, 1, &differs);
  for (int32_t rank = 0; all != NULL && rank < a->group->size; rank++)
    ndifferent += all[rank];
  status = sfc_derive_agree(&derive);
  if (status == SF_OK)
    *equal_p = ndifferent == 0;
  return status;
}
