/* How the daemons of a cluster prove to each other that they belong: both know a key, and show it by answering a
 * challenge. With it the layout of what two daemons say before their stream begins:
 *
 *   who connects            who is connected to
 *   hello      ->
 *   (ticket)   ->
 *              <-  challenge       who it is and that it has the key, or why it refuses
 *   proof      ->                  that the other one has it too
 *              <-  verdict         the stream begins behind it
 *
 * Both proofs are codes over all of: which side proves, version, node numbers and nonces. An answer can hence not be
 * sent back, used for another pair of nodes, or used again. What the stream carries afterwards is neither encrypted nor
 * protected: who can change packets on the wire is trusted. Integers are little-endian.
 *
 * The key is that of a file, or a random one for this connection alone, which a credential of MUNGE carries, the ticket
 * (ticket.h). Daemons that have neither use 0 and look whose connection it is (user.h). */
#ifndef SFD_NET_FABRIC_TCP_AUTH_H
#define SFD_NET_FABRIC_TCP_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include <sf/sf_status.h>

#define SFD_TCP_MAGIC 0x54444653u /* "SFDT" */
#define SFD_TCP_VERSION 3u
#define SFD_TCP_KEY_FILE_MIN 32   /* bytes */
#define SFD_TCP_KEY_FILE_MAX 4096 /* bytes */
#define SFD_TCP_TICKET_MAX 1024   /* bytes */

typedef struct sfd_tcp_key {
  uint8_t bytes[32];
} sfd_tcp_key_t;

typedef struct sfd_tcp_hello {
  uint32_t magic;
  uint32_t version;
  uint32_t from; /* node */
  uint32_t to;
  uint32_t nnodes;
  uint32_t ticket_bytes; /* that follow; 0: there is none */
  uint64_t cause;        /* what the connection is needed for: fabric.h */
  uint8_t nonce[24];
} sfd_tcp_hello_t;

typedef struct sfd_tcp_challenge {
  uint32_t magic;
  uint32_t refusal; /* sfd_tcp_refusal_t; if there is one, what follows is 0 */
  uint8_t nonce[32];
  uint8_t code[32];
} sfd_tcp_challenge_t;

typedef struct sfd_tcp_proof {
  uint8_t code[32];
} sfd_tcp_proof_t;

typedef struct sfd_tcp_verdict {
  uint32_t accepted; /* 1 */
} sfd_tcp_verdict_t;

_Static_assert(sizeof(sfd_tcp_hello_t) == 56, "version 3");
_Static_assert(sizeof(sfd_tcp_challenge_t) == 72, "version 2");

typedef enum sfd_tcp_refusal {
  SFD_TCP_WELCOME,
  SFD_TCP_OTHER_VERSION,
  SFD_TCP_OTHER_SIZE,   /* it counts another number of nodes */
  SFD_TCP_OTHER_NODE,   /* it is not the node that was asked for */
  SFD_TCP_UNKNOWN_NODE, /* it does not expect such a node, or is that node itself */
  SFD_TCP_OTHER_PROOF,  /* one has a key file, the other one uses MUNGE */
  SFD_TCP_NO_MUNGE,     /* its munged does not answer */
  SFD_TCP_BAD_TICKET,   /* that is no ticket for this connection, or of another MUNGE key */
  SFD_TCP_LATE_TICKET,  /* it has expired */
  SFD_TCP_EARLY_TICKET, /* it is from the future */
  SFD_TCP_OLD_TICKET,   /* it has been used */
  SFD_TCP_OTHER_USER,   /* it runs as another user */
} sfd_tcp_refusal_t;

/* To be called before anything else here, except sfd_tcp_key_read. SF_ERR_SYS: no random numbers. */
sf_status_t sfd_tcp_auth_begin(void) __attribute__((warn_unused_result));

/* Writes a random key to a new file of mode 0600. SF_ERR_EXISTS: the file is there already; SF_ERR_PERM, SF_ERR_SYS. */
sf_status_t sfd_tcp_key_write(const char *path) __attribute__((warn_unused_result));

/* Makes the key from the bytes of a file, at best random ones: a regular file of 32 to 4096 bytes that belongs to this
 * user or to root, that nobody else may write, and nobody else read; but a group may read one of root's.
 * SF_ERR_PERM, SF_ERR_ARG: it is not so; SF_ERR_SYS. */
sf_status_t sfd_tcp_key_read(const char *path, sfd_tcp_key_t *key_p) __attribute__((warn_unused_result));
void sfd_tcp_key_wipe(sfd_tcp_key_t *key);

/* The steps, in order. Those with is_ say whether the other side's answer proves the key. */
void sfd_tcp_hello_make(sfd_tcp_hello_t *hello, int32_t from, int32_t to, int32_t nnodes);
sfd_tcp_refusal_t sfd_tcp_hello_check(const sfd_tcp_hello_t *hello, int32_t node, int32_t nnodes, int32_t *from_p);
void sfd_tcp_challenge_refuse(sfd_tcp_challenge_t *challenge, sfd_tcp_refusal_t refusal);
void sfd_tcp_challenge_make(sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello);
bool sfd_tcp_challenge_is_true(const sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key,
                               const sfd_tcp_hello_t *hello);
void sfd_tcp_proof_make(sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                        const sfd_tcp_challenge_t *challenge);
bool sfd_tcp_proof_is_true(const sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                           const sfd_tcp_challenge_t *challenge);

#endif
