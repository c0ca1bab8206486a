/* Cutting text so that it fits a column or a line of the terminal. */
#ifndef SFCTL_PRINT_CLIP_H
#define SFCTL_PRINT_CLIP_H

#include <stddef.h>

/* Writes text, which is ASCII, to clipped, which holds size bytes: as it is if it has at most width characters, else
 * its beginning and its end with ".." between them, since names often differ in their end. Returns clipped. */
const char *sfctl_clip_middle(const char *text, int width, char *clipped, size_t size);

/* Bytes of the first width characters of text, which is UTF-8. */
int sfctl_clip_bytes(const char *text, int width);

/* Columns of the terminal at standard output; 0: it is none, or does not tell. */
int sfctl_clip_terminal_width(void);

#endif
