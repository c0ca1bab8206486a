/* Status codes of sfd and libsfclient: the one table of codes and texts. Part of the public interface; included by
 * <sf/sf.h>. */
#ifndef SF_STATUS_H
#define SF_STATUS_H

/* X(name, value, text). Values are part of the ABI and of the control protocol: append, never renumber. */
#define SF_STATUS_TABLE(X)                                                                                             \
  X(SF_OK, 0, "success")                                                                                               \
  X(SF_ERR_ARG, -1, "invalid argument")                                                                                \
  X(SF_ERR_RANGE, -2, "index or address out of range")                                                                 \
  X(SF_ERR_NOMEM, -3, "out of memory")                                                                                 \
  X(SF_ERR_SYS, -4, "system call failed")                                                                              \
  X(SF_ERR_PROTO, -5, "malformed message from peer")                                                                   \
  X(SF_ERR_VERSION, -6, "incompatible version")                                                                        \
  X(SF_ERR_NO_DAEMON, -7, "no sfd answers at the socket")                                                              \
  X(SF_ERR_DAEMON_LOST, -8, "connection to sfd lost")                                                                  \
  X(SF_ERR_RANK_FAILED, -9, "a rank of the job failed")                                                                \
  X(SF_ERR_MISMATCH, -10, "collective calls do not match between ranks")                                               \
  X(SF_ERR_TIMEOUT, -11, "timed out")                                                                                  \
  X(SF_ERR_PERM, -12, "permission denied")                                                                             \
  X(SF_ERR_EXISTS, -13, "already exists or in use")                                                                    \
  X(SF_ERR_STATE, -14, "not allowed in this state")                                                                    \
  X(SF_ERR_UNSUPPORTED, -15, "not supported")                                                                          \
  X(SF_ERR_LIMIT, -16, "limit exceeded")                                                                               \
  X(SF_ERR_NOT_FOUND, -17, "not found")                                                                                \
  X(SF_ERR_INTERNAL, -18, "internal error")

/* How a function went. */
typedef enum sf_status {
#define SF_STATUS_ENUM(name, value, text) name = (value),
  SF_STATUS_TABLE(SF_STATUS_ENUM)
#undef SF_STATUS_ENUM
} sf_status_t;

#endif
