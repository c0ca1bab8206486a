/* Texts for people: figures, foreign text, wrapping. */
#ifndef SFREPORT_TEXT_H
#define SFREPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SFREPORT_TEXT_SIZE 32

/* "0 B", "1023 B", "1.5 KiB", up to EiB, to one decimal. Return buffer. */
const char *sfreport_text_bytes(uint64_t bytes, char buffer[SFREPORT_TEXT_SIZE]);

/* "1.2 s", "42 s", "3 min 05 s", "2 h 10 min", "4 d 03 h"; "-" if not a duration. */
const char *sfreport_text_duration(double seconds, char buffer[SFREPORT_TEXT_SIZE]);

/* Replaces all but printable ASCII by \n, \t or \xHH, so that names can't control a terminal; cut to fit. Returns
 * buffer. */
const char *sfreport_text_printable(const char *text, char *buffer, size_t size_bytes);

/* Longest result of sfreport_text_printable. */
#define SFREPORT_PRINTABLE_SIZE(length) (4 * (length) + 1)

/* Prints text that begins at column indent, wrapped at 80 columns and indented, and a newline. */
void sfreport_text_wrap(const char *text, int indent, FILE *file);

/* Prints "program: text" to stderr, made printable, as errors may quote foreign text. */
void sfreport_text_complain(const char *program, const char *text);

/* Length of the valid UTF-8 sequence (RFC 3629) at text; 0: none. Stops at the final 0. */
size_t sfreport_text_utf8_length(const char *text);

#endif
