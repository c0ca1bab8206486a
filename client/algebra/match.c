/* Matching of roots and leaves by name: ranks meet at a distributed directory of names. */
#include "client/algebra/derive.h"
#include "shm/base/error.h"

/* The directory is distributed in blocks of names. */
typedef struct sfc_directory {
  int64_t block; /* names per rank; fewer on the last ones */
  int64_t n;     /* on this rank */
} sfc_directory_t;

static sfc_directory_t open_directory(const sf_group_t *group, int64_t nnames)
{
  sfc_directory_t directory = {.block = nnames / group->size + (nnames % group->size != 0)};
  int64_t first = sfc_product(group->rank, directory.block);
  int64_t left = first < 0 || first > nnames ? 0 : nnames - first;
  directory.n = left < directory.block ? left : directory.block;
  return directory;
}

static int64_t index_at(const int64_t index[], int64_t i)
{
  return index != NULL ? index[i] : i;
}

static sf_status_t check_lists(const sf_match_t *match)
{
  if (match == NULL)
    return sfshm_error(SF_ERR_ARG, "match is NULL");
  if (match->nnames < 0 || match->root_space < 0 || match->nroots < 0 || match->nleaves < 0)
    return sfshm_error(SF_ERR_ARG, "nnames %lld, root_space %lld, nroots %lld, nleaves %lld", (long long)match->nnames,
                       (long long)match->root_space, (long long)match->nroots, (long long)match->nleaves);
  if ((match->nroots > 0 && match->root_name == NULL) || (match->nleaves > 0 && match->leaf_name == NULL))
    return sfshm_error(SF_ERR_ARG, "%s is NULL",
                       match->nroots > 0 && match->root_name == NULL ? "root_name" : "leaf_name");
  return SF_OK;
}

/* Checks offers and finds the number of roots. */
static sf_status_t check_offers(const sf_match_t *match, int64_t *root_space_p)
{
  *root_space_p = match->root_space;
  for (int64_t i = 0; i < match->nroots; i++) {
    int64_t root = index_at(match->root_index, i);
    if (match->root_name[i] < 0)
      continue;
    if (match->root_name[i] >= match->nnames || root < 0 || root == INT64_MAX)
      return sfshm_error(SF_ERR_RANGE, "place %lld of the list: root %lld, name %lld of %lld", (long long)i,
                         (long long)root, (long long)match->root_name[i], (long long)match->nnames);
    if (match->root_space > 0 && root >= match->root_space)
      return sfshm_error(SF_ERR_RANGE, "root index %lld, but there are %lld roots", (long long)root,
                         (long long)match->root_space);
    if (root >= *root_space_p)
      *root_space_p = root + 1;
  }
  return SF_OK;
}

static sf_status_t check_wants(const sf_match_t *match, int64_t *bad_leaf_p)
{
  for (int64_t i = 0; i < match->nleaves; i++) {
    *bad_leaf_p = index_at(match->leaf_index, i);
    if (match->leaf_name[i] >= match->nnames)
      return sfshm_error(SF_ERR_RANGE, "name %lld of %lld", (long long)match->leaf_name[i], (long long)match->nnames);
  }
  *bad_leaf_p = -1;
  return SF_OK;
}

/* The match without invalid parts, so that this rank can continue until all ranks agree on the error. */
static sf_match_t check_match(sfc_derive_t *derive, const sf_match_t *match)
{
  static const sf_match_t nothing;
  int64_t bad_leaf = -1;
  sf_status_t status = check_lists(match);
  if (status == SF_OK)
    status = check_offers(match, &derive->nroots);
  if (status == SF_OK)
    status = check_wants(match, &bad_leaf);
  sfc_derive_note(derive, status, bad_leaf);
  return status == SF_OK ? *match : nothing;
}

/* Creates a graph from this rank's names to the directory. */
static sf_graph_t *reach_directory(sfc_derive_t *derive, const sfc_directory_t *directory, int64_t n,
                                   const int64_t names[])
{
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, n, true);
  for (int64_t i = 0; !derive->starved && i < n; i++) {
    if (names[i] < 0)
      continue;
    edges.leaf[edges.n] = i;
    edges.root_rank[edges.n] = (int32_t)(names[i] / directory->block);
    edges.root[edges.n++] = names[i] % directory->block;
  }
  return sfc_derive_helper(derive, directory->n, &edges);
}

/* All ranks must use the same number of names. */
static void check_names(sfc_derive_t *derive, int64_t nnames)
{
  const int64_t *all = sfc_derive_allgather(derive, 1, &nnames);
  for (int32_t rank = 0; all != NULL && rank < derive->group->size; rank++)
    if (all[rank] != all[0])
      sfc_derive_error(derive, -1, SF_ERR_MISMATCH, "%lld names on rank 0, %lld on rank %d", (long long)all[0],
                       (long long)all[rank], rank);
}

/* Collects offers in the directory: the last one of the highest rank counts. */
static sfc_vertex_t *collect_offers(sfc_derive_t *derive, const sfc_directory_t *directory, const sf_match_t *match)
{
  sfc_vertex_t *offers = sfc_derive_vertices(derive, match->nroots);
  sfc_vertex_t *known = sfc_derive_vertices(derive, directory->n);
  for (int64_t i = 0; offers != NULL && i < match->nroots; i++)
    offers[i] = (sfc_vertex_t){derive->group->rank, index_at(match->root_index, i)};
  sf_graph_t *graph = reach_directory(derive, directory, match->nroots, match->root_name);
  sfc_derive_reduce(derive, graph, SF_INT64, 2, offers, known, SF_REPLACE);
  (void)sf_graph_destroy(graph);
  return known;
}

static void ask_directory(sfc_derive_t *derive, const sfc_directory_t *directory, const sf_match_t *match,
                          const sfc_vertex_t known[])
{
  sfc_vertex_t *found = sfc_derive_vertices(derive, match->nleaves);
  sf_graph_t *graph = reach_directory(derive, directory, match->nleaves, match->leaf_name);
  sfc_derive_bcast(derive, graph, SF_INT64, 2, known, found);
  (void)sf_graph_destroy(graph);
  sfc_derive_reserve(derive, match->nleaves);
  for (int64_t i = 0; found != NULL && i < match->nleaves; i++)
    if (found[i].rank >= 0)
      sfc_derive_add(derive, index_at(match->leaf_index, i), found[i].rank, found[i].index);
}

sf_status_t sf_graph_create_matching(sf_group_t *group, const sf_match_t *match, uint32_t flags, sf_graph_t **graph_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, flags);
  if (status != SF_OK)
    return status;
  sf_match_t checked = check_match(&derive, match);
  check_names(&derive, checked.nnames);
  sfc_directory_t directory = open_directory(group, checked.nnames);
  sfc_vertex_t *known = collect_offers(&derive, &directory, &checked);
  ask_directory(&derive, &directory, &checked, known);
  return sfc_derive_end(&derive, graph_p);
}
