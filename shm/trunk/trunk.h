/* Trunks: aggregated channels of a graph between two nodes. A trunk has up to two sides on each node:
 *
 *   AS_ROOT   roots here, leaves there: sends the messages of bcasts, receives those of reduces
 *   AS_LEAF   leaves here, roots there: sends the messages of reduces, receives those of bcasts
 *
 * Messages of a side in one direction belong to one kind of operation, and are numbered from 1 in the order of these
 * operations. Messages carry values of one unit each; position p of a message is its p-th unit. The ranks
 * of the node that take part in a side are its members. They write their parts of a message into the slot from which it
 * is sent, and read their parts from the slot in which it arrived. The slot is the message number modulo the number of
 * slots, at most SFSHM_TRUNK_SLOTS; see sfshm_trunk_slots.
 *
 * Positions. Each root that the leaf node wants is carried once. Its lead is the lowest (group) rank there that has a
 * leaf on it; positions are in ascending order of (owner of the root, lead) and then in the order of the values in the
 * lead's edge block, or, of a part of a graph, as in the whole. In a reduce the members combine what they contribute to
 * one root before it travels: the lead writes its contribution at the root's position, others write theirs behind the
 * message, into staging units; whoever is last to fill the slot adds the staging units to their positions, in ascending
 * order of ranks. The owner combines the node's contribution in the lead's turn. In a graph whose contributions travel
 * uncombined (SF_GRAPH_REPRODUCIBLE) a reduce carries one unit per leaf, in ascending order of (owner, leaf rank, edge
 * as in the rank's edge list), and there is no staging.
 *
 * Shared data of a trunk:
 *   root image   created by the leaf node's daemon and sent to the root node's daemon: the root at each position
 *   leaf image   created by the leaf node's daemon for its own ranks: the positions of their values
 *   trunk map    created by a node's daemon for its own ranks: the images of all sides; a long map is a region
 *                (SFSHM_REGION_TRUNK_MAP)
 *   trunk board  written by the node's members and its daemon: the flow of messages; one region holds the boards of
 * many graphs (SFSHM_REGION_TRUNK_BOARD) slots        in exchanges (SFSHM_REGION_EXCHANGE), one for each class of unit
 * sizes */
#ifndef SFSHM_TRUNK_TRUNK_H
#define SFSHM_TRUNK_TRUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "shm/edges/edges.h"
#include "shm/edges/pattern.h"
#include "shm/region/region.h"

#define SFSHM_TRUNK_SLOTS 8

/* Credit for fewer messages waits: see sfshm_trunk_credit_is_due. */
#define SFSHM_TRUNK_CREDIT 2

/* Slots for messages of more than SFSHM_TRUNK_LARGE bytes, to save memory: at least as many as a graph's operations on
 * streams in flight, because streams begin all of them before they end the first. */
#define SFSHM_TRUNK_LARGE ((uint64_t)128 << 10)
#define SFSHM_TRUNK_LARGE_SLOTS 4
_Static_assert(SFSHM_TRUNK_LARGE_SLOTS > SFSHM_TRUNK_CREDIT, "credits that are not told yet keep nobody waiting");

/* Number of slots for messages of that many values of a class of units (0: no class, no slots). Both nodes compute the
 * same number. */
static inline uint64_t sfshm_trunk_slots(int64_t values, uint64_t class_bytes)
{
  return class_bytes == 0 || (uint64_t)values <= SFSHM_TRUNK_LARGE >> __builtin_ctzll(class_bytes)
             ? SFSHM_TRUNK_SLOTS
             : SFSHM_TRUNK_LARGE_SLOTS;
}

/* A message of several times SFSHM_TRUNK_PART bytes may be sent in parts, so that packing, sending, receiving and
 * unpacking overlap: as many as sfshm_trunk_parts says, or one. Part k has the values from sfshm_trunk_part_first(k) to
 * that of k + 1; parts are sent in order. */
#define SFSHM_TRUNK_PARTS 8u
#define SFSHM_TRUNK_PART ((uint64_t)64 << 10)

static inline uint32_t sfshm_trunk_parts(int64_t values, uint64_t unit_bytes)
{
  uint64_t least = unit_bytes < SFSHM_TRUNK_PART ? (SFSHM_TRUNK_PART + unit_bytes - 1) / unit_bytes : 1; /* values */
  uint64_t parts = (uint64_t)values / least;
  return parts < 1 ? 1 : parts > SFSHM_TRUNK_PARTS ? SFSHM_TRUNK_PARTS : (uint32_t)parts;
}

static inline int64_t sfshm_trunk_part_first(int64_t values, uint32_t parts, uint32_t part)
{
  int64_t longer = values % parts; /* the first parts have one value more */
  return values / parts * part + (part < longer ? part : longer);
}

/* Field b of a submission: in the lower half a part of a message; 0: the whole. */
static inline uint32_t sfshm_trunk_part_word(uint32_t part, uint32_t parts)
{
  return parts > 1 ? parts << 8 | part : 0;
}

/* In the upper half the class of the slot (its logarithm to base 2), which may be higher than the unit's; 0: that of
 * the unit. */
static inline uint32_t sfshm_trunk_class_word(uint32_t class)
{
  return class << 16;
}

static inline uint32_t sfshm_trunk_word_parts(uint32_t word)
{
  return word & UINT16_MAX;
}

static inline uint32_t sfshm_trunk_word_class(uint32_t word)
{
  return word >> 16;
}

/* Flag of graph creation: contributions travel uncombined (SF_GRAPH_REPRODUCIBLE). */
#define SFSHM_GRAPH_UNCOMBINED (1u << 1)

typedef enum sfshm_trunk_role { SFSHM_AS_ROOT = 0, SFSHM_AS_LEAF = 1 } sfshm_trunk_role_t;

/* ---- Images ------------------------------------------------------------------------------------------------------
 * Offsets within an image, those of stored patterns included, count from the image's start, which is aligned to 8. */

#define SFSHM_ROOT_IMAGE_MAGIC 0x49525453u
#define SFSHM_LEAF_IMAGE_MAGIC 0x494c5453u

/* Header of root images and leaf images. */
typedef struct sfshm_image_header {
  uint32_t magic;
  uint32_t uncombined;  /* 0 or 1 */
  int64_t bcast_values; /* positions of a message */
  int64_t reduce_values;
  int64_t staged;   /* leaf image: units behind a reduce's message; root image: 0 */
  uint32_t nparts;  /* one per owner, or per leaf rank */
  uint32_t nlayers; /* leaf image: of staging; root image: 0 */
  uint64_t parts;   /* offset of sfshm_root_part_t[] or sfshm_leaf_part_t[], by ascending rank */
  uint64_t layers;  /* leaf image: offset of sfshm_stored_pattern_t[nlayers] */
} sfshm_image_header_t;
_Static_assert(sizeof(sfshm_image_header_t) == 56, "layout version 1");

/* Layer k of staging: its units, behind those of the layers before, are added to the positions of the pattern, one to
 * each. Positions of a layer ascend; a position is in layer 0 if two ranks contribute to it, in 1 also if three do, and
 * so on; the contributors beyond the lead fill the layers in ascending order. */

/* The roots of one owner. */
typedef struct sfshm_root_part {
  int32_t rank; /* the owner, in the group */
  uint32_t nsegments;
  int64_t first;               /* position of its first root in a bcast's message */
  sfshm_stored_pattern_t root; /* of each position from there on */
  uint64_t segments;           /* offset of sfshm_root_segment_t[nsegments], by ascending rank */
  uint64_t winners;            /* offset of sfshm_root_winner_t[nwinners], likewise */
  uint32_t nwinners;           /* ranks that win what is combined in the turn of another rank */
  uint32_t reserved;
} sfshm_root_part_t;
_Static_assert(sizeof(sfshm_root_part_t) == 80, "layout version 14");

/* Contributions combined in the turn of one rank of the leaf node: the lead, or the leaf rank if uncombined. */
typedef struct sfshm_root_segment {
  int32_t rank;
  uint32_t reserved;
  int64_t first;               /* position of its first contribution in a reduce's message */
  sfshm_stored_pattern_t root; /* of each contribution */
} sfshm_root_segment_t;
_Static_assert(sizeof(sfshm_root_segment_t) == 56, "layout version 14");

/* The contributions of which this rank of the leaf node is the highest contributor, and another rank the lead. A reduce
 * with replace keeps the value of the highest contributor: so it applies these contributions a second time, in the turn
 * of this rank. */
typedef struct sfshm_root_winner {
  int32_t rank;
  uint32_t reserved;
  sfshm_stored_pattern_t position; /* in a reduce's message */
} sfshm_root_winner_t;
_Static_assert(sizeof(sfshm_root_winner_t) == 48, "layout version 14");

/* The values of one leaf rank: those of its edge blocks that lead to the node, by ascending root rank, in the order of
 * each block's values (or edges). */
typedef struct sfshm_leaf_part {
  int32_t rank;
  uint32_t reserved;
  sfshm_stored_pattern_t from; /* position of each value in a bcast's message */
  sfshm_stored_pattern_t to;   /* unit of the send slot that each value of a reduce goes to; one per edge if uncombined,
                                  else one per value, to which extra edges are added */
} sfshm_leaf_part_t;
_Static_assert(sizeof(sfshm_leaf_part_t) == 88, "layout version 1");

/* An image written by another process: every function below checks what it opens. */
typedef struct sfshm_image {
  const void *base;
  size_t length_bytes;
  sfshm_image_header_t header;
} sfshm_image_t;

/* Checks header, magic, the extent of its tables, and the layers. base is aligned to 8. SF_ERR_PROTO. */
sf_status_t sfshm_image_open(const void *base, size_t length_bytes, uint32_t magic, sfshm_image_t *image_p);

/* The rank of part i of either kind of image. The image is open; its patterns have not been checked. */
int32_t sfshm_image_rank(const sfshm_image_t *image, uint32_t i);

/* Checks a whole root image: parts and segments ascend without overlap, patterns lie within, positions are covered
 * without gaps. Every root must be >= 0; roots are compared with their owners' counts by the owners. SF_ERR_PROTO. */
sf_status_t sfshm_root_image_check(const sfshm_image_t *image);

/* One owner's part: its patterns, opened; *part_p's roots lie in 0..nroots-1 (else SF_ERR_RANGE). */
typedef struct sfshm_root_roots {
  int32_t rank;
  uint32_t nsegments;
  int64_t first;
  sfshm_pattern_t root;
  sfshm_pattern_survey_t survey;
  uint64_t segments;
  uint32_t nwinners;
  uint64_t winners;
} sfshm_root_roots_t;
sf_status_t sfshm_root_part_open(const sfshm_image_t *image, uint32_t i, int64_t nroots, sfshm_root_roots_t *part_p);

typedef struct sfshm_root_turn {
  int32_t rank;
  int64_t first;
  sfshm_pattern_t root;
} sfshm_root_turn_t;
sf_status_t sfshm_root_segment_open(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i,
                                    int64_t nroots, sfshm_root_turn_t *turn_p);

/* Winner i of the part: its rank, and the positions of its contributions, all of them within the part. */
sf_status_t sfshm_root_winner_open(const sfshm_image_t *image, const sfshm_root_roots_t *part, uint32_t i,
                                   int32_t *rank_p, sfshm_pattern_t *position_p);

/* One leaf rank's part, for a rank with so many values and edges that lead to the node: from is below bcast_values, to
 * below reduce_values + staged. */
typedef struct sfshm_leaf_positions {
  int32_t rank;
  sfshm_pattern_t from;
  sfshm_pattern_t to;
} sfshm_leaf_positions_t;
sf_status_t sfshm_leaf_part_open(const sfshm_image_t *image, uint32_t i, int64_t nvalues, int64_t nedges,
                                 sfshm_leaf_positions_t *part_p);

/* Layer k: positions, and where its units begin, counted from the end of the message. Doesn't look at the positions,
 * which were checked when the image was opened. */
sf_status_t sfshm_leaf_layer_open(const sfshm_image_t *image, uint32_t k, sfshm_pattern_t *positions_p,
                                  int64_t *first_unit_p);

/* Index of the part of a rank, by bisection; -1: none. */
int64_t sfshm_image_find(const sfshm_image_t *image, int32_t rank);

/* ---- Trunk map --------------------------------------------------------------------------------------------------- */

/* One side of one trunk. */
typedef struct sfshm_trunk_side {
  int32_t node; /* the other one: its number in the job */
  uint32_t role;
  int32_t nmembers; /* ranks here that take part */
  uint32_t reserved;
  int64_t send_values;    /* units of a message sent */
  int64_t send_units;     /* of a slot it is sent from: the same, and staging */
  int64_t receive_values; /* units of a message received */
  uint64_t image;         /* offset in the map */
  uint64_t image_bytes;
} sfshm_trunk_side_t;
_Static_assert(sizeof(sfshm_trunk_side_t) == 56, "layout version 1");

typedef struct sfshm_trunk_map {
  sfshm_region_header_t header;
  uint32_t nsides;
  uint32_t reserved;
  sfshm_trunk_side_t sides[]; /* by (node, role) */
} sfshm_trunk_map_t;

/* Maps up to this size are sent in a message; longer ones are regions. */
#define SFSHM_TRUNK_MAP_MAX_TOLD ((size_t)32 << 10)

/* The daemon keeps unused regions of maps and boards for later graphs, and ranks keep them mapped: at most this many
 * regions of each kind per job, and this many bytes. */
#define SFSHM_TRUNK_IDLE 2
#define SFSHM_TRUNK_IDLE_BYTES ((size_t)32 << 20)

/* Checks that a region, or memory without its header, holds a complete map, and that its images lie within it. */
sf_status_t sfshm_trunk_map_open(const sfshm_region_t *region, const sfshm_trunk_map_t **map_p);

/* ---- Trunk board -------------------------------------------------------------------------------------------------
 * Sending message m. A member waits until granted >= sfshm_trunk_needs(m), writes its part into the slot, and adds 1 to
 * packed[m % SFSHM_TRUNK_SLOTS][0] (acq_rel). The member that brings it to a multiple of nmembers combines the staging
 * units and submits the message to the daemon. If a message goes in parts, all members know that, and do so for each
 * part, in order, also for parts in which they have no value. The daemon sets granted to m + SFSHM_TRUNK_SLOTS when m
 * has left its slot and the other node has consumed it. Receiving message m. The daemon writes the slot, unit_bytes and
 * descs[m % SFSHM_TRUNK_SLOTS], then arrived = m (release). If the message comes in parts it writes, after descs and
 * each part but the last, partial: m * 256 + 16 * parts + arrived parts (release); members may read these. A member
 * that has read its part adds 1 to consumed[m % SFSHM_TRUNK_SLOTS]; the member that brings it to a multiple of nmembers
 * notifies the daemon. Graphs used by device streams (on_streams, set by members). When such a graph fails, its waiting
 * streams are released: first released is set, then granted and arrived of all flows to values beyond any that is
 * waited for. The daemon does this when no message leaves the slots any more; members do it if the daemon is lost. Data
 * that streams write afterwards are never published. */

typedef struct sfshm_flow {
  _Alignas(128) _Atomic uint64_t packed[SFSHM_TRUNK_SLOTS][SFSHM_TRUNK_PARTS]; /* written by members */
  _Alignas(128) _Atomic uint64_t reserved[SFSHM_TRUNK_SLOTS];                  /* written by members: see blocks.h */
  _Atomic uint64_t class_hint;                                                 /* the same; 0: none */
  _Alignas(128) _Atomic uint64_t consumed[SFSHM_TRUNK_SLOTS];                  /* written by members */
  _Alignas(128) _Atomic uint64_t granted;                                      /* written by the daemon */
  _Atomic uint64_t awaited; /* written by the daemon: descriptor that the other node has long waited for, or 0 */
  _Atomic uint64_t unit_bytes[SFSHM_TRUNK_SLOTS]; /* written by the daemon, with descs: of the message in each slot */
  _Alignas(128) _Atomic uint64_t arrived;         /* written by the daemon, with descs */
  _Atomic uint64_t descs[SFSHM_TRUNK_SLOTS];
  _Atomic uint64_t partial;  /* parts of the message that is arriving */
  _Atomic uint64_t returned; /* messages for which the daemon has returned credit */
  _Atomic uint64_t answered; /* 1: messages go the other way, too, and credit with them */
} sfshm_flow_t;
_Static_assert(sizeof(sfshm_flow_t) == 1024 && offsetof(sfshm_flow_t, unit_bytes) == 784, "layout version 23");

/* The word partial. */
static inline uint64_t sfshm_trunk_partial(uint64_t message, uint32_t parts, uint32_t arrived)
{
  return message << 8 | parts << 4 | arrived;
}

/* The value of granted that allows message m of that many values to be written: message m - slots has completed. */
static inline uint64_t sfshm_trunk_needs(uint64_t message, int64_t values, uint64_t class_bytes)
{
  return message + SFSHM_TRUNK_SLOTS - sfshm_trunk_slots(values, class_bytes);
}

/* Whether credit for consumed messages is returned alone: for pairs, and for one message if a node that sends with so
 * many slots has used up all others. Where messages go the other way, too, pairs wait for one to travel with, unless
 * the other node may lack slots for its next message, which may be a large one. returned: messages for which credit has
 * been returned, fewer than have been consumed. */
static inline bool sfshm_trunk_credit_is_due(uint64_t arrived, uint64_t consumed, uint64_t returned, bool answered,
                                             uint64_t slots)
{
  return arrived - consumed >= slots - 1 ||
         (consumed - returned >= SFSHM_TRUNK_CREDIT && (!answered || arrived - returned >= SFSHM_TRUNK_LARGE_SLOTS));
}

/* Entries of submission rings (shm/lane/ring.h). graph: number of the graph; a: number of the side in the map; message:
 * number of the message on the side; desc: descriptor of the operation; size: bytes of a unit. */
typedef enum sfshm_submission {
  SFSHM_SUBMIT_SEND = 1,   /* the message's slot is full, or a part of it; b: 0, or the sum of sfshm_trunk_part_word and
                              sfshm_trunk_class_word */
  SFSHM_SUBMIT_CREDIT = 2, /* all members have consumed all messages up to this one; size: 1 if the other node waits
                              for this credit, else 0 */
  SFSHM_SUBMIT_AWAIT = 3,  /* a message for desc is long overdue: ask the other node what it called */

  /* Offers to the daemon's workers. message: number of the operation; desc: its descriptor without method; a: group
   * rank of the other end; b: number of the offerer's claim; size: its ticket; more[0], more[1]: segment and offset of
   * vertex 0 of the offerer's buffer. */
  SFSHM_SUBMIT_SOURCE = 4, /* source buffer, offered by the writer */
  SFSHM_SUBMIT_TARGET = 5, /* target buffer, offered by the reader */

  /* A request of the rank's window (shm/array/window.h) on the array of the graph. a: slot; b: target node; message:
   * number of the request, not 0; size: bytes of data sent; more[0]: where in the window they are, or the returned ones
   * are to be; more[1]: bytes returned. */
  SFSHM_SUBMIT_ARRAY = 7,

  SFSHM_SUBMIT_KINDS
} sfshm_submission_t;

/* History of operations begun on the node: members compare their calls with it; see client/engine/mismatch.c. */
#define SFSHM_TRUNK_HISTORY 64

#define SFSHM_TRUNK_FAR (UINT64_C(1) << 30) /* distance that numbers never reach */

typedef struct sfshm_trunk_board {
  _Alignas(128) _Atomic uint64_t history[SFSHM_TRUNK_HISTORY]; /* descriptor of operation s at s % 64 */
  _Alignas(128) _Atomic uint32_t on_streams;
  _Atomic uint32_t released;
  sfshm_flow_t flows[]; /* one per side of the map */
} sfshm_trunk_board_t;

/* Releases streams that wait, or will wait, for the flow; they compare lower halves cyclically. sent, received:
 * approximate numbers of messages so far. Call after setting board->released. */
static inline void sfshm_flow_release(sfshm_flow_t *flow, uint64_t sent, uint64_t received)
{
  atomic_store(&flow->granted, sent + SFSHM_TRUNK_FAR);
  atomic_store(&flow->arrived, received + SFSHM_TRUNK_FAR);
}

static inline size_t sfshm_trunk_board_bytes(uint32_t nsides)
{
  return sizeof(sfshm_trunk_board_t) + nsides * sizeof(sfshm_flow_t);
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

#define SFSHM_ROOMY_CLASS UINT64_C(1024)
#define SFSHM_ROOM_FOR_ENTRY 16u

/* Bytes that a slot of a class has for each unit. Blocks whose size is a power of two and their entries (blocks.h) fit
 * into slots of that class, instead of the next one, which would be twice as long. */
static inline uint64_t sfshm_class_room(uint64_t class_bytes)
{
  return class_bytes >= SFSHM_ROOMY_CLASS ? class_bytes + SFSHM_ROOM_FOR_ENTRY : class_bytes;
}

/* The class of a unit: the lowest power of two, at least 8, that has room for it. 0 if there is none (above 2^40). */
uint64_t sfshm_exchange_class(size_t unit_bytes);

/* Position of the slots of a side in an exchange of that class. */
typedef struct sfshm_side_slots {
  uint64_t send; /* offset of slot 0 */
  uint64_t send_stride;
  uint64_t nsend;
  uint64_t receive;
  uint64_t receive_stride;
  uint64_t nreceive;
} sfshm_side_slots_t;

static inline uint64_t sfshm_send_slot(const sfshm_side_slots_t *slots, uint64_t message)
{
  return slots->send + message % slots->nsend * slots->send_stride;
}

static inline uint64_t sfshm_receive_slot(const sfshm_side_slots_t *slots, uint64_t message)
{
  return slots->receive + message % slots->nreceive * slots->receive_stride;
}

/* Exchanges for blocks (blocks.h), of a class from this one on, have the slots of one side only: its slots of bcasts.
 * All sides together would take more than SFSHM_SHARED_SLOTS bytes, and while one has long messages, others may have
 * many short ones. Blocks of lower classes use the exchanges of all sides. */
#define SFSHM_SHARED_SLOTS ((uint64_t)64 << 20)
uint64_t sfshm_own_class(const sfshm_trunk_side_t sides[], uint32_t nsides);

/* Fills slots[nsides] and the length of the region. side: the only one with slots for blocks, or SFSHM_ALL_SIDES.
 * SF_ERR_LIMIT when the length exceeds max_bytes. */
#define SFSHM_ALL_SIDES (-1)
sf_status_t sfshm_exchange_layout(const sfshm_trunk_side_t sides[], uint32_t nsides, int64_t side, uint64_t class_bytes,
                                  uint64_t max_bytes, sfshm_side_slots_t slots[], uint64_t *length_p);

#endif
