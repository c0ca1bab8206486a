/* Standard input, output and error: see standard.h. Single-threaded, at program start. */
#include "shm/base/standard.h"

#include <fcntl.h>
#include <unistd.h>

void sfshm_standard_hold(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) == -1) /* fd is the lowest free descriptor, so open returns it */
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}
