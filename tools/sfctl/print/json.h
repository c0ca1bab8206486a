/* JSON as a stream. Owns no memory; write errors stay in the stream (ferror). */
#ifndef SFCTL_PRINT_JSON_H
#define SFCTL_PRINT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Start with {.file = file}. Commas are added; elements of an outermost array get lines of their own; the outermost
 * value ends the line. */
typedef struct sfctl_json {
  FILE *file;
  int depth;    /* open objects and arrays */
  bool follows; /* the innermost is not empty */
} sfctl_json_t;

/* name: of a member of an object; else NULL. */
void sfctl_json_begin_object(sfctl_json_t *json, const char *name);
void sfctl_json_end_object(sfctl_json_t *json);
void sfctl_json_begin_array(sfctl_json_t *json, const char *name);
void sfctl_json_end_array(sfctl_json_t *json);

/* Escapes control characters; bytes that are not valid UTF-8 become U+FFFD. NULL is written as null. */
void sfctl_json_string(sfctl_json_t *json, const char *name, const char *text);
void sfctl_json_int(sfctl_json_t *json, const char *name, int64_t value);
void sfctl_json_uint(sfctl_json_t *json, const char *name, uint64_t value);
void sfctl_json_double(sfctl_json_t *json, const char *name, double value); /* null if not finite; 3 decimals */
void sfctl_json_bool(sfctl_json_t *json, const char *name, bool value);
void sfctl_json_null(sfctl_json_t *json, const char *name);

#endif
