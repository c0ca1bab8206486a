/* The images of a merge: see merge.h. Any thread. */
#include "shm/trunk/merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/trunk/merge/draft.h"
#include "shm/trunk/merge/place.h"
#include "shm/trunk/trunk.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Options that -O2 lacks: vectorise loops of unknown length. */
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

static int64_t nvalues_of(const sfshm_piece_t *piece)
{
  return piece->block->edges->value_root.n;
}

static int64_t nedges_of(const sfshm_piece_t *piece)
{
  return piece->block->edges->leaf.n;
}

static sfshm_image_header_t make_header(const sfshm_positions_t *positions, uint32_t magic)
{
  return (sfshm_image_header_t){.magic = magic,
                                .uncombined = positions->uncombined,
                                .bcast_values = positions->npositions,
                                .reduce_values = positions->uncombined ? positions->nedges : positions->npositions};
}

/* ---- Root image -------------------------------------------------------------------------------------------------- */

static size_t root_width(const sfshm_positions_t *positions)
{
  for (int32_t i = 0; i < positions->npieces; i++)
    if (positions->pieces[i].block->edges->roots.max > UINT32_MAX)
      return sizeof(int64_t);
  return sizeof(uint32_t);
}

/* Not more than this. */
static size_t root_image_bytes(const sfshm_positions_t *positions)
{
  size_t width = root_width(positions);
  size_t bytes = sizeof(sfshm_image_header_t) + (size_t)positions->nowners * sizeof(sfshm_root_part_t) +
                 (size_t)positions->npieces * (sizeof(sfshm_root_segment_t) + sizeof(sfshm_root_winner_t));
  for (int32_t i = 0; i < positions->nowners; i++)
    bytes += sfshm_draft_array_bytes(positions->owners[i].n, width) +
             (positions->uncombined ? 0 : sfshm_draft_array_bytes(positions->owners[i].n, sizeof(uint32_t)));
  for (int32_t i = 0; i < positions->npieces && positions->uncombined; i++)
    bytes += sfshm_draft_array_bytes(nedges_of(&positions->pieces[i]), width);
  return bytes;
}

static sfshm_stored_pattern_t store_roots(const sfshm_positions_t *positions, const sfshm_owner_t *owner,
                                          sfshm_draft_t *image)
{
  const sfshm_edges_t *edges = positions->pieces[owner->first_piece].block->edges;
  if (owner->npieces == 1)
    return sfshm_draft_store(image, &edges->value_root, edges->roots.max);
  const void *key = owner->wide_key != NULL ? (const void *)owner->wide_key : owner->key;
  sfshm_keys_write_roots(&owner->keys, key, owner->n, sfshm_draft_end(image));
  return sfshm_draft_keep_pattern(image, owner->n, owner->keys.root_max > UINT32_MAX);
}

/* The root of each edge: first the edges with the values, then the extra ones. */
static sfshm_stored_pattern_t store_edge_roots(const sfshm_edges_t *edges, sfshm_draft_t *image)
{
  int64_t nvalues = edges->value_root.n;
  bool wide = edges->roots.max > UINT32_MAX;
  uint32_t *narrow_root = sfshm_draft_end(image);
  int64_t *wide_root = sfshm_draft_end(image);
  if (wide)
    sfshm_write_wide(&edges->value_root, 0, wide_root);
  else
    sfshm_write_narrow(&edges->value_root, 0, narrow_root);
  for (int64_t e = 0; e < edges->extra_value.n; e++) {
    int64_t value = sfshm_pattern_at(&edges->extra_value, e);
    if (wide)
      wide_root[nvalues + e] = wide_root[value];
    else
      narrow_root[nvalues + e] = narrow_root[value];
  }
  return sfshm_draft_keep_pattern(image, edges->leaf.n, wide);
}

/* root: those of the whole part. */
static sfshm_root_segment_t make_segment(const sfshm_positions_t *positions, const sfshm_piece_t *piece,
                                         const sfshm_stored_pattern_t *root, sfshm_draft_t *image)
{
  sfshm_root_segment_t segment = {.rank = piece->block->rank,
                                  .first = positions->uncombined ? piece->edge : piece->first};
  if (positions->uncombined && nedges_of(piece) > piece->nled)
    segment.root = store_edge_roots(piece->block->edges, image);
  else
    segment.root = sfshm_draft_slice(image, root, piece->first - piece->owner->first, piece->nled);
  return segment;
}

/* Ranks that lead no root of an owner have no turn there, unless contributions travel uncombined. */
static bool has_segment(const sfshm_positions_t *positions, const sfshm_piece_t *piece)
{
  return positions->uncombined || piece->nled > 0;
}

/* Number of roots with several contributors that stand before a position. */
static int64_t count_shared(const sfshm_positions_t *positions, int64_t position)
{
  int64_t low = 0, high = positions->nlayers > 0 ? positions->layer_first[1] : 0;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (positions->staged[middle] < position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int32_t winner_of(const sfshm_owner_t *owner, uint32_t position)
{
  return owner->spots[position - (uint32_t)owner->first].winner;
}

/* Counts, by number of the piece, what each piece wins that another one leads. Returns how many pieces there are that
 * win something in this way. Only roots with several contributors are won by another piece than their lead. */
static uint32_t count_winners(const sfshm_positions_t *positions, const sfshm_owner_t *owner, int64_t count[])
{
  int64_t end = count_shared(positions, owner->first + owner->n);
  uint32_t nwinners = 0;
  memset(count, 0, (size_t)owner->npieces * sizeof *count);
  for (int64_t i = count_shared(positions, owner->first); i < end; i++)
    count[winner_of(owner, positions->staged[i])]++;
  for (int32_t i = 0; i < owner->npieces; i++)
    nwinners += count[i] > 0;
  return nwinners;
}

/* Stores these positions by winner: one array for all of them. */
static void store_winners(const sfshm_positions_t *positions, const sfshm_owner_t *owner, int64_t count[],
                          sfshm_root_part_t *part, sfshm_draft_t *image)
{
  const sfshm_piece_t *pieces = positions->pieces + owner->first_piece;
  int64_t end = count_shared(positions, owner->first + owner->n), total = 0;
  part->winners = sfshm_draft_append(image, part->nwinners * sizeof(sfshm_root_winner_t));
  sfshm_root_winner_t *winner = sfshm_draft_at(image, part->winners);
  uint32_t *position = sfshm_draft_end(image);
  for (int32_t i = 0; i < owner->npieces; i++) {
    int64_t n = count[i];
    count[i] = total;
    total += n;
  }
  for (int64_t i = count_shared(positions, owner->first); i < end; i++)
    position[count[winner_of(owner, positions->staged[i])]++] = positions->staged[i];
  sfshm_stored_pattern_t all = sfshm_draft_keep_pattern(image, total, false);
  for (int32_t i = 0; i < owner->npieces; i++) {
    int64_t begin = i > 0 ? count[i - 1] : 0;
    if (count[i] > begin)
      *winner++ = (sfshm_root_winner_t){.rank = pieces[i].block->rank,
                                        .position = sfshm_draft_slice(image, &all, begin, count[i] - begin)};
  }
}

/* count: memory for a number by piece. */
static sfshm_root_part_t make_root_part(const sfshm_positions_t *positions, const sfshm_owner_t *owner, int64_t count[],
                                        sfshm_draft_t *image)
{
  const sfshm_piece_t *pieces = positions->pieces + owner->first_piece;
  sfshm_root_part_t part = {.rank = owner->rank, .first = owner->first};
  for (int32_t i = 0; i < owner->npieces; i++)
    part.nsegments += has_segment(positions, &pieces[i]);
  part.segments = sfshm_draft_append(image, part.nsegments * sizeof(sfshm_root_segment_t));
  part.root = store_roots(positions, owner, image);
  sfshm_root_segment_t *segment = sfshm_draft_at(image, part.segments);
  for (int32_t i = 0; i < owner->npieces; i++)
    if (has_segment(positions, &pieces[i]))
      *segment++ = make_segment(positions, &pieces[i], &part.root, image);
  if (!positions->uncombined && owner->spots != NULL)
    part.nwinners = count_winners(positions, owner, count);
  if (part.nwinners > 0)
    store_winners(positions, owner, count, &part, image);
  return part;
}

static sf_status_t make_root_image(const sfshm_positions_t *positions, sfshm_draft_t *image)
{
  sfshm_image_header_t header = make_header(positions, SFSHM_ROOT_IMAGE_MAGIC);
  int64_t *count = malloc((size_t)positions->most_pieces * sizeof *count);
  sf_status_t status = count != NULL ? sfshm_draft_init(image, root_image_bytes(positions))
                                     : sfshm_error(SF_ERR_NOMEM, "winners of %d ranks", positions->most_pieces);
  if (status != SF_OK) {
    free(count);
    return status;
  }
  sfshm_draft_append(image, sizeof header);
  header.nparts = (uint32_t)positions->nowners;
  header.parts = sfshm_draft_append(image, header.nparts * sizeof(sfshm_root_part_t));
  sfshm_root_part_t *parts = sfshm_draft_at(image, header.parts);
  for (int32_t i = 0; i < positions->nowners; i++)
    parts[i] = make_root_part(positions, &positions->owners[i], count, image);
  memcpy(image->base, &header, sizeof header);
  sfshm_draft_finish(image);
  free(count);
  return SF_OK;
}

/* ---- Leaf image -------------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
  const sfshm_piece_t *x = *(const sfshm_piece_t *const *)a, *y = *(const sfshm_piece_t *const *)b;
  if (x->block->rank != y->block->rank)
    return x->block->rank < y->block->rank ? -1 : 1;
  return (x > y) - (x < y); /* as the blocks: by owner */
}

/* Pieces of the same rank from first on. */
static int32_t count_same_rank(const sfshm_piece_t *const pieces[], int32_t first, int32_t npieces)
{
  int32_t end = first + 1;
  while (end < npieces && pieces[end]->block->rank == pieces[first]->block->rank)
    end++;
  return end - first;
}

static size_t leaf_image_bytes(const sfshm_positions_t *positions, size_t nparts)
{
  size_t nto = (size_t)(positions->uncombined ? positions->nedges : positions->nvalues);
  size_t indices = (size_t)positions->nvalues + nto + (size_t)positions->nstaged;
  size_t arrays = 2 * nparts + positions->nlayers;
  return sizeof(sfshm_image_header_t) + nparts * sizeof(sfshm_leaf_part_t) +
         positions->nlayers * sizeof(sfshm_stored_pattern_t) + indices * sizeof(uint32_t) + arrays * 8;
}

static void write_consecutive(int64_t first, int64_t n, uint32_t index[])
{
  for (int64_t i = 0; i < n; i++)
    index[i] = (uint32_t)(first + i);
}

/* The patterns of one rank's pieces. Those that are all led by the rank and stand behind each other need no array. */

static sfshm_stored_pattern_t store_from(const sfshm_piece_t *const pieces[], int32_t npieces, sfshm_draft_t *image)
{
  int64_t end = pieces[0]->first, n = 0;
  uint32_t *index = sfshm_draft_end(image);
  bool joined = true;
  for (int32_t i = 0; i < npieces; i++) {
    joined = joined && pieces[i]->from == NULL && pieces[i]->first == end;
    end += nvalues_of(pieces[i]);
  }
  if (joined)
    return (sfshm_stored_pattern_t){.n = end - pieces[0]->first, .start = pieces[0]->first, .stride = 1};
  for (int32_t i = 0; i < npieces; i++) {
    int64_t nvalues = nvalues_of(pieces[i]);
    if (pieces[i]->from == NULL)
      write_consecutive(pieces[i]->first, nvalues, index + n);
    else
      memcpy(index + n, pieces[i]->from, (size_t)nvalues * sizeof *index);
    n += nvalues;
  }
  return sfshm_draft_keep_pattern(image, n, false);
}

/* from: the stored one, which it equals if nothing is staged. */
static sfshm_stored_pattern_t store_to(const sfshm_positions_t *positions, const sfshm_piece_t *const pieces[],
                                       int32_t npieces, const sfshm_stored_pattern_t *from, sfshm_draft_t *image)
{
  int64_t n = 0;
  uint32_t *index = sfshm_draft_end(image);
  bool staged = false;
  for (int32_t i = 0; i < npieces; i++)
    staged = staged || pieces[i]->from != NULL;
  if (!staged)
    return *from;
  for (int32_t i = 0; i < npieces; i++) {
    int64_t nvalues = nvalues_of(pieces[i]);
    if (pieces[i]->from == NULL)
      write_consecutive(pieces[i]->first, nvalues, index + n);
    else
      sfshm_positions_stage(positions, pieces[i], index + n);
    n += nvalues;
  }
  return sfshm_draft_keep_pattern(image, n, false);
}

static sfshm_stored_pattern_t store_to_uncombined(const sfshm_piece_t *const pieces[], int32_t npieces,
                                                  sfshm_draft_t *image)
{
  int64_t end = pieces[0]->edge, n = 0;
  uint32_t *index = sfshm_draft_end(image);
  bool joined = true;
  for (int32_t i = 0; i < npieces; i++) {
    joined = joined && pieces[i]->edge == end;
    end += nedges_of(pieces[i]);
  }
  if (joined)
    return (sfshm_stored_pattern_t){.n = end - pieces[0]->edge, .start = pieces[0]->edge, .stride = 1};
  for (int32_t i = 0; i < npieces; i++) {
    write_consecutive(pieces[i]->edge, nedges_of(pieces[i]), index + n);
    n += nedges_of(pieces[i]);
  }
  return sfshm_draft_keep_pattern(image, n, false);
}

static sfshm_stored_pattern_t store_layer(const sfshm_positions_t *positions, uint32_t k, sfshm_draft_t *image)
{
  int64_t first = positions->layer_first[k], n = positions->layer_first[k + 1] - first;
  memcpy(sfshm_draft_end(image), positions->staged + first, (size_t)n * sizeof *positions->staged);
  return sfshm_draft_keep_pattern(image, n, false);
}

/* pieces: by (rank, owner). */
static sf_status_t fill_leaf_image(const sfshm_positions_t *positions, const sfshm_piece_t *const pieces[],
                                   sfshm_draft_t *image)
{
  sfshm_image_header_t header = make_header(positions, SFSHM_LEAF_IMAGE_MAGIC);
  header.staged = positions->nstaged;
  header.nlayers = positions->nlayers;
  for (int32_t i = 0; i < positions->npieces; i += count_same_rank(pieces, i, positions->npieces))
    header.nparts++;
  sf_status_t status = sfshm_draft_init(image, leaf_image_bytes(positions, header.nparts));
  if (status != SF_OK)
    return status;
  sfshm_draft_append(image, sizeof header);
  header.parts = sfshm_draft_append(image, header.nparts * sizeof(sfshm_leaf_part_t));
  header.layers = sfshm_draft_append(image, header.nlayers * sizeof(sfshm_stored_pattern_t));
  sfshm_leaf_part_t *part = sfshm_draft_at(image, header.parts);
  for (int32_t i = 0, n; i < positions->npieces; i += n, part++) {
    n = count_same_rank(pieces, i, positions->npieces);
    part->rank = pieces[i]->block->rank;
    part->from = store_from(pieces + i, n, image);
    part->to = positions->uncombined ? store_to_uncombined(pieces + i, n, image)
                                     : store_to(positions, pieces + i, n, &part->from, image);
  }
  sfshm_stored_pattern_t *layers = sfshm_draft_at(image, header.layers);
  for (uint32_t k = 0; k < header.nlayers; k++)
    layers[k] = store_layer(positions, k, image);
  memcpy(image->base, &header, sizeof header);
  sfshm_draft_finish(image);
  return SF_OK;
}

static sf_status_t make_leaf_image(const sfshm_positions_t *positions, sfshm_draft_t *image)
{
  const sfshm_piece_t **pieces = malloc((size_t)positions->npieces * sizeof *pieces);
  if (pieces == NULL)
    return sfshm_error(SF_ERR_NOMEM, "trunk image of %d edge blocks", positions->npieces);
  for (int32_t i = 0; i < positions->npieces; i++)
    pieces[i] = &positions->pieces[i];
  qsort(pieces, (size_t)positions->npieces, sizeof *pieces, by_rank);
  sf_status_t status = fill_leaf_image(positions, pieces, image);
  free(pieces);
  return status;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static void free_positions(sfshm_merge_t *merge)
{
  if (merge->positions != NULL)
    sfshm_positions_destroy(merge->positions);
  free(merge->positions);
  merge->positions = NULL;
}

sf_status_t sfshm_merge_begin(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                              sfshm_merge_t *merge_p)
{
  sfshm_merge_t merge = {.positions = calloc(1, sizeof *merge.positions)};
  sfshm_draft_t root = {0};
  sf_status_t status = merge.positions != NULL ? sfshm_positions_find(blocks, nblocks, uncombined, merge.positions)
                                               : sfshm_error(SF_ERR_NOMEM, "merging %d edge blocks", nblocks);
  if (status == SF_OK)
    status = make_root_image(merge.positions, &root);
  if (status != SF_OK) {
    free_positions(&merge);
    return status;
  }
  merge.root_image = root.base;
  merge.root_image_bytes = root.length_bytes;
  merge.values_before = merge.positions->nvalues;
  *merge_p = merge;
  return SF_OK;
}

sf_status_t sfshm_merge_finish(sfshm_merge_t *merge)
{
  sfshm_draft_t leaf = {0};
  sf_status_t status = merge->positions != NULL ? make_leaf_image(merge->positions, &leaf) : SF_OK;
  if (merge->positions == NULL || status != SF_OK)
    return status;
  merge->leaf_image = leaf.base;
  merge->leaf_image_bytes = leaf.length_bytes;
  free_positions(merge);
  return SF_OK;
}

sf_status_t sfshm_merge_make(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                             sfshm_merge_t *merge_p)
{
  sfshm_merge_t merge;
  sf_status_t status = sfshm_merge_begin(blocks, nblocks, uncombined, &merge);
  if (status != SF_OK)
    return status;
  status = sfshm_merge_finish(&merge);
  if (status == SF_OK)
    *merge_p = merge;
  else
    sfshm_merge_free(&merge);
  return status;
}

void sfshm_merge_free(sfshm_merge_t *merge)
{
  free_positions(merge);
  free(merge->root_image);
  free(merge->leaf_image);
  *merge = (sfshm_merge_t){0};
}
