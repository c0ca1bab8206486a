/* Search for plugins: see plugin.h. */
#include "shm/base/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Removes the file name. Returns false if the path has no directory. */
static bool keep_dir(char path[PATH_MAX])
{
  char *slash = strrchr(path, '/');
  if (slash != NULL)
    *slash = '\0';
  return slash != NULL;
}

static bool find_dir_of_symbol(const void *symbol, char dir[PATH_MAX])
{
  Dl_info own;
  if (!dladdr(symbol, &own) || own.dli_fname == NULL)
    return false;
  return snprintf(dir, PATH_MAX, "%s", own.dli_fname) < PATH_MAX && keep_dir(dir);
}

static bool find_dir_of_program(char dir[PATH_MAX])
{
  ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
  if (len <= 0)
    return false;
  dir[len] = '\0';
  return keep_dir(dir);
}

static bool find_near(const char *dir, const char *name, char path[PATH_MAX])
{
  static const char *const places[] = {"", "/../lib/sfd", "/../lib", "/../sfd"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    if (snprintf(path, PATH_MAX, "%s%s/%s", dir, places[i], name) < PATH_MAX && access(path, R_OK) == 0)
      return true;
  return false;
}

bool sfshm_plugin_find(const char *name, const void *symbol, char path[PATH_MAX])
{
  char dir[PATH_MAX];
  if (find_dir_of_symbol(symbol, dir) && find_near(dir, name, path))
    return true;
  if (find_dir_of_program(dir) && find_near(dir, name, path))
    return true;
  snprintf(path, PATH_MAX, "%s", name);
  return false;
}
