/* Shared memory regions: sealed memfds that say what they are. Whoever's data it is creates, allocates and seals a
 * region; whoever receives a descriptor verifies seals, size and header before using the memory. Layout and rules are
 * described in docs/shm-protocol.md. */
#ifndef SFSHM_REGION_H
#define SFSHM_REGION_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFSHM_REGION_MAGIC UINT64_C(0x314d48534d46533c)
#define SFSHM_LAYOUT_VERSION 14u

typedef enum sfshm_region_kind {
  SFSHM_REGION_INBOX = 1,       /* a rank's slots and wake line: its peers write */
  SFSHM_REGION_ALLOC = 2,       /* memory of sf_alloc: peers read */
  SFSHM_REGION_COUNTERS = 3,    /* a rank's counters: the daemon and tools read */
  SFSHM_REGION_EDGES = 4,       /* a rank's edge list: immutable */
  SFSHM_REGION_BOARD = 5,       /* the daemon's node board: clients read */
  SFSHM_REGION_RING = 6,        /* a rank's submission ring: its daemon reads */
  SFSHM_REGION_TRUNK_MAP = 7,   /* which roots and leaves are connected with other nodes: clients read */
  SFSHM_REGION_TRUNK_BOARD = 8, /* flow of messages to and from other nodes: the daemon's, ranks write */
  SFSHM_REGION_EXCHANGE = 9,    /* slots of these messages: the daemon's, ranks write */
  SFSHM_REGION_CLAIMS = 10,     /* a rank's offers to the daemon's workers: both write */
} sfshm_region_kind_t;

/* Stands at the start of every region. version is stored last, with release order, when the rest is filled in. */
typedef struct sfshm_region_header {
  uint64_t magic;
  uint64_t length_bytes; /* of the whole region, this header included */
  uint32_t kind;
  int32_t owner_pid; /* as its owner sees it; information only */
  _Atomic uint32_t version;
  uint32_t reserved[25];
} sfshm_region_header_t;
_Static_assert(sizeof(sfshm_region_header_t) == 128, "layout version 1");

/* A region mapped into this process. */
typedef struct sfshm_region {
  int fd; /* -1 once it has been closed or given away */
  void *base;
  size_t length_bytes;
} sfshm_region_t;

/* How a new region is sealed once its owner has mapped it. All are sealed against shrinking and growing. */
typedef enum sfshm_sealing {
  SFSHM_SEAL_SIZE,         /* others may write */
  SFSHM_SEAL_FUTURE_WRITE, /* only this mapping can write */
} sfshm_sealing_t;

/* Whether a new region's pages are allocated now (no SIGBUS later), or by sfshm_region_commit. */
typedef enum sfshm_commit { SFSHM_COMMIT_ALL, SFSHM_COMMIT_LATER } sfshm_commit_t;

/* A page of this machine; lengths of regions are whole ones. */
size_t sfshm_page_bytes(void);

/* Makes and maps a region of length_bytes (rounded up to pages), zeroed, with its header. name shows in /proc/PID/maps.
 */
sf_status_t sfshm_region_create(const char *name, sfshm_region_kind_t kind, size_t length_bytes,
                                sfshm_sealing_t sealing, sfshm_commit_t commit, sfshm_region_t *region_p);

/* Allocates pages of a region made with SFSHM_COMMIT_LATER. */
sf_status_t sfshm_region_commit(const sfshm_region_t *region, size_t offset, size_t length_bytes);

/* Makes an immutable region (F_SEAL_WRITE) with the contents of image, whose first sizeof(sfshm_region_header_t) bytes
 * are filled in here. It is not mapped: base is NULL. */
sf_status_t sfshm_region_freeze(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                sfshm_region_t *region_p);

/* The same, and maps it for reading. */
sf_status_t sfshm_region_publish(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                 sfshm_region_t *region_p);

/* What stands at an offset of a region. */
typedef struct sfshm_region_piece {
  uint64_t offset;
  const void *bytes;
  size_t length_bytes;
} sfshm_region_piece_t;

/* Makes a region out of pieces, between and behind which it is zero, and maps it for writing, which nobody else ever
 * can (F_SEAL_FUTURE_WRITE). The first piece begins it, with room for the header, which is filled in here. */
sf_status_t sfshm_region_compose(const char *name, sfshm_region_kind_t kind, const sfshm_region_piece_t pieces[],
                                 size_t npieces, size_t length_bytes, sfshm_region_t *region_p);

/* Replaces what stands in such a region by other pieces, which have to fit into it; what lies behind them stays. */
void sfshm_region_recompose(const sfshm_region_t *region, const sfshm_region_piece_t pieces[], size_t npieces);

/* Verifies without mapping that fd is a region of that kind, sealed as its kind demands, of at most max_bytes, and
 * without holes if it is immutable. */
sf_status_t sfshm_region_verify(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, size_t *length_p);

typedef enum sfshm_access { SFSHM_READ_ONLY, SFSHM_READ_WRITE } sfshm_access_t;

/* Verifies and maps a received region. The descriptor stays the caller's; region_p->fd is -1. */
sf_status_t sfshm_region_map(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_access_t access,
                             sfshm_region_t *region_p);

/* The same, but maps only its first bytes, as many as asked for: whatever length its maker has given it, it takes no
 * more address space. SF_ERR_PROTO if it is shorter. */
sf_status_t sfshm_region_map_head(int fd, sfshm_region_kind_t kind, size_t head_bytes, sfshm_access_t access,
                                  sfshm_region_t *region_p);

/* Maps a region for writing whose maker has left the last seal, F_SEAL_FUTURE_WRITE, to this process, and sets it: from
 * then on nobody else can map it so. SF_ERR_PERM if it had been set already. SF_ERR_NOMEM, also if it is large and has
 * memory for less than half of its pages, as address space costs its maker nothing: it is sealed all the same. After
 * other failures it is as it was. */
sf_status_t sfshm_region_map_last(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_region_t *region_p);

/* Reads so many bytes of any descriptor, from offset on. */
sf_status_t sfshm_read(int fd, uint64_t offset, size_t length_bytes, void *to);

/* Unmaps and closes. A zeroed or destroyed region is accepted. */
void sfshm_region_destroy(sfshm_region_t *region);

#endif
