/* Computes positions of roots, values and contributions: see place.h. Any thread.
 *
 * In the order of an owner's pieces by ascending rank, each new root gets the next position. So positions are in the
 * order of leads and of their lists, and the roots of a lead are adjacent. A value whose position is before the first
 * one of its own rank is a contribution besides the lead's. */
#include "shm/trunk/merge/place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "shm/trunk/merge/draft.h"

/* ---- Blocks and owners ------------------------------------------------------------------------------------------- */

static void add_piece(sfshm_positions_t *positions, const sfshm_merge_block_t *block)
{
  sfshm_owner_t *last = positions->nowners > 0 ? &positions->owners[positions->nowners - 1] : NULL;
  if (last == NULL || last->rank != block->owner) {
    assert(last == NULL || last->rank < block->owner);
    last = &positions->owners[positions->nowners++];
    *last = (sfshm_owner_t){.rank = block->owner, .first_piece = positions->npieces};
  }
  assert(last->npieces == 0 || positions->pieces[positions->npieces - 1].block->rank < block->rank);
  positions->pieces[positions->npieces++] = (sfshm_piece_t){.block = block, .owner = last, .edge = positions->nedges};
  last->npieces++;
  last->n += block->edges->value_root.n; /* repeated roots counted several times until positions are known */
  positions->most_pieces = last->npieces > positions->most_pieces ? last->npieces : positions->most_pieces;
  positions->nvalues += block->edges->value_root.n;
  positions->nedges += block->edges->leaf.n;
}

/* Lists pieces and owners, and sums them up. */
static sf_status_t list_blocks(sfshm_positions_t *positions, const sfshm_merge_block_t blocks[], int32_t nblocks)
{
  positions->pieces = malloc((size_t)nblocks * sizeof *positions->pieces);
  positions->owners = malloc((size_t)nblocks * sizeof *positions->owners);
  if (positions->pieces == NULL || positions->owners == NULL)
    return sfshm_error(SF_ERR_NOMEM, "merging %d edge blocks", nblocks);
  for (int32_t b = 0; b < nblocks; b++) {
    int64_t n = blocks[b].edges->leaf.n;
    if (n > UINT32_MAX || positions->nedges + n > UINT32_MAX)
      return sfshm_error(SF_ERR_LIMIT, "more than %lld edges between two nodes", (long long)UINT32_MAX);
    add_piece(positions, &blocks[b]);
  }
  for (int32_t i = 0; i < positions->nowners; i++)
    if (positions->owners[i].npieces > 1)
      positions->ncrowded += positions->owners[i].n;
  return SF_OK;
}

static sf_status_t take_memory(sfshm_positions_t *positions)
{
  size_t n = (size_t)positions->ncrowded;
  if (n == 0)
    return SF_OK;
  positions->spots = malloc(n * sizeof *positions->spots);
  positions->key = malloc(n * sizeof *positions->key);
  positions->from = malloc(n * sizeof *positions->from);
  if (positions->spots == NULL || positions->key == NULL || positions->from == NULL)
    return sfshm_error(SF_ERR_NOMEM, "merging %zu values", n);
  return SF_OK;
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

/* Computes the positions of one piece, number `winner` of the owner's; its keys are key[i] - base, and may be in the
 * memory of from. Branch-free, because new roots are unpredictable. Returns whether a root is repeated. */
static bool place_values(sfshm_owner_t *owner, uint32_t table[], const uint32_t key[], uint32_t base, int64_t nvalues,
                         int32_t winner, uint32_t from[])
{
  uint32_t n = (uint32_t)owner->n, first = (uint32_t)owner->first, twice = 0;
  for (int64_t i = 0; i < nvalues; i++) {
    uint32_t k = key[i] - base, met = table[k];
    uint32_t fresh = -(uint32_t)(met == 0); /* all bits, or none */
    uint32_t position = (n & fresh) | ((met - 1) & ~fresh);
    sfshm_spot_t *spot = &owner->spots[position];
    owner->key[n] = k; /* this and the next are the root's if it has not been met */
    owner->spots[n] = (sfshm_spot_t){0, 0};
    table[k] = position + 1;
    twice |= ~fresh & (uint32_t)(spot->winner == winner);
    *spot = (sfshm_spot_t){spot->contributors + 1, winner};
    from[i] = first + position;
    n -= fresh;
  }
  owner->n = n;
  return twice != 0;
}

sf_status_t sfshm_merge_refuse_twice(const sfshm_merge_block_t *block)
{
  return sfshm_error(SF_ERR_PROTO, "edge list of rank %d: a root of rank %d is there twice", block->rank, block->owner);
}

/* Creates an empty table for all keys. */
static sf_status_t clear_table(sfshm_positions_t *positions, uint32_t nkeys)
{
  if (nkeys > positions->table_size) {
    free(positions->table);
    positions->table = malloc((size_t)nkeys * sizeof *positions->table);
    positions->table_size = positions->table != NULL ? nkeys : 0;
  }
  if (positions->table == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %u roots", nkeys);
  memset(positions->table, 0, (size_t)nkeys * sizeof *positions->table);
  return SF_OK;
}

static sf_status_t place_piece(sfshm_positions_t *positions, sfshm_owner_t *owner, sfshm_piece_t *piece)
{
  const sfshm_pattern_t *root = &piece->block->edges->value_root;
  uint32_t *from = positions->from + positions->from_used;
  int32_t number = (int32_t)(piece - (positions->pieces + owner->first_piece));
  const uint32_t *key = from;
  uint32_t base = 0;
  if (root->kind == SFSHM_PATTERN_INDEX32) {
    key = root->index32;
    base = (uint32_t)owner->keys.base;
  } else {
    sfshm_write_narrow(root, owner->keys.base, from);
  }
  piece->first = owner->first + owner->n;
  if (place_values(owner, positions->table, key, base, root->n, number, from))
    return sfshm_merge_refuse_twice(piece->block);
  piece->nled = owner->first + owner->n - piece->first;
  if (piece->nled < root->n) {
    piece->from = from;
    positions->from_used += root->n;
  }
  return SF_OK;
}

static sf_status_t place_dense(sfshm_positions_t *positions, sfshm_owner_t *owner)
{
  sfshm_piece_t *pieces = positions->pieces + owner->first_piece;
  sf_status_t status = clear_table(positions, (uint32_t)(owner->keys.root_max - owner->keys.base) + 1);
  owner->n = 0;
  for (int32_t i = 0; i < owner->npieces && status == SF_OK; i++)
    status = place_piece(positions, owner, &pieces[i]);
  return status;
}

/* Computes the positions of roots that several ranks have leaves of. */
static sf_status_t place_crowd(sfshm_positions_t *positions, sfshm_owner_t *owner)
{
  int64_t nvalues = owner->n;
  owner->keys = sfshm_keys_find(positions->pieces[owner->first_piece].block, owner->npieces);
  owner->spots = positions->spots + positions->spots_used;
  owner->key = positions->key + positions->spots_used;
  sf_status_t status = sfshm_keys_are_dense(&owner->keys, nvalues) ? place_dense(positions, owner)
                                                                   : sfshm_positions_place_spread(positions, owner);
  positions->spots_used += owner->n;
  positions->nstaged += nvalues - owner->n;
  return status;
}

static sf_status_t place_owners(sfshm_positions_t *positions)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < positions->nowners && status == SF_OK; i++) {
    sfshm_owner_t *owner = &positions->owners[i];
    owner->first = positions->npositions;
    if (owner->npieces > 1) {
      status = place_crowd(positions, owner);
    } else {
      positions->pieces[owner->first_piece].first = owner->first;
      positions->pieces[owner->first_piece].nled = owner->n;
    }
    positions->npositions += owner->n;
  }
  return status;
}

/* ---- Staging ----------------------------------------------------------------------------------------------------- */

/* The spot of a position; ask in ascending order of positions, beginning with the first owner. */
static inline sfshm_spot_t *find_spot(const sfshm_owner_t **owner, uint32_t position)
{
  while (position >= (*owner)->first + (*owner)->n)
    (*owner)++;
  return &(*owner)->spots[position - (*owner)->first];
}

/* Both append the positions of an owner's shared roots, ascending, and return how many. They write one entry behind. */

static int64_t list_dense(const sfshm_owner_t *owner, uint32_t staged[])
{
  int64_t n = 0;
  for (int64_t i = 0; i < owner->n; i++) {
    staged[n] = (uint32_t)(owner->first + i);
    n += owner->spots[i].contributors > 1;
  }
  return n;
}

/* Roots are in order, and the first value of each has a greater position than those of all roots before it: comparing
 * with the list's last element is enough to leave out repetitions. */
static int64_t list_sparse(const sfshm_owner_t *owner, uint32_t staged[])
{
  int64_t n = 0, end = owner->nvalues;
  for (int64_t i = sfshm_owner_next_shared(owner, 0, end); i < end; i = sfshm_owner_next_shared(owner, i + 1, end)) {
    staged[n] = owner->from[i];
    n += n == 0 || staged[n] > staged[n - 1];
  }
  return n;
}

/* Returns the end of the layer. */
static int64_t make_first_layer(const sfshm_positions_t *positions)
{
  int64_t end = 0;
  for (int32_t o = 0; o < positions->nowners; o++) {
    const sfshm_owner_t *owner = &positions->owners[o];
    if (owner->spots != NULL)
      end += (owner->shared != NULL ? list_sparse : list_dense)(owner, positions->staged + end);
  }
  return end;
}

/* The layer behind the last one. */
static int64_t make_next_layer(const sfshm_positions_t *positions)
{
  const sfshm_owner_t *owner = positions->owners;
  int64_t begin = positions->layer_first[positions->nlayers - 1], end = positions->layer_first[positions->nlayers];
  for (int64_t unit = begin, stop = end; unit < stop; unit++) {
    uint32_t position = positions->staged[unit];
    positions->staged[end] = position;
    positions->next[unit] = (uint32_t)end;
    end += find_spot(&owner, position)->contributors > positions->nlayers + 1;
  }
  return end;
}

/* From now on spots tell where contributors go to. */
static void turn_spots(const sfshm_positions_t *positions)
{
  const sfshm_owner_t *owner = positions->owners;
  for (int64_t unit = 0; unit < positions->layer_first[1]; unit++)
    find_spot(&owner, positions->staged[unit])->contributors = (uint32_t)unit;
}

static sf_status_t make_layers(sfshm_positions_t *positions)
{
  size_t n = (size_t)positions->nstaged;
  positions->layer_first = calloc((size_t)positions->most_pieces, sizeof *positions->layer_first);
  positions->staged = malloc((n + 1) * sizeof *positions->staged);
  if (positions->layer_first == NULL || positions->staged == NULL)
    return sfshm_error(SF_ERR_NOMEM, "staging of %zu values", n);
  positions->layer_first[++positions->nlayers] = make_first_layer(positions);
  if (positions->layer_first[1] < positions->nstaged) {
    positions->next = malloc(n * sizeof *positions->next);
    if (positions->next == NULL)
      return sfshm_error(SF_ERR_NOMEM, "staging of %zu values", n);
  }
  while (positions->layer_first[positions->nlayers] < positions->nstaged) {
    int64_t end = make_next_layer(positions);
    positions->layer_first[++positions->nlayers] = end;
  }
  turn_spots(positions);
  return SF_OK;
}

/* Only values with shared roots have other targets than their positions. */
static void stage_sparse(const sfshm_piece_t *piece, const uint32_t next[], uint32_t units, uint32_t to[])
{
  const sfshm_owner_t *owner = piece->owner;
  int64_t n = piece->block->edges->value_root.n, begin = piece->from - owner->from, end = begin + n;
  memcpy(to, piece->from, (size_t)n * sizeof *to);
  for (int64_t i = sfshm_owner_next_shared(owner, begin, end); i < end;
       i = sfshm_owner_next_shared(owner, i + 1, end)) {
    uint32_t *unit = &owner->spots[owner->from[i] - owner->first].contributors;
    if (owner->from[i] >= piece->first)
      continue;
    to[i - begin] = units + *unit;
    if (next != NULL)
      *unit = next[*unit];
  }
}

/* The led ones of these spots have no unit to look for: theirs stands for the contribution after them. */
static inline __attribute__((always_inline)) void stage_values(const sfshm_piece_t *piece, const uint32_t next[],
                                                               uint32_t units, uint32_t to[])
{
  const sfshm_owner_t *owner = piece->owner;
  int64_t n = piece->block->edges->value_root.n;
  uint32_t owner_first = (uint32_t)owner->first, first = (uint32_t)piece->first;
  for (int64_t i = 0; i < n; i++) {
    uint32_t position = piece->from[i];
    sfshm_spot_t *spot = &owner->spots[position - owner_first];
    uint32_t unit = spot->contributors;
    bool led = position >= first;
    to[i] = led ? position : units + unit;
    if (next != NULL)
      spot->contributors = led ? unit : next[led ? 0 : unit];
  }
}

void sfshm_positions_stage(const sfshm_positions_t *positions, const sfshm_piece_t *piece, uint32_t to[])
{
  if (piece->owner->shared != NULL)
    stage_sparse(piece, positions->next, (uint32_t)positions->npositions, to);
  else if (positions->next != NULL)
    stage_values(piece, positions->next, (uint32_t)positions->npositions, to);
  else
    stage_values(piece, NULL, (uint32_t)positions->npositions, to);
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

sf_status_t sfshm_positions_find(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                                 sfshm_positions_t *positions_p)
{
  sfshm_positions_t positions = {.uncombined = uncombined};
  sf_status_t status = list_blocks(&positions, blocks, nblocks);
  if (status == SF_OK)
    status = take_memory(&positions);
  if (status == SF_OK)
    status = place_owners(&positions);
  if (uncombined)
    positions.nstaged = 0;
  if (status == SF_OK && positions.nstaged > 0)
    status = make_layers(&positions);
  free(positions.table);
  positions.table = NULL;
  if (status == SF_OK)
    *positions_p = positions;
  else
    sfshm_positions_destroy(&positions);
  return status;
}

void sfshm_positions_destroy(sfshm_positions_t *positions)
{
  for (int32_t i = 0; i < positions->nowners; i++) {
    free(positions->owners[i].wide_key);
    free(positions->owners[i].shared);
  }
  free(positions->pieces);
  free(positions->owners);
  free(positions->spots);
  free(positions->key);
  free(positions->from);
  free(positions->staged);
  free(positions->next);
  free(positions->layer_first);
  *positions = (sfshm_positions_t){0};
}
