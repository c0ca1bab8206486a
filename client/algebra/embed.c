/* Graphs with some of the edges of others. */
#include <stdint.h>

#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/error.h"

/* Marks what is selected of 0..n-1. An index beyond them is refused, or ignored, as it says; a negative one refused. */
static uint8_t *mark(sfc_derive_t *derive, int64_t n, int64_t nselected, const int64_t selected[], bool refuse)
{
  uint8_t *marks = sfc_derive_array(derive, n, sizeof *marks);
  if (nselected < 0 || (nselected > 0 && selected == NULL)) {
    sfc_derive_note(derive,
                    sfshm_error(SF_ERR_ARG, "%lld selected, in list %p", (long long)nselected, (void *)selected), -1);
    return marks;
  }
  for (int64_t i = 0; marks != NULL && i < nselected; i++) {
    if (selected[i] >= 0 && selected[i] < n)
      marks[selected[i]] = 1;
    else if (selected[i] < 0 || refuse)
      sfc_derive_note(derive,
                      sfshm_error(SF_ERR_RANGE, "selected index %lld, in place %lld of the list; 0..%lld expected",
                                  (long long)selected[i], (long long)i, (long long)n - 1),
                      -1);
  }
  return marks;
}

/* A part in the making, and its whole. */
typedef struct embedding {
  sfc_derive_t derive;
  const sf_graph_t *whole;
  const uint8_t *leaf_marks;
} embedding_t;

/* The edges of marked leaves. */
static void keep_marked(embedding_t *embedding)
{
  sfc_derive_t *derive = &embedding->derive;
  sfc_edges_t edges;
  sfc_derive_read(derive, embedding->whole, &edges);
  sfc_derive_room(derive, edges.n);
  for (int64_t i = 0; embedding->leaf_marks != NULL && i < edges.n; i++)
    if (embedding->leaf_marks[edges.leaf[i]] != 0)
      sfc_derive_add(derive, edges.leaf[i], edges.root_rank[i], edges.root[i]);
}

/* The same when a plan could not be filtered. */
static sf_status_t read_edges(void *argument, sfc_edge_input_t *input_p)
{
  embedding_t *embedding = argument;
  const sfc_edges_t *edges = &embedding->derive.edges;
  keep_marked(embedding);
  if (embedding->derive.status != SF_OK)
    return sfshm_error(embedding->derive.status, "%s", embedding->derive.detail);
  *input_p = (sfc_edge_input_t){embedding->whole->nroots, edges->n, edges->leaf, edges->root_rank, edges->root, true};
  return SF_OK;
}

static void begin(embedding_t *embedding, const char *caller, const sf_graph_t *graph)
{
  *embedding = (embedding_t){.whole = graph};
  sfc_derive_begin(&embedding->derive, caller, graph->group, graph->flags);
  embedding->derive.nroots = graph->nroots;
}

static sf_status_t end(embedding_t *embedding, const uint8_t root_marks[], sf_graph_t **embedded_p)
{
  sfc_part_t part = {embedding->whole, root_marks, embedding->leaf_marks, read_edges, embedding};
  if (sfc_part_is_possible(embedding->whole))
    embedding->derive.part = &part;
  else
    keep_marked(embedding);
  return sfc_derive_end(&embedding->derive, embedded_p);
}

sf_status_t sf_graph_embed_roots(sf_graph_t *graph, int64_t n, const int64_t selected_roots[], sf_graph_t **embedded_p)
{
  embedding_t embedding;
  sf_status_t status = sfc_derive_check(__func__, graph);
  if (status != SF_OK)
    return status;
  begin(&embedding, __func__, graph);
  uint8_t *roots = mark(&embedding.derive, graph->nroots, n, selected_roots, true);
  uint8_t *leaves = sfc_derive_array(&embedding.derive, graph->leaf_max + 1, sizeof *leaves);
  sfc_derive_bcast(&embedding.derive, graph, SF_UINT8, 1, roots, leaves);
  embedding.leaf_marks = leaves;
  return end(&embedding, roots, embedded_p);
}

sf_status_t sf_graph_embed_leaves(sf_graph_t *graph, int64_t n, const int64_t selected_leaves[],
                                  sf_graph_t **embedded_p)
{
  embedding_t embedding;
  sf_status_t status = sfc_derive_check(__func__, graph);
  if (status != SF_OK)
    return status;
  begin(&embedding, __func__, graph);
  embedding.leaf_marks = mark(&embedding.derive, graph->leaf_max + 1, n, selected_leaves, false);
  return end(&embedding, NULL, embedded_p);
}
