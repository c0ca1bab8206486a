/* Positions of roots, values and contributions in the messages between two nodes: the contents of the images of a
 * merge. */
#ifndef SFSHM_TRUNK_MERGE_PLACE_H
#define SFSHM_TRUNK_MERGE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/trunk/merge/keys.h"
#include "shm/trunk/merge/merge.h"

/* A root that several ranks have leaves of. Among sparse roots only the spots of shared ones are written. */
typedef struct sfshm_spot {
  uint32_t contributors; /* once layers are made: the staging unit of the next of them, if there is more than one */
  int32_t winner;        /* the highest of them: number of its piece among the owner's */
} sfshm_spot_t;

typedef struct sfshm_owner {
  int32_t rank;
  int32_t first_piece;
  int32_t npieces;
  int64_t first;       /* position of its first root */
  int64_t n;           /* of its roots */
  sfshm_spot_t *spots; /* by position; NULL: one piece, whose own order the positions have */
  uint32_t *key;       /* of each spot's root, */
  int64_t *wide_key;   /* or here, if keys are wide */
  sfshm_keys_t keys;

  /* Sparse roots. Values are numbered one piece after the other. */
  uint64_t *shared; /* bit set of the values whose roots several pieces have; NULL: roots are dense */
  int64_t nvalues;
  const uint32_t *from; /* position of each value */
} sfshm_owner_t;

/* One block with its positions. */
typedef struct sfshm_piece {
  const sfshm_merge_block_t *block;
  const sfshm_owner_t *owner;
  int64_t first; /* positions first .. first + nled - 1: the roots that its rank leads, in the order of its values */
  int64_t nled;
  int64_t edge;         /* uncombined: position of its first edge's contribution */
  const uint32_t *from; /* position of each value; NULL: first, first + 1, ... */
} sfshm_piece_t;

typedef struct sfshm_positions {
  bool uncombined;
  int32_t npieces;
  int32_t nowners;
  int32_t most_pieces;   /* of one owner */
  sfshm_piece_t *pieces; /* as the blocks */
  sfshm_owner_t *owners;
  int64_t nvalues;  /* of all blocks */
  int64_t nedges;   /* of all blocks */
  int64_t ncrowded; /* values of owners with several pieces */
  int64_t npositions;

  /* Staging units, by layers. */
  int64_t nstaged;
  uint32_t nlayers;
  int64_t *layer_first; /* unit of each, and the end */
  uint32_t *staged;     /* position of each unit */
  uint32_t *next;       /* unit of the next contributor to the same position; NULL: there is one layer at most */

  /* Memory of owners and pieces, and how much they have taken. */
  sfshm_spot_t *spots;
  uint32_t *key;
  uint32_t *from;
  int64_t spots_used;
  int64_t from_used;
  uint32_t *table; /* position + 1 of each key, in its owner's; 0: not met */
  uint32_t table_size;
} sfshm_positions_t;

/* Computes all positions. */
sf_status_t sfshm_positions_find(const sfshm_merge_block_t blocks[], int32_t nblocks, bool uncombined,
                                 sfshm_positions_t *positions_p);
void sfshm_positions_destroy(sfshm_positions_t *positions);

/* Computes the positions of roots that several ranks have leaves of, if roots are so sparse that few repetitions are
 * expected. The owner has its keys, and room for as many spots and keys as it has values. (For place.c.) */
sf_status_t sfshm_positions_place_spread(sfshm_positions_t *positions, sfshm_owner_t *owner);

/* The first value at or behind this one whose sparse root is shared, or end. */
int64_t sfshm_owner_next_shared(const sfshm_owner_t *owner, int64_t value, int64_t end);

/* Returns SF_ERR_PROTO for a block that has a root twice. */
sf_status_t sfshm_merge_refuse_twice(const sfshm_merge_block_t *block);

/* Writes the unit to which each value's contribution goes. Call for the pieces of one owner in order, once each. */
void sfshm_positions_stage(const sfshm_positions_t *positions, const sfshm_piece_t *piece, uint32_t to[]);

#endif
