/* SIGBUS guard: see sigbus_guard.h. The handler runs on any thread. It calls async-signal-safe functions and mmap,
 * which is one system call on Linux. */
#include "daemon/base/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/region/region.h"

#define LINE_BYTES 512 /* longer than the line of an unnamed mapping; of names the beginning suffices */

static _Atomic uint32_t nreplaced;
static uintptr_t page_bytes;

static const char *parse_hex(const char *text, uintptr_t *value_p)
{
  uintptr_t value = 0;
  for (; *text != '\0'; text++) {
    char lower = (char)(*text | 0x20);
    if (*text >= '0' && *text <= '9')
      value = value << 4 | (uintptr_t)(*text - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value << 4 | (uintptr_t)(lower - 'a' + 10);
    else
      break;
  }
  *value_p = value;
  return text;
}

/* "7f0000000000-7f0000001000 rw-s 00000000 00:01 1234   /memfd:sf-inbox (deleted)" */
static bool is_shared_there(const char *line, uintptr_t address)
{
  uintptr_t from, to;
  const char *text = parse_hex(line, &from);
  if (*text != '-')
    return false;
  (void)parse_hex(text + 1, &to);
  return from <= address && address < to && strstr(line, " /memfd:") != NULL;
}

/* Whether the address is in a memfd, as all memory shared with clients is. */
static bool is_shared(uintptr_t address)
{
  char line[LINE_BYTES], bytes[LINE_BYTES];
  size_t used = 0;
  bool found = false;
  ssize_t n;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && !found && (n = read(fd, bytes, sizeof bytes)) > 0)
    for (ssize_t i = 0; i < n && !found; i++) {
      if (bytes[i] != '\n' && used < sizeof line - 1) {
        line[used++] = bytes[i];
        continue;
      }
      if (bytes[i] != '\n')
        continue; /* rest of a name */
      line[used] = '\0';
      found = is_shared_there(line, address);
      used = 0;
    }
  if (fd >= 0)
    close(fd);
  return found;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
  int saved = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  void *page = (void *)(address & ~(page_bytes - 1));
  (void)context;
  if (info->si_code == BUS_ADRERR && is_shared(address) &&
      mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
    atomic_fetch_add_explicit(&nreplaced, 1, memory_order_relaxed);
  else
    signal(number, SIG_DFL); /* the access is repeated, and ends the process */
  errno = saved;
}

void sfd_sigbus_guard_begin(void)
{
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  page_bytes = sfshm_page_bytes();
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

uint32_t sfd_sigbus_guard_take(void)
{
  return atomic_load_explicit(&nreplaced, memory_order_relaxed) != 0
             ? atomic_exchange_explicit(&nreplaced, 0, memory_order_relaxed)
             : 0;
}
