/* Standard input, output and error of our programs. */
#ifndef SFSHM_BASE_STANDARD_H
#define SFSHM_BASE_STANDARD_H

/* Occupies descriptors 0 to 2 that the parent process has closed. Otherwise the next socket, pipe or file would get one
 * of these numbers, and program output would go there. Reading and writing them still fails with EBADF. Call first in
 * main, before opening anything. */
void sfshm_standard_hold(void);

#endif
