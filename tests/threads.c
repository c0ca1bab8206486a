/* Preloaded into the processes of a test: notes in the file SFTEST_THREADS which threads they start, a byte each. The
 * thread sanitizer can find nothing in a process of one thread, and the thread that listens for alerts ("sf-alerts") is
 * the same in all processes of applications: tests/run counts both. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(char what)
{
  const char *path = getenv("SFTEST_THREADS");
  int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  if (fd < 0)
    return;
  ssize_t written = write(fd, &what, 1);
  (void)written; /* a note that is lost is one thread fewer, not a failure of what the test is about */
  close(fd);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (next == NULL)
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  note('t');
  return next(thread, attributes, run, argument);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
  static int (*next)(pthread_t, const char *);
  if (next == NULL)
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_setname_np");
  if (strcmp(name, "sf-alerts") == 0)
    note('a');
  return next(thread, name);
}
