/* Standard input, output and error of a program of ours. */
#ifndef SFSHM_STANDARD_H
#define SFSHM_STANDARD_H

/* Takes the place of those that whoever started the program has closed: else the next socket, pipe or file would get
 * their number, and what the program prints would go there. Reading and writing them is still the error EBADF. First in
 * main, before anything is opened. */
void sfshm_standard_hold(void);

#endif
