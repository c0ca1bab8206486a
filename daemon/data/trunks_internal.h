/* Shared by the files of trunks. */
#ifndef SFD_DATA_TRUNKS_INTERNAL_H
#define SFD_DATA_TRUNKS_INTERNAL_H

#include "daemon/data/trunk_regions.h"
#include "daemon/data/trunks.h"

/* A submitted message; messages, and parts of one, are sent in order. */
typedef struct sfd_submitted {
  uint64_t message; /* number; 0: none */
  uint32_t parts;
  uint32_t came;    /* bit mask of the parts that have been submitted */
  uint32_t waiting; /* of those among them that have not been sent */
  uint64_t unit_bytes;
  uint32_t class; /* the class of units whose exchange has the slot; 0: the class of unit_bytes */
  uint64_t desc;
} sfd_submitted_t;

struct sfd_trunk_plan {
  int32_t nholders;
  sfd_trunk_memory_t map; /* a short one is in private memory */
  uint32_t nsides;
  int32_t *members[]; /* by side: group ranks here that take part, ascending */
};

/* Context of a message under way. */
typedef struct sfd_departure {
  struct sfd_trunks *trunks;
  uint32_t side;
} sfd_departure_t;

/* A side. Messages are numbered from 1. Sent ones: done <= sent, credited <= sent, sent < granted; received ones:
 * consumed <= arrived <= consumed + SFSHM_TRUNK_SLOTS. */
typedef struct sfd_trunk_side {
  sfshm_trunk_side_t told; /* header, as in the map */
  const int32_t *members;  /* of the plan */
  sfshm_flow_t *flow;
  sfd_submitted_t submitted[SFSHM_TRUNK_SLOTS];
  uint64_t sent;       /* given to the channel */
  uint32_t parts_sent; /* of the next message */
  uint64_t done;       /* have left their slots */
  uint32_t parts_done; /* of the next message */
  uint64_t credited;   /* consumed by the other node */
  uint64_t arrived;
  uint64_t slots;         /* for messages of the size of the last one */
  uint32_t parts_arrived; /* of the next message */
  uint64_t consumed;      /* by the members */
  uint64_t credits_sent;  /* sent to the other node */
  bool answered;          /* messages went to the other node since credit was last returned alone */
  uint64_t awaited_desc;  /* of the last question of members: see SFSHM_SUBMIT_AWAIT */
  bool is_asking;         /* a question is on its way */
  bool asks_again;        /* members have asked since */
} sfd_trunk_side_t;

/* Slots for one class of unit sizes. */
typedef struct sfd_exchange {
  struct sfd_exchange *next;
  uint64_t class_bytes;
  int64_t side; /* that has slots here, or SFSHM_ALL_SIDES */
  sfshm_region_t region;
  struct sfd_account *account; /* of the user; counts: */
  uint64_t taken_bytes;
  sfshm_side_slots_t slots[]; /* by side */
} sfd_exchange_t;

struct sfd_trunks {
  sfd_graph_t *graph; /* NULL: retired, waits for messages under way */
  sfd_server_t *server;
  bool letting_go;    /* the graph has failed: nothing is sent or received */
  int32_t nunder_way; /* messages leaving or arriving, which need exchanges and board */
  sfd_trunk_plan_t *plan;
  sfd_trunk_memory_t board;
  sfd_exchange_t *exchanges;
  uint64_t own_class;          /* sfshm_own_class; 0: not computed yet */
  sfd_departure_t *departures; /* by side */
  uint32_t nsides;
  sfd_trunk_side_t sides[]; /* by (node, role) */
};

/* The side to which a node's message belongs; head->flags is the role here. NULL: no such graph. */
sfd_trunk_side_t *sfd_trunks_find_side(sfd_server_t *server, int32_t node, const sfd_message_head_t *head,
                                       sfd_trunks_t **trunks_p);

/* The last message that members may write: its slot has left, and was consumed on the other node. */
static inline uint64_t sfd_trunk_side_granted(const sfd_trunk_side_t *side)
{
  return (side->done < side->credited ? side->done : side->credited) + SFSHM_TRUNK_SLOTS;
}

/* The exchange of a class, of all sides or one, created at first use. SF_ERR_LIMIT, SF_ERR_NOMEM. */
sf_status_t sfd_trunks_exchange(sfd_trunks_t *trunks, uint64_t class_bytes, int64_t side, sfd_exchange_t **exchange_p);

/* The exchange for messages of blocks of a side. */
sf_status_t sfd_trunks_exchange_of_blocks(sfd_trunks_t *trunks, uint64_t class_bytes, uint32_t side,
                                          sfd_exchange_t **exchange_p);

/* One more message under way, or one less: the last frees retired trunks. */
void sfd_trunks_hold(sfd_trunks_t *trunks);
void sfd_trunks_release(sfd_trunks_t *trunks);

/* A message has left its slot. */
void sfd_trunks_departed(sfd_trunks_t *trunks);

/* Returns credit that can't wait for a message to the other node; when a message has arrived or been consumed. */
void sfd_trunk_side_return_due(sfd_trunks_t *trunks, sfd_trunk_side_t *side);

void sfd_trunk_side_wake(const sfd_trunks_t *trunks, const sfd_trunk_side_t *side);

/* Fails the graph on all nodes. */
void sfd_trunks_fail(sfd_trunks_t *trunks, sf_status_t status, const char *detail);

/* Full number of a message from its lower 32 bits and a number near it. */
static inline uint64_t sfd_message_number(uint32_t low, uint64_t near)
{
  return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/* Flags of a data message: the role of the side that receives it, and which part of a message it is. */
static inline uint16_t sfd_part_flags(uint16_t role, uint32_t part, uint32_t parts)
{
  return (uint16_t)(role | part << 4 | (parts - 1) << 8 | (part + 1 < parts ? SFD_MESSAGE_CONTINUES : 0));
}

#define SFD_FLAG_BLOCKS (1u << 12) /* a message of blocks */

static inline uint32_t sfd_flags_role(uint16_t flags)
{
  return flags & 15;
}

static inline uint32_t sfd_flags_part(uint16_t flags)
{
  return flags >> 4 & 15;
}

static inline uint32_t sfd_flags_parts(uint16_t flags)
{
  return (flags >> 8 & 15) + 1;
}

static inline uint16_t sfd_other_role(uint32_t role)
{
  return role == SFSHM_AS_ROOT ? SFSHM_AS_LEAF : SFSHM_AS_ROOT;
}

#endif
