/* Arrays, for people and as JSON. */
#ifndef SFCTL_PRINT_ARRAYS_H
#define SFCTL_PRINT_ARRAYS_H

#include "proto/report/list.h"
#include "tools/sfctl/print/print.h"

/* Of ArrayInfo messages. digits: of numbers of graphs, 0: all. SF_ERR_NOMEM. */
sf_status_t sfctl_print_arrays(const sfreport_list_t *list, int digits, const sfctl_print_style_t *style, FILE *file);

/* The members of an object that has been begun. */
void sfctl_print_array_json(sfctl_json_t *json, const Sfproto__ArrayInfo *info);

#endif
