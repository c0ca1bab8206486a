/* Authentication of the daemons of a cluster: both know a key, and prove it by challenge and response. The layout of
 * the messages before a stream begins:
 *
 *   connecting side         accepting side
 *   hello      ->
 *   (ticket)   ->
 *              <-  challenge       its node, and proof of the key; or a refusal
 *   proof      ->                  proof of the key
 *              <-  verdict         the stream follows
 *
 * A proof is a code over: side, version, node numbers and nonces. So it can't be sent back, used for another pair of
 * nodes, or used again. The stream is neither encrypted nor protected: whoever can change packets on the wire is
 * trusted. Integers are little-endian.
 *
 * The key comes from a file, or is a random one for this connection in a MUNGE credential, the ticket (ticket.h).
 * Daemons without both use 0 and check the user of the connection (user.h). */
#ifndef SFD_NET_FABRIC_TCP_AUTH_H
#define SFD_NET_FABRIC_TCP_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "daemon/net/fabric/tcp/peer_list.h"

#define SFD_TCP_MAGIC 0x54444653u /* "SFDT" */
#define SFD_TCP_VERSION 4u
#define SFD_TCP_KEY_FILE_MIN 32   /* bytes */
#define SFD_TCP_KEY_FILE_MAX 4096 /* bytes */
#define SFD_TCP_TICKET_MAX 1024   /* bytes */

typedef struct sfd_tcp_key {
  uint8_t bytes[32];
} sfd_tcp_key_t;

/* What the daemons of a cluster have in common. Nodes are known by their numbers, so their lists must be equal. */
typedef struct sfd_tcp_cluster {
  int32_t nnodes;
  uint8_t list[8]; /* digest of the list of peers */
  uint8_t name[8]; /* digest of the cluster's name */
} sfd_tcp_cluster_t;

typedef struct sfd_tcp_hello {
  uint32_t magic;
  uint32_t version;
  uint32_t from; /* node */
  uint32_t to;
  uint32_t nnodes;
  uint32_t ticket_bytes; /* that follow; 0: none */
  uint64_t cause;        /* why the sender connects: fabric.h */
  uint8_t list[8];       /* as in sfd_tcp_cluster_t */
  uint8_t name[8];
  uint8_t nonce[24];
} sfd_tcp_hello_t;

typedef struct sfd_tcp_challenge {
  uint32_t magic;
  uint32_t refusal; /* sfd_tcp_refusal_t; if not 0, the rest is 0 */
  uint8_t nonce[32];
  uint8_t code[32];
} sfd_tcp_challenge_t;

typedef struct sfd_tcp_proof {
  uint8_t code[32];
} sfd_tcp_proof_t;

typedef struct sfd_tcp_verdict {
  uint32_t accepted; /* always 1 */
} sfd_tcp_verdict_t;

_Static_assert(sizeof(sfd_tcp_hello_t) == 72, "version 4");
_Static_assert(sizeof(sfd_tcp_challenge_t) == 72, "version 2");

typedef enum sfd_tcp_refusal {
  SFD_TCP_WELCOME,
  SFD_TCP_OTHER_VERSION,
  SFD_TCP_OTHER_SIZE,   /* other number of nodes */
  SFD_TCP_OTHER_NODE,   /* not the node asked for */
  SFD_TCP_UNKNOWN_NODE, /* unknown node, or the same */
  SFD_TCP_OTHER_PROOF,  /* key file on one side, MUNGE on the other */
  SFD_TCP_NO_MUNGE,     /* its munged does not answer */
  SFD_TCP_BAD_TICKET,   /* no ticket for this connection, or another MUNGE key */
  SFD_TCP_LATE_TICKET,  /* expired */
  SFD_TCP_EARLY_TICKET, /* from the future */
  SFD_TCP_OLD_TICKET,   /* already used */
  SFD_TCP_OTHER_USER,   /* of another user */
  SFD_TCP_OTHER_HOST,   /* another host is connected as that node */
  SFD_TCP_OTHER_LIST,   /* other peers, or in another order */
  SFD_TCP_OTHER_NAME,   /* of the cluster */
} sfd_tcp_refusal_t;

/* Before all others but sfd_tcp_key_read. SF_ERR_SYS: no random numbers. */
sf_status_t sfd_tcp_auth_begin(void) __attribute__((warn_unused_result));

/* Writes a random key to a new file of mode 0600. SF_ERR_EXISTS; SF_ERR_PERM, SF_ERR_SYS. */
sf_status_t sfd_tcp_key_write(const char *path) __attribute__((warn_unused_result));

/* Reads a key from a regular file of 32 to 4096 bytes that belongs to this user or root, and that others can neither
 * write nor read; a group may read one of root's. SF_ERR_PERM, SF_ERR_ARG: otherwise; SF_ERR_SYS. */
sf_status_t sfd_tcp_key_read(const char *path, sfd_tcp_key_t *key_p) __attribute__((warn_unused_result));
void sfd_tcp_key_wipe(sfd_tcp_key_t *key);

/* The same on all daemons with the same entries in the same order, and the same name. */
sfd_tcp_cluster_t sfd_tcp_cluster_make(const sfd_peer_list_t *list, const char *name);

/* The steps, in order. Functions with is_ check the other side's proof. */
void sfd_tcp_hello_make(sfd_tcp_hello_t *hello, int32_t from, int32_t to, const sfd_tcp_cluster_t *cluster);
sfd_tcp_refusal_t sfd_tcp_hello_check(const sfd_tcp_hello_t *hello, int32_t node, const sfd_tcp_cluster_t *cluster,
                                      int32_t *from_p);
void sfd_tcp_challenge_refuse(sfd_tcp_challenge_t *challenge, sfd_tcp_refusal_t refusal);
void sfd_tcp_challenge_make(sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello);
bool sfd_tcp_challenge_is_true(const sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key,
                               const sfd_tcp_hello_t *hello);
void sfd_tcp_proof_make(sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                        const sfd_tcp_challenge_t *challenge);
bool sfd_tcp_proof_is_true(const sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                           const sfd_tcp_challenge_t *challenge);

#endif
