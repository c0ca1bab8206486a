/* Numbers of jobs and graphs, which over several nodes have 16 digits and more, by their last digits. */
#ifndef SFCTL_PRINT_SHORT_ID_H
#define SFCTL_PRINT_SHORT_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

#define SFCTL_ID_SIZE 24

/* The numbers in JobInfo and GraphInfo messages, for the caller to free. NULL: no memory. */
uint64_t *sfctl_id_list(const sfreport_list_t *list);

/* The least number of last digits, 4 or more, by which those of the n numbers differ that are different. */
int sfctl_id_digits(const uint64_t *ids, size_t n);

/* So many of its last digits; all, if it has few, or if digits is 0. */
const char *sfctl_id_text(uint64_t id, int digits, char text[SFCTL_ID_SIZE]);

/* Whether the word means that number: all of it, or at least the last four digits. Exact matches go before others. */
typedef enum sfctl_id_match { SFCTL_ID_OTHER, SFCTL_ID_END, SFCTL_ID_ALL } sfctl_id_match_t;
sfctl_id_match_t sfctl_id_match(uint64_t id, const char *word);

/* Which of the n numbers, of which some may be the same, the word means; 0: none. SF_ERR_ARG: it is the end of several.
 */
sf_status_t sfctl_id_find(const uint64_t *ids, size_t n, const char *word, uint64_t *id_p);

#endif
