/* Writes JSON to a stream as it is told. No memory of its own; write errors stay in the stream (ferror). */
#ifndef SFCTL_PRINT_JSON_H
#define SFCTL_PRINT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Start with {.file = file}. The writer adds commas, puts each element of an outermost array on a line of its own, and
 * ends the line after the outermost value. */
typedef struct sfctl_json {
  FILE *file;
  int depth;    /* of open objects and arrays */
  bool follows; /* something stands before in the innermost of them */
} sfctl_json_t;

/* name: of the member in an object; NULL in an array and for the outermost value. */
void sfctl_json_begin_object(sfctl_json_t *json, const char *name);
void sfctl_json_end_object(sfctl_json_t *json);
void sfctl_json_begin_array(sfctl_json_t *json, const char *name);
void sfctl_json_end_array(sfctl_json_t *json);

/* Control characters are escaped; each byte that is not part of valid UTF-8 becomes U+FFFD. NULL is written as null. */
void sfctl_json_string(sfctl_json_t *json, const char *name, const char *text);
void sfctl_json_int(sfctl_json_t *json, const char *name, int64_t value);
void sfctl_json_uint(sfctl_json_t *json, const char *name, uint64_t value);
void sfctl_json_double(sfctl_json_t *json, const char *name, double value); /* null if not finite; 3 decimals */
void sfctl_json_bool(sfctl_json_t *json, const char *name, bool value);
void sfctl_json_null(sfctl_json_t *json, const char *name);

#endif
