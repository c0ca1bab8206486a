/* See link.h. Any thread. */
#include "daemon/net/fabric/tcp/link.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool sfd_tcp_link_look(int fd, sfd_fabric_link_t *link_p)
{
  struct tcp_info info;
  socklen_t size = sizeof info;
  int unsent = 0;
  memset(&info, 0, sizeof info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || ioctl(fd, SIOCOUTQ, &unsent) != 0)
    return false;
  *link_p = (sfd_fabric_link_t){.send_queue_bytes = (uint64_t)unsent,
                                .rtt_us = info.tcpi_rtt,
                                .retransmits = info.tcpi_total_retrans,
                                .busy_us = info.tcpi_busy_time};
  return true;
}
