/* Daemons' tcp fabrics in one process, on loopback, for tests: up to four nodes, which send each other streams of bytes
 * that the receivers can check without being told them. */
#ifndef SFTEST_TCP_CLUSTER_H
#define SFTEST_TCP_CLUSTER_H

#include <uv.h>

#include "daemon/net/fabric/tcp/tcp.h"
#include "tests/unit/runner.h"

#define TCP_NODES 4
#define TCP_PIECES 3000

typedef struct sftest_tcp_node sftest_tcp_node_t;

/* One node's end of a stream. */
typedef struct sftest_tcp_end {
  bool up;
  bool refuse; /* want answers NULL */
  int nups;
  int ndowns;
  int nsents;
  sf_status_t status; /* of the last down */
  char detail[512];   /* of the last down */
  double down_s;      /* time of the last down */
  uint64_t sent;      /* bytes of this stream that have been handed over */
  uint64_t got;       /* bytes of this stream that have arrived */
  uint64_t awaited;   /* up to there the user can do nothing with what arrives */
  uint64_t to_send;   /* bytes that are still to be sent */
  bool sending;
  uint8_t *out; /* of the send under way */
  uint8_t *in;  /* where want said */
  size_t in_size;
} sftest_tcp_end_t;

struct sftest_tcp_node {
  sfd_fabric_t *fabric;
  uv_loop_t *loop;
  bool closed;
  sftest_tcp_end_t ends[TCP_NODES];
};

typedef struct sftest_tcp {
  uv_loop_t loop;
  int nnodes;
  uint16_t ports[TCP_NODES];
  int listen_fds[TCP_NODES]; /* fabrics get duplicates */
  sftest_tcp_node_t nodes[TCP_NODES];
  char directory[64];
  char key_file[96];
  char other_key_file[96];
  uint64_t random;
} sftest_tcp_cluster_t;

extern sftest_tcp_cluster_t sftest_tcp;

/* Sockets, keys, loop; no fabrics yet. */
void sftest_tcp_setup(void);
void sftest_tcp_teardown(void); /* all fabrics must have been closed */

/* A socket with a port of the host. It is nobody else's while that is open, but a fabric may be told to bind to it. */
int sftest_tcp_reserve_port(uint32_t host, uint16_t *port_p);

/* "127.0.0.1:PORT,..." of the first nnodes nodes. */
const char *sftest_tcp_peers(int nnodes);
sfd_tcp_options_t sftest_tcp_options(int node, int nnodes);
void sftest_tcp_create(int node, const sfd_tcp_options_t *options);
void sftest_tcp_create_all(int nnodes);

/* Closes and destroys the fabric. */
void sftest_tcp_close(int node);
void sftest_tcp_close_all(void); /* the teardown does it, too */

/* Of a fabric whose closing has come to its end. */
void sftest_tcp_destroy(int node);

/* By the clock that stands still while the machine holds the test up. */
double sftest_tcp_now_s(void);
uint64_t sftest_tcp_random(uint64_t below);
sftest_tcp_end_t *sftest_tcp_end(int node, int peer);

/* What the stream between two nodes carries at a position. */
uint8_t sftest_tcp_content(int from, int to, uint64_t position);
void sftest_tcp_connect(int node, int peer);
void sftest_tcp_send(int node, int peer, uint64_t nbytes);

/* Runs the loop until it is so; for a time, in which nothing may happen, or a part of what is to; or for so many turns,
 * now and then with a short rest. */
void sftest_tcp_run_until(bool (*reached)(void));
void sftest_tcp_run_for(double seconds);
void sftest_tcp_take_turns(int nturns);
bool sftest_tcp_all_up(void);   /* between all nodes that exist */
bool sftest_tcp_all_sent(void); /* and all that was sent has arrived */

/* A socket that is connected to the node, but is no fabric's. */
int sftest_tcp_stranger(int node);
int sftest_tcp_stranger_from(uint32_t host, int node); /* an address of loopback */

/* From now on nothing arrives at any connection of this process that there is now, and no new ones are made, until the
 * links are mended. Some machines let only root do it. */
bool sftest_tcp_can_cut_links(void);
void sftest_tcp_cut_links(void);
void sftest_tcp_mend_links(void);

/* Open descriptors of this process. */
int sftest_tcp_count_fds(void);

#endif
