/* Addresses of this daemon's links. The progress thread, at start. */
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/net/fabric/mpi/internal.h"
#include "shm/base/error.h"

void sfd_mpi_reachability(uint8_t bytes[64])
{
  struct stat network = {.st_ino = 0};
  memset(bytes, 0, 64);
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, bytes, 36) != 36)
    (void)gethostname((char *)bytes, 36);
  if (fd >= 0)
    close(fd);
  (void)stat("/proc/self/ns/net", &network); /* containers and network namespaces have their own loopback */
  memcpy(bytes + 40, &network.st_dev, sizeof network.st_dev);
  memcpy(bytes + 48, &network.st_ino, sizeof network.st_ino);
}

static void add_address(sfd_mpi_place_t *place, int family, const void *bytes, size_t len)
{
  if (place->naddresses == SFD_MPI_ADDRESSES)
    return;
  place->family[place->naddresses] = (uint16_t)family;
  memcpy(place->address[place->naddresses++], bytes, len);
}

/* Of interfaces that are up; of IPv6 only addresses without scope. */
static void add_interface(sfd_mpi_place_t *place, const struct ifaddrs *interface, int family)
{
  const struct sockaddr *address = interface->ifa_addr;
  if (address == NULL || address->sa_family != family || !(interface->ifa_flags & IFF_UP) ||
      (interface->ifa_flags & IFF_LOOPBACK))
    return;
  if (family == AF_INET) {
    add_address(place, family, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return;
  }
  const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
  if (!IN6_IS_ADDR_LINKLOCAL(in6))
    add_address(place, family, in6, 16);
}

static void add_interfaces(sfd_mpi_place_t *place)
{
  static const int families[] = {AF_INET, AF_INET6};
  struct ifaddrs *all;
  if (getifaddrs(&all) != 0)
    return;
  for (int i = 0; i < 2; i++) {
    for (const struct ifaddrs *interface = all; interface != NULL; interface = interface->ifa_next)
      add_interface(place, interface, families[i]);
  }
  freeifaddrs(all);
}

/* -1: error, see errno. */
static int listen_at(const void *address, socklen_t len, int family)
{
  int no = 0;
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  if (family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(fd, address, len) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  close(fd);
  return -1;
}

static int listen_everywhere(void)
{
  struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
  struct sockaddr_in in = {.sin_family = AF_INET};
  int fd = listen_at(&in6, sizeof in6, AF_INET6);
  return fd >= 0 ? fd : listen_at(&in, sizeof in, AF_INET);
}

static int listen_locally(void)
{
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return listen_at(&in, sizeof in, AF_INET);
}

static uint16_t port_of(int fd)
{
  struct sockaddr_storage address;
  socklen_t len = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
    return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
  return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

sf_status_t sfd_mpi_listen(bool loopback_only, int *fd_p, sfd_mpi_place_t *place)
{
  struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = loopback_only ? listen_locally() : listen_everywhere();
  if (fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot listen on %s",
                             loopback_only ? "the loopback address" : "this host's addresses");
  if (loopback_only)
    add_address(place, AF_INET, &loopback, 4);
  else
    add_interfaces(place);
  place->port = port_of(fd);
  *fd_p = fd;
  return SF_OK;
}
