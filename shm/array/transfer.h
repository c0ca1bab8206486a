/* Moving the elements of a box between the part of an array and a buffer of any strides. Any thread. */
#ifndef SFSHM_ARRAY_TRANSFER_H
#define SFSHM_ARRAY_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "shm/array/accumulate.h"
#include "shm/array/distribution.h"

/* Functions that copy rows from buffer to part (put) or from part to buffer. unit_bytes: 1, 2, 4, 8 or 16. */
sfshm_array_row_t *sfshm_array_put_row(uint32_t unit_bytes);
sfshm_array_row_t *sfshm_array_get_row(uint32_t unit_bytes);

/* Copies rows of so many bytes, whose starts are to_step and from_step bytes apart. */
void sfshm_array_copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t nrows, size_t bytes);

/* part: element 0 of the part. buffer: where the patch begins; step[d]: distance of neighbours along dimension d in the
 * buffer, in elements, step[ndims - 1] being 1. step NULL: the buffer has only the elements of the box, row-major. */

/* Moves the elements of the box by rows of one of the functions above, or of sfshm_array_arithmetic, with alpha. */
void sfshm_array_move(const sfshm_array_t *array, const sfshm_array_box_t *box, void *part, const void *buffer,
                      const int64_t step[], sfshm_array_row_t *row, const void *alpha);

/* Box of a dense copy of the given box: a part without other elements. */
void sfshm_array_box_alone(const sfshm_array_t *array, const sfshm_array_box_t *box, sfshm_array_box_t *alone_p);

#endif
