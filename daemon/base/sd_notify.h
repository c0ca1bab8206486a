/* Messages to the service manager, if one started the daemon: see sd_notify(3). */
#ifndef SFD_BASE_SD_NOTIFY_H
#define SFD_BASE_SD_NOTIFY_H

/* Clients are served at the socket of that path. */
void sfd_sd_notify_ready(const char *path);

/* The daemon is about to end. */
void sfd_sd_notify_stopping(void);

#endif
