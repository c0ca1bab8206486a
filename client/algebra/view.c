/* Views: graphs as text or JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/algebra/derive.h"
#include "client/graph.h"
#include "shm/base/error.h"

/* ---- One part ---------------------------------------------------------------------------------------------------- */

/* Number of edges from i on that advance by one leaf and one root. */
static int64_t run_length(const sfc_derive_edges_t *edges, int64_t i)
{
  int64_t n = 1;
  while (i + n < edges->n && edges->leaf[i + n] == edges->leaf[i] + n && edges->root[i + n] == edges->root[i] + n &&
         edges->root_rank[i + n] == edges->root_rank[i])
    n++;
  return n;
}

static void write_text(FILE *out, const sf_graph_t *graph, const sfc_derive_edges_t *edges)
{
  fprintf(out, "rank %d of %d: %" PRId64 " roots, %" PRId64 " leaves in a space of %" PRId64 "\n", graph->rank,
          graph->group->size, graph->nroots, graph->nleaves, graph->plan.leaf_max + 1);
  for (int64_t i = 0, n; i < edges->n; i += n) {
    n = run_length(edges, i);
    if (n == 1)
      fprintf(out, "  leaf %" PRId64 ": rank %d, root %" PRId64 "\n", edges->leaf[i], edges->root_rank[i],
              edges->root[i]);
    else
      fprintf(out, "  leaves %" PRId64 "..%" PRId64 ": rank %d, roots %" PRId64 "..%" PRId64 "\n", edges->leaf[i],
              edges->leaf[i] + n - 1, edges->root_rank[i], edges->root[i], edges->root[i] + n - 1);
  }
}

static void write_json(FILE *out, const sf_graph_t *graph, const sfc_derive_edges_t *edges)
{
  fprintf(out, "{\"rank\":%d,\"nroots\":%" PRId64 ",\"nleaves\":%" PRId64 ",\"leaf_space\":%" PRId64 ",\"edges\":[",
          graph->rank, graph->nroots, graph->nleaves, graph->plan.leaf_max + 1);
  for (int64_t i = 0; i < edges->n; i++)
    fprintf(out, "%s[%" PRId64 ",%d,%" PRId64 "]", i > 0 ? "," : "", edges->leaf[i], edges->root_rank[i],
            edges->root[i]);
  fputs("]}", out);
}

/* Returns this rank's text, malloc'ed; NULL: no memory, noted. */
static char *make_text(sfc_derive_t *derive, const sf_graph_t *graph, sf_view_format_t format, size_t *length_p)
{
  sfc_derive_edges_t edges;
  char *text = NULL;
  *length_p = 0;
  sfc_derive_read_edges(derive, graph, &edges);
  FILE *out = derive->starved ? NULL : open_memstream(&text, length_p);
  if (out == NULL) {
    sfc_derive_error(derive, -1, SF_ERR_NOMEM, "text of a graph");
    return NULL;
  }
  (format == SF_VIEW_JSON ? write_json : write_text)(out, graph, &edges);
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed)
    return text;
  sfc_derive_error(derive, -1, SF_ERR_NOMEM, "text of a graph");
  free(text);
  *length_p = 0;
  return NULL;
}

static sf_status_t check_format(const char *caller, sf_view_format_t format)
{
  if (format == SF_VIEW_TEXT || format == SF_VIEW_JSON)
    return SF_OK;
  return sfshm_error(SF_ERR_ARG, "%s: no format %d", caller, (int)format);
}

sf_status_t sf_graph_view_part(const sf_graph_t *graph, sf_view_format_t format, char *text, size_t text_bytes,
                               size_t *needed_p)
{
  sfc_derive_t derive;
  size_t length;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status == SF_OK)
    status = check_format(__func__, format);
  if (status == SF_OK && text == NULL && text_bytes > 0)
    status = sfshm_error(SF_ERR_ARG, "%s: text is NULL with %zu bytes", __func__, text_bytes);
  if (status != SF_OK)
    return status;
  char *whole = make_text(&derive, graph, format, &length);
  status = derive.status;
  sfc_derive_drop(&derive);
  if (whole == NULL)
    return status;
  if (text_bytes > 0) {
    size_t n = length < text_bytes ? length : text_bytes - 1;
    memcpy(text, whole, n);
    text[n] = '\0';
  }
  if (needed_p != NULL)
    *needed_p = length + 1;
  free(whole);
  return SF_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Collects the texts on rank 0, concatenated. */
static char *collect(sfc_derive_t *derive, const int64_t lengths[], const char *mine)
{
  int64_t total = 0, at = 0;
  for (int32_t rank = 0; lengths != NULL && derive->group->rank == 0 && rank < derive->group->size; rank++)
    total += lengths[rank];
  sfc_derive_edges_t edges = sfc_derive_new_edges(derive, total, false);
  char *all = sfc_derive_array(derive, total, 1);
  edges.n = derive->starved ? 0 : total;
  for (int32_t rank = 0; at < edges.n; rank++)
    for (int64_t i = 0; i < lengths[rank]; i++, at++) {
      edges.root_rank[at] = rank;
      edges.root[at] = i;
    }
  sfc_derive_bcast_along(derive, lengths != NULL ? lengths[derive->group->rank] : 0, &edges, SF_UINT8, mine, all);
  return derive->status == SF_OK ? all : NULL;
}

static sf_status_t print(FILE *file, sf_view_format_t format, int32_t size, const int64_t lengths[], const char *all)
{
  if (format == SF_VIEW_JSON)
    fprintf(file, "{\"size\":%d,\"parts\":[", size);
  for (int32_t rank = 0; rank < size; all += lengths[rank++]) {
    if (format == SF_VIEW_JSON && rank > 0)
      fputs(",\n", file);
    fwrite(all, 1, (size_t)lengths[rank], file);
  }
  if (format == SF_VIEW_JSON)
    fputs("]}\n", file);
  if (fflush(file) != 0 || ferror(file) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "writing the view of a graph");
  return SF_OK;
}

sf_status_t sf_graph_view(sf_graph_t *graph, sf_view_format_t format, FILE *file)
{
  sfc_derive_t derive;
  size_t length;
  sf_status_t status = sfc_derive_from(&derive, __func__, graph);
  if (status != SF_OK)
    return status;
  sfc_derive_note(&derive, check_format(__func__, format), -1);
  if (graph->rank == 0 && file == NULL)
    sfc_derive_error(&derive, -1, SF_ERR_ARG, "the file is NULL");
  char *mine = make_text(&derive, graph, format, &length);
  const int64_t mine_bytes = (int64_t)length;
  const int64_t *lengths = sfc_derive_allgather(&derive, 1, &mine_bytes);
  const char *all = collect(&derive, lengths, mine);
  if (graph->rank == 0 && all != NULL)
    sfc_derive_note(&derive, print(file, format, derive.group->size, lengths, all), -1);
  free(mine);
  return sfc_derive_agree(&derive);
}
