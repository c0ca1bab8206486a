/* Running sfctl from system tests. */
#ifndef SFTEST_SFCTL_H
#define SFTEST_SFCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SFTEST_SFCTL_MAX_OUTPUT 131072

#define WORDS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

typedef struct sftest_sfctl {
  pid_t pid;
  int out_fd, err_fd;
} sftest_sfctl_t;

/* What the run that ended last has written, and its exit status. */
extern char sftest_sfctl_out[SFTEST_SFCTL_MAX_OUTPUT], sftest_sfctl_err[SFTEST_SFCTL_MAX_OUTPUT];
extern int sftest_sfctl_code;

/* Starts sfctl with these words, SF_SOCKET being socket. Its output goes to the file at out_path, NULL: is kept. */
void sftest_sfctl_start(sftest_sfctl_t *run, const char *socket, const char *const words[], const char *out_path);

/* Waits until it has ended, which must be soon. */
void sftest_sfctl_finish(sftest_sfctl_t *run);

/* Fails the test unless the last run had that exit status. Success says nothing on standard error; failure says one
 * line there, and nothing on standard output. */
void sftest_sfctl_expect(int code);

/* All in one. */
void sftest_sfctl(const char *socket, const char *const words[], int code);

/* The same, which must succeed, again and again until the text is in the output; fails the test after a while. */
void sftest_sfctl_await(const char *socket, const char *const words[], const char *wanted);

void sftest_expect_in(const char *text, const char *wanted);
int sftest_count_lines(const char *text);

/* In the output: the member of the object that stands on the first line which contains the fragment. */
uint64_t sftest_sfctl_number(const char *fragment, const char *member);

/* Whether sfctl plan says that of a pair of ranks with edges on the first graph that there is. */
bool sftest_sfctl_pair_is(const char *socket, int32_t from, int32_t to, const char *member, const char *value);

#endif
