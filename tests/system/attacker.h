/* A hostile client: what it connects and sends by, without the library. */
#ifndef SFTEST_ATTACKER_H
#define SFTEST_ATTACKER_H

#include "proto/conn.h"
#include "tests/system/hostile.h"

#define SFTEST_MAX_PACKED 8192

typedef struct sftest_attacker {
  sftest_rank_t *self;
  sftest_assault_t *assault;
  uint64_t random;
} sftest_attacker_t;

sftest_attacker_t sftest_attacker(sftest_rank_t *self);

/* A connection to the daemon, or -1. */
int sftest_attacker_connect(const sftest_attacker_t *attacker);

/* One sendmsg that does not wait, with n descriptors. */
bool sftest_send_bytes(int socket, const void *bytes, size_t length, const int fds[], int n);

/* The frame of a message that announces nfds descriptors. */
size_t sftest_pack_frame(const Sfproto__Message *message, int nfds, uint8_t frame[SFTEST_MAX_PACKED]);

/* A hello as the only rank of a job. */
void sftest_make_hello(const sftest_attacker_t *attacker, const char *job, Sfproto__Hello *hello,
                       Sfproto__Message *message);

#endif
