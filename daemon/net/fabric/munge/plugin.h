/* What libsfd_munge.so does for the tcp fabric: credentials of MUNGE that only daemons of the same user, on hosts with
 * the same MUNGE key, can make and read. A library of its own, loaded when it is asked for: sfd runs without MUNGE.
 *
 * Both functions ask munged, the daemon of MUNGE, and wait for its answer: a millisecond, or seconds if it hangs. Any
 * thread; the library keeps nothing. */
#ifndef SFD_NET_FABRIC_MUNGE_PLUGIN_H
#define SFD_NET_FABRIC_MUNGE_PLUGIN_H

#include <stddef.h>
#include <sys/types.h>

#define SFD_MUNGE_DETAIL_SIZE 160

typedef enum sfd_munge_result {
  SFD_MUNGE_OK,
  SFD_MUNGE_UNREACHABLE, /* munged does not answer, or can't do it */
  SFD_MUNGE_INVALID,     /* no credential, of another MUNGE key, or of another length */
  SFD_MUNGE_EXPIRED,     /* made too long ago */
  SFD_MUNGE_REWOUND,     /* made in the future */
  SFD_MUNGE_REPLAYED,    /* has been read before */
  SFD_MUNGE_FOREIGN,     /* for another user */
} sfd_munge_result_t;

typedef struct sfd_munge_letter {
  const char *socket; /* munged's; "": where libmunge looks for it */
  uid_t uid;          /* who may open it; when it has been opened: who has sealed it */
  void *contents;
  size_t nbytes; /* of the contents */
  char *text;    /* the credential */
  size_t text_size;
  char detail[SFD_MUNGE_DETAIL_SIZE]; /* MUNGE's own words if there is no success */
} sfd_munge_letter_t;

typedef struct sfd_munge {
  /* Encrypts the contents, and writes the text. */
  sfd_munge_result_t (*seal)(sfd_munge_letter_t *letter);

  /* Reads the text, and writes the contents and the user. Only the first to do so, on a host, has success. */
  sfd_munge_result_t (*open)(sfd_munge_letter_t *letter);
} sfd_munge_t;

/* What the library exports. */
extern const sfd_munge_t sfd_munge;

#endif
