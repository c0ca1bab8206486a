/* Clipping of text to a column or a line of the terminal. */
#ifndef SFCTL_PRINT_CLIP_H
#define SFCTL_PRINT_CLIP_H

#include <stddef.h>

/* Writes ASCII text to clipped (size bytes): complete if it has at most width characters, else its begin and end with
 * ".." between, as names often differ at the end. Returns clipped. */
const char *sfctl_clip_middle(const char *text, int width, char *clipped, size_t size);

/* Bytes of the first width characters of UTF-8 text. */
int sfctl_clip_bytes(const char *text, int width);

/* Columns of the terminal at standard output; 0: no terminal, or not known. */
int sfctl_clip_terminal_width(void);

#endif
