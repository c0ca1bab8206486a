/* Graphs for arrays of several columns. */
#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* Checks a stride: at least n, and n columns do not overflow. Returns 0 if invalid. */
static int64_t check_stride(sfc_derive_t *derive, const char *name, int64_t stride, int64_t n, int64_t count)
{
  if (stride == 0)
    stride = n;
  if (stride >= n && sfc_product(stride, count) >= 0)
    return stride;
  sfc_derive_error(derive, -1, SF_ERR_RANGE, "%s %lld, with %lld vertices and %lld columns", name, (long long)stride,
                   (long long)n, (long long)count);
  return 0;
}

/* Columns on a root's rank, sent to its leaves. */
typedef struct columns {
  int64_t count, stride;
} columns_t;

static void add_columns(sfc_derive_t *derive, const sfc_derive_edges_t *edges, const columns_t *there, int64_t count,
                        int64_t leaf_stride)
{
  for (int64_t i = 0; i < edges->n && !derive->starved; i++) {
    columns_t root = there[edges->leaf[i]];
    if (root.count != count) {
      sfc_derive_error(derive, edges->leaf[i], SF_ERR_MISMATCH, "%lld columns here, %lld on rank %d, where the root is",
                       (long long)count, (long long)root.count, edges->root_rank[i]);
      return;
    }
    for (int64_t k = 0; k < count; k++)
      sfc_derive_add(derive, edges->leaf[i] + k * leaf_stride, edges->root_rank[i], edges->root[i] + k * root.stride);
  }
}

sf_status_t sf_graph_create_strided(sf_graph_t *graph, int64_t count, int64_t root_stride, int64_t leaf_stride,
                                    sf_graph_t **strided_p)
{
  sfc_derive_t derive;
  sfc_derive_edges_t edges;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  if (count < 1)
    sfc_derive_error(&derive, -1, SF_ERR_ARG, "count is %lld", (long long)count);
  else
    root_stride = check_stride(&derive, "root_stride", root_stride, graph->nroots, count);
  if (count >= 1)
    leaf_stride = check_stride(&derive, "leaf_stride", leaf_stride, graph->plan.leaf_max + 1, count);
  columns_t *here = sfc_derive_array(&derive, graph->nroots, sizeof *here);
  columns_t *there = sfc_derive_array(&derive, graph->plan.leaf_max + 1, sizeof *there);
  sfc_derive_read_edges(&derive, graph, &edges);
  for (int64_t i = 0; here != NULL && i < graph->nroots; i++)
    here[i] = (columns_t){count, root_stride};
  sfc_derive_bcast(&derive, graph, SF_INT64, 2, here, there);
  if (derive.status == SF_OK) {
    derive.nroots = count * root_stride;
    sfc_derive_reserve(&derive, sfc_product(count, edges.n));
    add_columns(&derive, &edges, there, count, leaf_stride);
  }
  return sfc_derive_end(&derive, strided_p);
}
