/* Descriptors of this process, by which tests find what has been left open. */
#ifndef SFTEST_DESCRIPTORS_H
#define SFTEST_DESCRIPTORS_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define SFTEST_FDS_LOOKS 400000 /* of a millisecond each */

/* How many are open; always the same few more, as looking takes some. */
static inline int sftest_count_fds(void)
{
  DIR *directory = opendir("/proc/self/fd");
  int count = 0;
  if (directory == NULL)
    abort();
  while (readdir(directory) != NULL)
    count++;
  closedir(directory);
  return count;
}

/* How many are open at last. Waits while they are more than that: another thread may have to close some. */
static inline int sftest_await_fds(int most)
{
  int count = sftest_count_fds();
  for (int looks = 0; count > most && looks < SFTEST_FDS_LOOKS; looks++) {
    usleep(1000);
    count = sftest_count_fds();
  }
  return count;
}

#endif
