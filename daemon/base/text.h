/* Texts that the daemon composes from what clients said: bounded, and printable whatever they sent. */
#ifndef SFD_BASE_TEXT_H
#define SFD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFD_TEXT_SIZE 512

/* Copies a string, NULL for "", cut to fit; whatever is not printable ASCII becomes '?'. */
void sfd_text_printable(char *to, size_t to_size, const char *from);

/* Whether it has 1 to 255 characters, all printable ASCII. NULL has none. */
bool sfd_text_is_name(const char *text);

/* Appends in printf's way, cut to fit. */
void sfd_text_append(char *text, size_t text_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Lists the numbers of 0..n-1 for which chosen says true, as "1, 3-5, 9", and "..." when there is much more. */
void sfd_text_ranges(char *text, size_t text_size, int32_t n, bool (*chosen)(const void *context, int32_t i),
                     const void *context);

#endif
