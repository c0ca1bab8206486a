/* Service manager: see sd_notify.h. Without one messages are dropped. The daemon's thread. */
#include "daemon/base/sd_notify.h"

#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/base/log.h"

static void check(int result)
{
  if (result < 0)
    sfd_log(SFD_LOG_MAIN, SFD_WARN, "cannot tell the service manager: %s", strerror(-result));
}

void sfd_sd_notify_ready(const char *path)
{
  check(sd_notifyf(0, "READY=1\nSTATUS=Serving at %s", path));
}

void sfd_sd_notify_stopping(void)
{
  check(sd_notify(0, "STOPPING=1\nSTATUS=Ending"));
}
