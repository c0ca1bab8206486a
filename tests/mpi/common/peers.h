/* Programs that test a fabric under mpirun: nodes that stream bytes which the others can predict, and check what they
 * receive. Any deviation ends the program with a message. Nothing here calls MPI: what is tested loads it. One thread.
 */
#ifndef SFTEST_MPI_PEERS_H
#define SFTEST_MPI_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/net/fabric/fabric.h"

#define PEERS_PIECE_MAX (40u << 20) /* larger than what goes in one MPI message */
#define PEERS_GUARDED (2u << 20)    /* bytes of buffers that are watched when a stream has ended */
#define PEERS_TOKEN 8               /* bytes */

typedef struct peers_node {
  bool up, sending, connecting;
  uint64_t sent, received; /* bytes of this stream */
  unsigned ups, downs, failings;
  uint8_t *staging; /* what is being sent may lie here: PEERS_GUARDED bytes */
  uint8_t *buffer;  /* where bytes are received */
  size_t room;
  bool guarded; /* nothing may be written to the buffer now */
} peers_node_t;

extern uv_loop_t peers_loop;
extern sfd_fabric_t *peers_fabric;
extern peers_node_t *peers_nodes;
extern bool peers_any_room; /* offer room of all sizes, not only the largest */

/* Makes the mpi fabric from the library in SFTEST_PLUGIN_DIR. Random numbers come from SF_TEST_SEED, which is printed.
 */
void peers_prepare(int *argc, char ***argv);

/* Closes and destroys it; nothing may be left. */
void peers_finish(void);

void peers_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prints, on node 0. */
void peers_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t peers_random_below(uint64_t n);

/* Small ones as often as large ones. */
size_t peers_random_size(size_t max);

/* The bytes of a stream from an offset on: at least PEERS_PIECE_MAX of them. */
const uint8_t *peers_bytes_at(int32_t from, int32_t to, uint64_t offset);

typedef bool peers_condition_t(void);
void peers_run_until(peers_condition_t *condition);
void peers_pause_ms(uint64_t ms);

/* One timer, and whether its time is over. */
void peers_set_timer(uint64_t ms);
bool peers_has_fired(void);

bool peers_is_peer(int32_t node); /* not this one */
bool peers_all_up(void);
void peers_connect_to(int32_t node);

/* The next bytes of the stream; pieces must hold them. */
void peers_send_pieces(int32_t node, const struct iovec iov[], int niov);
void peers_send_bytes(int32_t node, size_t len);

/* A token to everybody, and from everybody: both directions of a stream have carried as much. */
void peers_barrier(void);

/* The stream has ended: its memory is marked, and watched. */
void peers_forget(peers_node_t *peer);

#endif
