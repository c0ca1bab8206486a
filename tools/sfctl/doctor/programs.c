/* sfctl doctor: programs, libraries, and MPI. The one thread of sfctl. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sf/sf.h>

#include "shm/base/error.h"
#include "shm/device/device.h"
#include "tools/sfctl/doctor/doctor.h"
#include "tools/sfrun/mpi/mpi.h"
#include "tools/sfrun/mpi/neighbors.h"
#include "tools/sfrun/process/capture.h"
#include "tools/sfrun/process/process.h"
#include "tools/sfrun/sfd_command.h"

#define VERSION_TEXT_BYTES 4096
#define VERSION_SIZE 32
#define QUOTE(text) QUOTE_AGAIN(text)
#define QUOTE_AGAIN(text) #text
#define LIBRARY "libsfclient.so." QUOTE(SF_VERSION_MAJOR)

static const char own_version[] = QUOTE(SF_VERSION_MAJOR) "." QUOTE(SF_VERSION_MINOR) "." QUOTE(SF_VERSION_PATCH);

/* The first word of the text that looks like a version; "?". */
static void find_version(const char *text, char version[VERSION_SIZE])
{
  snprintf(version, VERSION_SIZE, "?");
  while (*text != '\0') {
    size_t length = strcspn(text, " \t\n"), digits = strspn(text, "0123456789");
    if (digits > 0 && text[digits] == '.') {
      snprintf(version, VERSION_SIZE, "%.*s", (int)length, text);
      return;
    }
    text += length + strspn(text + length, " \t\n");
  }
}

/* ---- sfd ---- */

static void examine_sfd(const char *path, sfctl_report_t *report)
{
  char *text = NULL, version[VERSION_SIZE];
  bool ok = false;
  sf_status_t status =
      sfrun_capture((const char *const[]){path, "--version", NULL}, true, VERSION_TEXT_BYTES, &text, &ok);
  if (status != SF_OK || !ok) {
    sfctl_report_add(report, "sfd", SFCTL_PROBLEM, "%.200s cannot be started: %.150s", path,
                     status != SF_OK ? sfshm_error_detail() : text);
    sfctl_report_advise(report, "install it anew, and the libraries that it names");
    free(text);
    return;
  }
  find_version(text, version);
  bool same = strcmp(version, own_version) == 0;
  sfctl_report_add(report, "sfd", same ? SFCTL_FINE : SFCTL_PROBLEM, "%.300s: version %s%s%s", path, version,
                   same ? "" : ", but this is sfctl ", same ? "" : own_version);
  if (!same)
    sfctl_report_advise(report, "install sfd and sfctl of one version");
  free(text);
}

typedef struct plugin {
  const char *check, *file, *symbol, *purpose;
  const char *needs;  /* installed besides it */
  const char *driver; /* library that a machine may lack: the plugin is of no use there, and no harm; NULL: none */
} plugin_t;

static const plugin_t mpi_plugin = {
    "plugin", "libsfd_mpi.so", "sfd_mpi_fabric_create", "sfd --fabric mpi", "the MPI that it was built with", NULL};
static const plugin_t munge_plugin = {"munge", "libsfd_munge.so", "sfd_munge", "sfd --peer-auth munge", "libmunge",
                                      NULL};
static const plugin_t cuda_plugin = {
    "cuda",      "libsf_cuda.so", SFSHM_DEVICE_PLUGIN_SYMBOL, "programs with memory of devices", "a driver of CUDA",
    "libcuda.so"};

/* Without sfd, some functions of which the plugin needs. */
static void examine_library_of_plugin(const plugin_t *plugin, const char *path, sfctl_report_t *report)
{
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  bool fits = library != NULL && dlsym(library, plugin->symbol) != NULL;
  const char *error = fits ? "" : dlerror();
  if (fits) {
    sfctl_report_add(report, plugin->check, SFCTL_FINE, "%s, for %s", path, plugin->purpose);
  } else if (plugin->driver == NULL || strncmp(error, plugin->driver, strlen(plugin->driver)) != 0) {
    sfctl_report_add(report, plugin->check, SFCTL_PROBLEM, "%.200s is of no use to %s: %.160s", path, plugin->purpose,
                     error);
    sfctl_report_advise(report, "install it anew, and %s, or remove it: nothing else needs it", plugin->needs);
  }
  if (library != NULL)
    dlclose(library);
}

/* Where sfd looks for it; returns whether it is there. */
static bool examine_plugin(const plugin_t *plugin, const char *sfd, sfctl_report_t *report)
{
  static const char *const below[] = {"", "/../lib/sfd", "/../lib"};
  char real[PATH_MAX], path[PATH_MAX + 64];
  snprintf(real, sizeof real, "%s", sfd);
  (void)realpath(sfd, real);
  *strrchr(real, '/') = '\0';
  for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
    snprintf(path, sizeof path, "%s%s/%s", real, below[i], plugin->file);
    if (access(path, R_OK) == 0) {
      examine_library_of_plugin(plugin, path, report);
      return true;
    }
  }
  return false;
}

static void examine_plugins(const char *sfd, sfctl_report_t *report)
{
  const char *cuda = getenv("SF_CUDA_PLUGIN"); /* goes before all */
  if (!examine_plugin(&mpi_plugin, sfd, report)) {
    sfctl_report_add(report, mpi_plugin.check, SFCTL_WARNING, "no %s beside %s, or in ../lib/sfd or ../lib from there",
                     mpi_plugin.file, sfd);
    sfctl_report_advise(report, "build sfd with MPI installed, if you want --fabric mpi; nothing else needs it");
  }
  (void)examine_plugin(&munge_plugin, sfd, report);
  if (cuda == NULL || *cuda == '\0')
    (void)examine_plugin(&cuda_plugin, sfd, report);
  else if (access(cuda, R_OK) == 0)
    examine_library_of_plugin(&cuda_plugin, cuda, report);
}

static void examine_sfd_and_plugins(sfctl_report_t *report)
{
  sfrun_options_t options = {0};
  char path[PATH_MAX];
  if (sfrun_sfd_find(&options, path) != SF_OK) {
    sfctl_report_add(report, "sfd", SFCTL_WARNING, "none beside sfctl or in PATH");
    sfctl_report_advise(report, "put the directory of sfd into PATH, or name it to sfrun by --sfd");
    return;
  }
  examine_sfd(path, report);
  examine_plugins(path, report);
}

/* ---- libsfclient ---- */

/* Path and version of the library that the loader finds. */
static bool load(const char *name, char path[PATH_MAX], char version[VERSION_SIZE])
{
  const struct link_map *map = NULL;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return false;
  union {
    void *object;
    const char *(*function)(void);
  } symbol = {dlsym(library, "sf_version")};
  snprintf(version, VERSION_SIZE, "%s", symbol.object != NULL ? symbol.function() : "?");
  snprintf(path, PATH_MAX, "%s", dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : name);
  dlclose(library);
  return true;
}

static void examine_library(sfctl_report_t *report)
{
  char path[PATH_MAX], installed[PATH_MAX], version[VERSION_SIZE];
  bool loads = load(LIBRARY, path, version);
  if (!loads && !(sfrun_library_find(LIBRARY, installed) && load(installed, path, version))) {
    sfctl_report_add(report, "library", SFCTL_FINE, "no " LIBRARY ": programs linked with libsfclient.a need none");
  } else if (strcmp(version, own_version) != 0) {
    sfctl_report_add(report, "library", SFCTL_PROBLEM, "%.300s: version %s, but this is sfctl %s", path, version,
                     own_version);
    sfctl_report_advise(report, "install libsfclient and sfctl of one version, or mend LD_LIBRARY_PATH");
  } else if (!loads) {
    sfctl_report_add(report, "library", SFCTL_WARNING, "%.300s: version %s, but the loader does not find it", path,
                     version);
    sfctl_report_advise(report, "run ldconfig, or add %.*s to LD_LIBRARY_PATH", (int)(strrchr(path, '/') - path), path);
  } else {
    sfctl_report_add(report, "library", SFCTL_FINE, "%.300s: version %s", path, version);
  }
}

/* ---- MPI ---- */

/* "Open MPI 4.1.4 (/usr/bin/mpirun)". */
static sfrun_mpi_t describe_mpi(const char *path, char *text, size_t size)
{
  char *output = NULL, version[VERSION_SIZE];
  bool ok = false;
  if (sfrun_capture((const char *const[]){path, "--version", NULL}, true, VERSION_TEXT_BYTES, &output, &ok) != SF_OK) {
    snprintf(text, size, "%s (%.80s)", sfrun_mpi_name(SFRUN_MPI_UNKNOWN), path);
    return SFRUN_MPI_UNKNOWN;
  }
  sfrun_mpi_t mpi = sfrun_mpi_recognise(output);
  find_version(output, version);
  snprintf(text, size, "%s %s (%.80s)", sfrun_mpi_name(mpi), version, path);
  free(output);
  return mpi;
}

static bool is_same_file(const char *a, const char *b)
{
  char real_a[PATH_MAX], real_b[PATH_MAX];
  return realpath(a, real_a) != NULL && realpath(b, real_b) != NULL && strcmp(real_a, real_b) == 0;
}

/* Names under which distributions install several MPIs. */
static void describe_others(const char *chosen, char *text, size_t size)
{
  static const char *const names[] = {"mpirun.openmpi", "mpirun.mpich"};
  text[0] = '\0';
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[PATH_MAX], one[160];
    size_t used = strlen(text);
    if (sfrun_find_program(names[i], path) != SF_OK || is_same_file(path, chosen))
      continue;
    describe_mpi(path, one, sizeof one);
    snprintf(text + used, size - used, "; also %s", one);
  }
}

static void examine_mpi(sfctl_report_t *report)
{
  sfrun_options_t options = {0};
  char path[PATH_MAX], chosen[160], others[320];
  if (sfrun_mpi_find(&options, path) != SF_OK) {
    sfctl_report_add(report, "mpi", SFCTL_WARNING, "%s", sfshm_error_detail());
    sfctl_report_advise(report, "install openmpi-bin or mpich for programs that use MPI; sfrun --launcher local needs "
                                "none");
    return;
  }
  sfrun_mpi_t mpi = describe_mpi(path, chosen, sizeof chosen);
  describe_others(path, others, sizeof others);
  sfctl_report_add(report, "mpi", mpi != SFRUN_MPI_UNKNOWN ? SFCTL_FINE : SFCTL_WARNING, "%s%s", chosen, others);
  if (mpi == SFRUN_MPI_UNKNOWN)
    sfctl_report_advise(report, "name the mpirun of Open MPI, MPICH or Intel MPI by SFRUN_MPIRUN or sfrun --mpirun");
}

void sfctl_doctor_examine_programs(sfctl_report_t *report)
{
  examine_sfd_and_plugins(report);
  examine_library(report);
  examine_mpi(report);
}
