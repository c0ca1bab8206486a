/* Texts with input of clients: bounded and printable. */
#ifndef SFD_BASE_TEXT_H
#define SFD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFD_TEXT_SIZE 512

/* Copies a string (NULL: ""), cut to fit; '?' replaces what is not printable ASCII. */
void sfd_text_printable(char *to, size_t to_size, const char *from);

/* Whether text has 1 to 255 printable ASCII characters; NULL has not. */
bool sfd_text_is_name(const char *text);

/* Appends by a printf format, cut to fit. */
void sfd_text_append(char *text, size_t text_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Lists the numbers of 0..n-1 for which chosen is true as "1, 3-5, 9"; "..." ends a long list. */
void sfd_text_ranges(char *text, size_t text_size, int32_t n, bool (*chosen)(const void *context, int32_t i),
                     const void *context);

#endif
