/* Short ids: over several nodes ids of jobs and graphs have 16 digits or more, and their last digits are printed. */
#ifndef SFCTL_PRINT_SHORT_ID_H
#define SFCTL_PRINT_SHORT_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

#define SFCTL_ID_SIZE 24

/* Ids of JobInfo, GraphInfo and ArrayInfo messages; free them. NULL: no memory. */
uint64_t *sfctl_id_list(const sfreport_list_t *list);

/* The least number of last digits, at least 4, that distinguishes the ids. */
int sfctl_id_digits(const uint64_t *ids, size_t n);

/* The last digits; all of few, or if digits is 0. */
const char *sfctl_id_text(uint64_t id, int digits, char text[SFCTL_ID_SIZE]);

/* Whether the word means the id: all of it, or at least its last four digits. Exact matches go first. */
typedef enum sfctl_id_match { SFCTL_ID_OTHER, SFCTL_ID_END, SFCTL_ID_ALL } sfctl_id_match_t;
sfctl_id_match_t sfctl_id_match(uint64_t id, const char *word);

/* The id that a word means; 0: none. Ids may be repeated. SF_ERR_ARG: several end so. */
sf_status_t sfctl_id_find(const uint64_t *ids, size_t n, const char *word, uint64_t *id_p);

#endif
