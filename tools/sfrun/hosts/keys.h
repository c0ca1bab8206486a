/* Key by which daemons on several hosts authenticate, and its transport over mpirun's remote shell, such as ssh, as
 * mpirun's own messages are not encrypted. */
#ifndef SFRUN_HOSTS_KEYS_H
#define SFRUN_HOSTS_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <sf/sf_status.h>

#include "tools/sfrun/launch.h"

#define SFRUN_KEY_BYTES 32
#define SFRUN_KEY_NAME "peer-key" /* of the file in the private directory */
#define SFRUN_KEY_PATH_BYTES (SFRUN_SOCKET_BYTES + sizeof ".key")

/* Fills in random bytes. SF_ERR_SYS. */
sf_status_t sfrun_random(void *bytes, size_t len_bytes);

/* Writes a random key to SFRUN_KEY_NAME in the private directory. SF_ERR_SYS. */
sf_status_t sfrun_key_write(const char *directory);

/* Whether the user chose the authentication; then no key is made. */
bool sfrun_key_is_given(const sfrun_options_t *options);

/* Writes a random key to a file beside the private directory on each host, for this user only. SF_ERR_NO_DAEMON: a host
 * can't be reached; SF_ERR_NOT_FOUND: no remote shell; SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfrun_keys_hand_over(const sfrun_launch_t *launch, const char *directory);

/* Removes files that daemons which did not start have left. */
void sfrun_keys_take_back(const sfrun_launch_t *launch, const char *directory);

/* On a host: moves the key into the private directory, if there is one. SF_ERR_PERM: others have access to it. */
sf_status_t sfrun_key_take(const char *directory);

#endif
