/* Texts for sfctl: see call_site.h. Any thread. */
#include "client/adapters/pmpi/call_site.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void sfpmpi_call_site_find(char *text, size_t size, const char *called, const void *caller)
{
  Dl_info info;
  if (caller == NULL || dladdr(caller, &info) == 0 || info.dli_fname == NULL) {
    snprintf(text, size, "%s", called);
    return;
  }
  const char *slash = strrchr(info.dli_fname, '/'), *file = slash != NULL ? slash + 1 : info.dli_fname;
  if (info.dli_sname != NULL)
    snprintf(text, size, "%s in %s (%s)", called, info.dli_sname, file);
  else
    snprintf(text, size, "%s in %s+0x%zx", called, file,
             (size_t)((const char *)caller - 1 - (const char *)info.dli_fbase));
}

const char *sfpmpi_call_site_text(char *text, const char *name, const char *what, const char *made)
{
  snprintf(text, SFPMPI_CALL_SITE_BYTES, "%s: %.40s%s%s", made, name, *name != '\0' ? " " : "", what);
  return text;
}
