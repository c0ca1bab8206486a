/* Shared memory regions: sealed, self-describing memfds. The owner of the data creates, allocates and seals a region;
 * the receiver of a descriptor verifies seals, size and header before it uses the memory. docs/shm-protocol.md has
 * layout and rules. */
#ifndef SFSHM_REGION_REGION_H
#define SFSHM_REGION_REGION_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFSHM_REGION_MAGIC UINT64_C(0x314d48534d46533c)
#define SFSHM_LAYOUT_VERSION 27u

typedef enum sfshm_region_kind {
  SFSHM_REGION_INBOX = 1,       /* a rank's slots and wake word: peers write */
  SFSHM_REGION_ALLOC = 2,       /* memory of sf_alloc: peers read */
  SFSHM_REGION_COUNTERS = 3,    /* a rank's counters: the daemon and tools read */
  SFSHM_REGION_EDGES = 4,       /* a rank's edge list: immutable */
  SFSHM_REGION_BOARD = 5,       /* the daemon's node board: clients read */
  SFSHM_REGION_RING = 6,        /* a rank's submission ring: its daemon reads */
  SFSHM_REGION_TRUNK_MAP = 7,   /* positions of values in messages to other nodes: clients read */
  SFSHM_REGION_TRUNK_BOARD = 8, /* flow of messages to and from other nodes: owned by the daemon, ranks write */
  SFSHM_REGION_EXCHANGE = 9,    /* slots of these messages: owned by the daemon, ranks write */
  SFSHM_REGION_CLAIMS = 10,     /* a rank's offers to the daemon's workers: both write */
  SFSHM_REGION_ARRAY = 11,      /* a rank's part of an array: the ranks of the node and the daemon write */
  SFSHM_REGION_WINDOW = 12,     /* a rank's requests on parts of arrays on other nodes: the daemon writes, too */
} sfshm_region_kind_t;

/* Header of every region. version is stored last, with release order, when the region is complete. */
typedef struct sfshm_region_header {
  uint64_t magic;
  uint64_t length_bytes; /* of the whole region, this header included */
  uint32_t kind;
  int32_t owner_pid; /* in the owner's pid namespace; information only */
  _Atomic uint32_t version;
  uint32_t reserved[25];
} sfshm_region_header_t;
_Static_assert(sizeof(sfshm_region_header_t) == 128, "layout version 1");

/* A region mapped into this process. */
typedef struct sfshm_region {
  int fd; /* -1 after it has been closed or passed on */
  void *base;
  size_t length_bytes;
} sfshm_region_t;

/* Seals of a new region, set after its owner has mapped it. All regions are sealed against resizing. */
typedef enum sfshm_sealing {
  SFSHM_SEAL_SIZE,         /* others may write */
  SFSHM_SEAL_FUTURE_WRITE, /* only this mapping can write */
} sfshm_sealing_t;

/* Whether the pages of a new region are allocated now, so that no access raises SIGBUS, or by sfshm_region_commit. */
typedef enum sfshm_commit { SFSHM_COMMIT_ALL, SFSHM_COMMIT_LATER } sfshm_commit_t;

/* Page size of this machine. Region lengths are multiples of it. */
size_t sfshm_page_bytes(void);

/* Memory of this machine. */
uint64_t sfshm_memory_bytes(void);

/* Creates and maps a zeroed region of length_bytes (rounded up to pages), and writes its header. name appears in
 * /proc/PID/maps. */
sf_status_t sfshm_region_create(const char *name, sfshm_region_kind_t kind, size_t length_bytes,
                                sfshm_sealing_t sealing, sfshm_commit_t commit, sfshm_region_t *region_p);

/* Allocates pages of a region created with SFSHM_COMMIT_LATER. */
sf_status_t sfshm_region_commit(const sfshm_region_t *region, size_t offset, size_t length_bytes);

/* Creates an immutable region (F_SEAL_WRITE) with the contents of image, and writes the header to the first
 * sizeof(sfshm_region_header_t) bytes of image. The region is not mapped: base is NULL. */
sf_status_t sfshm_region_freeze(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                sfshm_region_t *region_p);

/* As sfshm_region_freeze, and maps the region for reading. */
sf_status_t sfshm_region_publish(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                 sfshm_region_t *region_p);

/* Contents of a region at an offset. */
typedef struct sfshm_region_piece {
  uint64_t offset;
  const void *bytes;
  size_t length_bytes;
} sfshm_region_piece_t;

/* Creates a region from pieces, zero between and after them, and maps it for writing; no other process can ever map it
 * for writing (F_SEAL_FUTURE_WRITE). The first piece is at offset 0 and has room for the header, which this function
 * writes. */
sf_status_t sfshm_region_compose(const char *name, sfshm_region_kind_t kind, const sfshm_region_piece_t pieces[],
                                 size_t npieces, size_t length_bytes, sfshm_region_t *region_p);

/* Overwrites parts of such a region by other pieces, which must fit; bytes after them stay. */
void sfshm_region_recompose(const sfshm_region_t *region, const sfshm_region_piece_t pieces[], size_t npieces);

/* Verifies, without mapping, that fd is a region of the given kind, with the seals of its kind, of at most max_bytes,
 * and without holes if it is immutable. */
sf_status_t sfshm_region_verify(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, size_t *length_p);

typedef enum sfshm_access { SFSHM_READ_ONLY, SFSHM_READ_WRITE } sfshm_access_t;

/* Verifies and maps a received region. The descriptor stays the caller's; region_p->fd is -1. */
sf_status_t sfshm_region_map(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_access_t access,
                             sfshm_region_t *region_p);

/* As sfshm_region_map, but maps only the first head_bytes, so that address space does not depend on the length that the
 * region's creator chose. SF_ERR_PROTO: the region is shorter. */
sf_status_t sfshm_region_map_head(int fd, sfshm_region_kind_t kind, size_t head_bytes, sfshm_access_t access,
                                  sfshm_region_t *region_p);

/* Maps a region for writing and then sets the seal F_SEAL_FUTURE_WRITE, which its creator left to this process: no
 * other process can map it for writing afterwards. SF_ERR_PERM: the seal was set already. SF_ERR_NOMEM: no memory, or
 * the region is large and less than half of its pages are allocated (address space costs the creator nothing); the
 * region is sealed nevertheless. After other failures the region is unchanged. */
sf_status_t sfshm_region_map_last(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_region_t *region_p);

/* Reads length_bytes bytes at offset from any descriptor. */
sf_status_t sfshm_read(int fd, uint64_t offset, size_t length_bytes, void *to);

/* Unmaps and closes. Accepts a zeroed or destroyed region. */
void sfshm_region_destroy(sfshm_region_t *region);

#endif
