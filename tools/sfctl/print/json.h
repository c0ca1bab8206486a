/* JSON as a stream. Owns no memory; write errors stay in the stream (ferror). */
#ifndef SFCTL_PRINT_JSON_H
#define SFCTL_PRINT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/sfctl/print/value.h"

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

/* Writes a value; unknown: null. Strings: escapes control characters; bytes that are not valid UTF-8 become U+FFFD.
 * Doubles: 3 decimals; null if not finite. */
void sfctl_json_put(sfctl_json_t *json, const char *name, sfctl_value_t value);
void sfctl_json_put_numbers(sfctl_json_t *json, const char *name, const int32_t numbers[], size_t n);

typedef struct sfctl_member {
  const char *name;
  sfctl_value_t value;
} sfctl_member_t;

/* Members: with that name; if it is known; a field of a struct; a field of a message that has it. */
#define SFCTL_MEMBER(name, x) ((sfctl_member_t){(name), SFCTL_VALUE(x)})
#define SFCTL_MEMBER_IF(name, known, x) ((sfctl_member_t){(name), sfctl_if(known, SFCTL_VALUE(x))})
#define SFCTL_FIELD(of, field) SFCTL_MEMBER(#field, (of)->field)
#define SFCTL_OPTIONAL(of, field) SFCTL_MEMBER_IF(#field, (of)->has_##field, (of)->field)

/* sfctl_json_add(json, SFCTL_FIELD(info, rank), ...) writes members of the open object; sfctl_json_object(json, name,
 * SFCTL_FIELD(info, rank), ...) writes a complete object. */
#define SFCTL_MEMBERS(...)                                                                                             \
  (const sfctl_member_t[]){__VA_ARGS__}, sizeof((const sfctl_member_t[]){__VA_ARGS__}) / sizeof(sfctl_member_t)
#define sfctl_json_add(json, ...) sfctl_json_put_members(json, SFCTL_MEMBERS(__VA_ARGS__))
#define sfctl_json_object(json, name, ...) sfctl_json_put_object(json, name, SFCTL_MEMBERS(__VA_ARGS__))
void sfctl_json_put_members(sfctl_json_t *json, const sfctl_member_t members[], size_t n);
void sfctl_json_put_object(sfctl_json_t *json, const char *name, const sfctl_member_t members[], size_t n);

#endif
