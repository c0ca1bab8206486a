/* Figures and foreign text for people. */
#ifndef SFREPORT_TEXT_H
#define SFREPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SFREPORT_TEXT_SIZE 32

/* "0 B", "1023 B", "1.5 KiB", up to EiB, to one decimal. Return buffer. */
const char *sfreport_text_bytes(uint64_t bytes, char buffer[SFREPORT_TEXT_SIZE]);

/* "1.2 s", "42 s", "3 min 05 s", "2 h 10 min", "4 d 03 h"; "-" for what is no duration. */
const char *sfreport_text_duration(double seconds, char buffer[SFREPORT_TEXT_SIZE]);

/* The text with whatever is not printable ASCII as \n, \t or \xHH, so that no name can command a terminal; as much as
 * fits. Returns buffer. */
const char *sfreport_text_printable(const char *text, char *buffer, size_t size_bytes);

/* Bytes that sfreport_text_printable needs at most. */
#define SFREPORT_PRINTABLE_SIZE(length) (4 * (length) + 1)

/* Prints the text, which begins at the column indent, and a newline: what would go beyond 80 columns begins new lines,
 * which are indented as far. */
void sfreport_text_wrap(const char *text, int indent, FILE *file);

/* Prints "program: text" to stderr, so: of what is said of errors parts may be of files, or of others. */
void sfreport_text_complain(const char *program, const char *text);

/* Length of the valid UTF-8 sequence (RFC 3629: shortest form, no surrogates, at most U+10FFFF) at text; 0 if there is
 * none. Stops at the terminating 0, which continues nothing. */
size_t sfreport_text_utf8_length(const char *text);

#endif
