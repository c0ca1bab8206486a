/* Copy costs that are kept for the next start of a daemon: where they are, and which of them are not believed. */
#include "daemon/base/copy_costs_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/runner.h"

#define WRITES 200
#define DAY_S (24 * 3600)

static const sfshm_costs_t costs = {1, 1000000000, 3, 4, 5, 6, 7, .measured = 1, .nontemporal = SFSHM_NONTEMPORAL_ALL};
static char root[] = "/tmp/sftest-costs-XXXXXX"; /* the home directory */
static char host[256], path[512];

static void setup(void)
{
  ck_assert_ptr_nonnull(mkdtemp(root));
  ck_assert_int_eq(gethostname(host, sizeof host), 0);
  unsetenv("CACHE_DIRECTORY");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", root, 1);
  snprintf(path, sizeof path, "%s/.cache/sfd/copy-costs.%s", root, host);
}

static void teardown(void)
{
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  ck_assert_int_eq(system(command), 0);
}

SFTEST_FIXTURE(setup, teardown);

static bool load(sfshm_costs_t *found)
{
  *found = (sfshm_costs_t){0};
  if (sfd_copy_costs_load(found))
    return true;
  ck_assert_mem_eq(found, &(sfshm_costs_t){0}, sizeof *found);
  return false;
}

static void expect_kept(void)
{
  sfshm_costs_t found;
  ck_assert(load(&found));
  ck_assert_mem_eq(&found, &costs, sizeof costs);
}

static void expect_ignored(const char *what)
{
  sfshm_costs_t found;
  ck_assert_msg(!load(&found), "believed: %s", what);
}

static void save(void)
{
  ck_assert(sfd_copy_costs_save(&costs));
  expect_kept();
}

static void expect_at(const char *directory)
{
  char expected[512];
  snprintf(expected, sizeof expected, "%s/copy-costs.%s", directory, host);
  ck_assert_int_ne(access(expected, F_OK), 0);
  save();
  ck_assert_int_eq(access(expected, F_OK), 0);
}

static void expect_mode(const char *name, mode_t mode)
{
  struct stat facts;
  ck_assert_int_eq(stat(name, &facts), 0);
  ck_assert_uint_eq(facts.st_mode & 07777, mode);
}

static int count_files(const char *directory)
{
  int count = 0;
  DIR *stream = opendir(directory);
  ck_assert_ptr_nonnull(stream);
  while (readdir(stream))
    count++;
  closedir(stream);
  return count - 2;
}

static void write_file(const char *text)
{
  FILE *file = fopen(path, "we");
  ck_assert_ptr_nonnull(file);
  ck_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void read_file(char text[1024])
{
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, 1023, file)] = '\0';
  fclose(file);
}

SFTEST(what_is_kept_is_found_again)
{
  char directory[64];
  snprintf(directory, sizeof directory, "%s/.cache", root);
  expect_ignored("nothing");
  ck_assert_int_eq(access(directory, F_OK), -1); /* a reader makes nothing */
  umask(0);
  save();
  expect_mode(directory, 0700);
  expect_mode(path, 0600);
  snprintf(directory, sizeof directory, "%s/.cache/sfd", root);
  expect_mode(directory, 0700);
  sfshm_costs_t other = costs, found;
  other.handshake_ps = 77;
  ck_assert(sfd_copy_costs_save(&other) && load(&found));
  ck_assert_mem_eq(&found, &other, sizeof other);
  ck_assert_int_eq(count_files(directory), 1);
}

SFTEST(variables_say_where)
{
  char variable[64], directory[80];
  save();
  setenv("XDG_CACHE_HOME", "relative", 1);
  expect_kept();
  snprintf(variable, sizeof variable, "%s/xdg", root);
  setenv("XDG_CACHE_HOME", variable, 1);
  snprintf(directory, sizeof directory, "%s/sfd", variable);
  expect_at(directory);
  snprintf(variable, sizeof variable, "%s/system", root);
  setenv("CACHE_DIRECTORY", variable, 1);
  if (geteuid() == 0)
    expect_at(variable);
  expect_kept();
  ck_assert_int_eq(access(variable, F_OK), geteuid() == 0 ? 0 : -1);
}

SFTEST(nowhere_to_keep_them)
{
  unsetenv("HOME");
  ck_assert(!sfd_copy_costs_save(&costs));
  expect_ignored("without HOME");
  setenv("HOME", "relative", 1);
  ck_assert(!sfd_copy_costs_save(&costs));
  char missing[64];
  snprintf(missing, sizeof missing, "%s/not/made", root);
  setenv("HOME", missing, 1);
  ck_assert(!sfd_copy_costs_save(&costs));
  ck_assert_int_eq(count_files(root), 0);
  setenv("XDG_CACHE_HOME", "/dev/null", 1); /* not even root can write there */
  ck_assert(!sfd_copy_costs_save(&costs));
  expect_ignored("/dev/null");
}

SFTEST(what_cannot_be_replaced_leaves_no_file)
{
  save();
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  ck_assert(!sfd_copy_costs_save(&costs));
  expect_ignored("a directory");
  *strrchr(path, '/') = '\0';
  ck_assert_int_eq(count_files(path), 1);
}

/* Root can write everywhere: the child is another user, who owns it all. */
static int in_unwritable(const char *const owned[4])
{
  for (int i = 0; i < 4 && geteuid() == 0; i++)
    if (chown(owned[i], 65534, 65534) != 0)
      return 3;
  if (geteuid() == 0 && setuid(65534) != 0)
    return 3;
  sfshm_costs_t found;
  return sfd_copy_costs_save(&costs) ? 2 : load(&found) ? 0 : 1;
}

SFTEST(an_unwritable_directory)
{
  char cache[64], directory[64];
  int status;
  snprintf(cache, sizeof cache, "%s/.cache", root);
  snprintf(directory, sizeof directory, "%s/.cache/sfd", root);
  save();
  ck_assert_int_eq(chmod(directory, 0500), 0);
  pid_t child = fork();
  if (child == 0)
    _exit(in_unwritable((const char *const[]){root, cache, directory, path}));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_int_eq(chmod(directory, 0700), 0); /* so that it can be removed */
}

SFTEST(files_and_directories_of_others)
{
  char directory[64], elsewhere[64];
  save();
  static const mode_t modes[] = {0620, 0602};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    ck_assert_int_eq(chmod(path, modes[i]), 0);
    expect_ignored("others can write to the file");
  }
  ck_assert_int_eq(chmod(path, 0644), 0);
  expect_kept();
  snprintf(directory, sizeof directory, "%s/.cache/sfd", root);
  ck_assert_int_eq(chmod(directory, 0770), 0);
  expect_ignored("others can write to the directory");
  ck_assert(!sfd_copy_costs_save(&costs));
  ck_assert_int_eq(chmod(directory, 0755), 0);
  expect_kept();
  snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
  ck_assert(rename(directory, elsewhere) == 0 && symlink(elsewhere, directory) == 0);
  expect_ignored("a directory that is a link");
  ck_assert(!sfd_copy_costs_save(&costs));
  ck_assert(unlink(directory) == 0 && rename(elsewhere, directory) == 0);
  ck_assert(rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0);
  expect_ignored("a link");
  ck_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
  expect_ignored("a pipe");
  save();
  if (geteuid() != 0) {
    puts("part skipped: files of other users, which needs root");
    return;
  }
  ck_assert_int_eq(chown(path, 65534, 65534), 0);
  expect_ignored("a file of another user");
  save();
  ck_assert_int_eq(chown(directory, 65534, 65534), 0);
  expect_ignored("a directory of another user");
  ck_assert(!sfd_copy_costs_save(&costs));
}

SFTEST(for_a_day)
{
  save();
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - DAY_S / 2}};
  ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
  expect_kept();
  times[1].tv_sec = time(NULL) - DAY_S - 1;
  ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
  expect_ignored("an old file");
  times[1].tv_sec = time(NULL) + 2 * DAY_S;
  ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
  expect_ignored("a file of the future");
}

/* The file with what replaced by text. */
static void expect_refused(const char *file, const char *what, const char *text)
{
  char changed[2048];
  const char *at = strstr(file, what);
  ck_assert_ptr_nonnull(at);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - file), file, text, at + strlen(what));
  write_file(changed);
  expect_ignored(changed);
}

SFTEST(other_contents)
{
  static const char figures[] = "\n1\n1000000000\n3\n4\n5\n6\n7\n1\n2\n";
  char file[1024], long_text[1025];
  save();
  read_file(file);
  write_file(file);
  expect_kept();
  for (const char *end = file; *end != '\0'; end++)
    expect_refused(file, end, "");
  for (char *byte = file; *byte != '\n'; byte++) { /* what the figures are of */
    *byte ^= 1;
    write_file(file);
    expect_ignored(file);
    *byte ^= 1;
  }
  static const char *const bad[] = {
      "\n0\n1000000000\n3\n4\n5\n6\n7\n1\n2\n",          "\n1\n1000000001\n3\n4\n5\n6\n7\n1\n2\n",
      "\n1\n1000000000\n3\n4\n5\n6\n7\n0\n2\n",          "\n1\n1000000000\n3\n4\n5\n6\n7\n2\n2\n",
      "\n1\n1000000000\n3\n4\n5\n6\n7\n1\n3\n",          "\n1\n1000000000\n3\n4\n5\n6\n-7\n1\n2\n",
      "\n1\n1000000000\n3\n4\n5\n6\n+7\n1\n2\n",         "\n1\n1000000000\n3\n4\n5\n6\n07\n1\n2\n",
      "\n1\n1000000000\n3\n4\n5\n6\nx\n1\n2\n",          "\n4294967297\n1000000000\n3\n4\n5\n6\n7\n1\n2\n",
      "\n1 1000000000\n3\n4\n5\n6\n7\n1\n2\n",           "\n1\n1000000000\n3\n4\n5\n6\n7\n1\n2\n3\n",
      "\n1\n1000000000\n3\n4\n5\n6\n7\n1\n2\n\n",        "\n1\n1000000000\n3\n4\n5\n6\n7\n1\n",
      "\n18446744073709551617\n2\n3\n4\n5\n6\n7\n1\n2\n"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    expect_refused(file, figures, bad[i]);
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = '\0';
  write_file(long_text);
  expect_ignored("a long line");
}

/* Readers find the costs of one writer or the other. */
SFTEST(two_writers)
{
  char directory[64];
  save();
  pid_t children[2];
  for (int i = 0; i < 2; i++) {
    sfshm_costs_t other = costs;
    other.local_line_ps = other.handshake_ps = (uint32_t)i + 11;
    children[i] = fork();
    if (children[i] == 0) {
      bool done = true;
      for (int k = 0; k < WRITES; k++)
        done = sfd_copy_costs_save(&other) && done;
      _exit(!done);
    }
  }
  for (int ended = 0; ended < 2;) {
    sfshm_costs_t found;
    int status = 0;
    if (waitpid(children[ended], &status, WNOHANG) != 0)
      ended++;
    ck_assert_int_eq(status, 0);
    ck_assert(load(&found));
    ck_assert(memcmp(&found, &costs, sizeof costs) == 0 ||
              (found.local_line_ps >= 11 && found.local_line_ps <= 12 && found.local_line_ps == found.handshake_ps));
  }
  snprintf(directory, sizeof directory, "%s/.cache/sfd", root);
  ck_assert_int_eq(count_files(directory), 1);
}

/* What other work has disturbed is not kept. */
SFTEST(a_start_measures_unless_they_are_kept)
{
  sfshm_costs_t found, kept;
  save();
  sfd_copy_costs_find(false, &found);
  ck_assert_mem_eq(&found, &costs, sizeof costs);
  sfd_copy_costs_find(true, &found);
  ck_assert_mem_ne(&found, &costs, sizeof costs);
  ck_assert(load(&kept));
  if (found.measured == 0 || memcmp(&kept, &found, sizeof kept) != 0)
    expect_kept();
  ck_assert_int_eq(unlink(path), 0);
  sfd_copy_costs_find(false, &found);
  if (load(&kept))
    ck_assert_mem_eq(&kept, &found, sizeof kept);
}
