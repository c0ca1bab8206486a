/* MUNGE credentials for the tcp fabric (libsfd_munge.so), which only daemons of the same user, on hosts with the same
 * MUNGE key, can make and read. A library, so that sfd runs without MUNGE. Both functions wait for munged: a
 * millisecond, or seconds if it hangs. Any thread; no state. */
#ifndef SFD_NET_FABRIC_MUNGE_PLUGIN_H
#define SFD_NET_FABRIC_MUNGE_PLUGIN_H

#include <stddef.h>
#include <sys/types.h>

#define SFD_MUNGE_DETAIL_SIZE 160

typedef enum sfd_munge_result {
  SFD_MUNGE_OK,
  SFD_MUNGE_UNREACHABLE, /* munged does not answer, or fails */
  SFD_MUNGE_INVALID,     /* no credential, another MUNGE key, or another length */
  SFD_MUNGE_EXPIRED,     /* made too long ago */
  SFD_MUNGE_REWOUND,     /* made in the future */
  SFD_MUNGE_REPLAYED,    /* has been read before */
  SFD_MUNGE_FOREIGN,     /* for another user */
} sfd_munge_result_t;

typedef struct sfd_munge_letter {
  const char *socket; /* of munged; "": libmunge's default */
  uid_t uid;          /* seal: the allowed reader; open: the sealer */
  void *contents;
  size_t nbytes; /* of the contents */
  char *text;    /* the credential */
  size_t text_size;
  char detail[SFD_MUNGE_DETAIL_SIZE]; /* MUNGE's error text */
} sfd_munge_letter_t;

typedef struct sfd_munge {
  /* Encrypts the contents into text. */
  sfd_munge_result_t (*seal)(sfd_munge_letter_t *letter);

  /* Reads contents and user from text. Succeeds only once per host. */
  sfd_munge_result_t (*open)(sfd_munge_letter_t *letter);
} sfd_munge_t;

/* Exported by the library. */
extern const sfd_munge_t sfd_munge;

#endif
