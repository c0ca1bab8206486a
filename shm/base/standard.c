/* Standard input, output and error: see standard.h. The one thread that there is at the start. */
#include "shm/base/standard.h"

#include <fcntl.h>
#include <unistd.h>

void sfshm_standard_hold(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) == -1) /* the lowest that is free, so open returns it */
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}
