/* The JSON writer: structure, exact numbers, and strings of any bytes. */
#include "tools/sfctl/print/json.h"

#include <math.h>

#include "tests/unit/runner.h"
#include "tests/unit/seed.h"

static char *text;
static size_t length;
static sfctl_json_t json;

static void begin(void)
{
  json = (sfctl_json_t){.file = open_memstream(&text, &length)};
  ck_assert_ptr_nonnull(json.file);
}

static void expect(const char *expected)
{
  fclose(json.file);
  ck_assert_str_eq(text, expected);
  free(text);
}

SFTEST(objects)
{
  begin();
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_put(&json, "a", sfctl_string("x"));
  sfctl_json_begin_object(&json, "b");
  sfctl_json_put(&json, "c", sfctl_int(-1));
  sfctl_json_end_object(&json);
  sfctl_json_begin_array(&json, "d");
  sfctl_json_put(&json, NULL, sfctl_int(1));
  sfctl_json_put(&json, NULL, sfctl_int(2));
  sfctl_json_end_array(&json);
  sfctl_json_begin_array(&json, "e");
  sfctl_json_end_array(&json);
  sfctl_json_put(&json, "f", sfctl_bool(true));
  sfctl_json_put(&json, "g", sfctl_bool(false));
  sfctl_json_put(&json, "h", sfctl_string(NULL));
  sfctl_json_put(&json, "i", sfctl_string(NULL));
  sfctl_json_end_object(&json);
  expect("{\"a\":\"x\",\"b\":{\"c\":-1},\"d\":[1,2],\"e\":[],\"f\":true,\"g\":false,\"h\":null,\"i\":null}\n");
}

SFTEST(outermost_arrays)
{
  begin();
  sfctl_json_begin_array(&json, NULL);
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_put(&json, "a", sfctl_int(1));
  sfctl_json_end_object(&json);
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_end_object(&json);
  sfctl_json_end_array(&json);
  expect("[\n{\"a\":1},\n{}\n]\n");
  begin();
  sfctl_json_begin_array(&json, NULL);
  sfctl_json_end_array(&json);
  expect("[]\n");
}

SFTEST(numbers)
{
  begin();
  sfctl_json_begin_object(&json, NULL);
  sfctl_json_put(&json, "a", sfctl_int(INT64_MIN));
  sfctl_json_put(&json, "b", sfctl_uint(UINT64_MAX));
  sfctl_json_put(&json, "c", sfctl_double(1.5));
  sfctl_json_put(&json, "d", sfctl_double(NAN));
  sfctl_json_put(&json, "e", sfctl_double(-INFINITY));
  sfctl_json_end_object(&json);
  expect("{\"a\":-9223372036854775808,\"b\":18446744073709551615,\"c\":1.500,\"d\":null,\"e\":null}\n");
}

static void expect_string(const char *given, const char *expected)
{
  char line[256];
  begin();
  sfctl_json_put(&json, NULL, sfctl_string(given));
  snprintf(line, sizeof line, "\"%s\"\n", expected);
  expect(line);
}

SFTEST(escapes)
{
  expect_string("", "");
  expect_string("a\"b\\c/", "a\\\"b\\\\c/");
  expect_string("\b\f\n\r\t", "\\b\\f\\n\\r\\t");
  expect_string("\x01\x1f\x7f", "\\u0001\\u001f\\u007f");
  expect_string("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  expect_string("\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80", "\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80");
}

#define BAD "\\ufffd"

SFTEST(invalid_utf8)
{
  expect_string("a\x80z", "a" BAD "z");
  expect_string("\xff\xfe", BAD BAD);
  expect_string("\xc3", BAD);                         /* cut off */
  expect_string("\xe2\x82", BAD BAD);                 /* cut off */
  expect_string("\xe2\x82z", BAD BAD "z");            /* cut off */
  expect_string("\xc0\xaf", BAD BAD);                 /* overlong / */
  expect_string("\xe0\x9f\xbf", BAD BAD BAD);         /* overlong U+07FF */
  expect_string("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD); /* overlong U+FFFF */
  expect_string("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
  expect_string("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* U+110000 */
  expect_string("\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD);
}

/* ---- Any bytes: what is written decodes to what was given, or to U+FFFD ---- */

/* The code point at *at_p by the definition of UTF-8, and moves on; U+FFFD and one byte on if there is none. */
static unsigned long decode_utf8(const unsigned char **at_p)
{
  const unsigned char *at = *at_p;
  static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = at[0] < 0x80             ? 1
             : (at[0] & 0xe0) == 0xc0 ? 2
             : (at[0] & 0xf0) == 0xe0 ? 3
             : (at[0] & 0xf8) == 0xf0 ? 4
                                      : 0;
  unsigned long code = n == 1 ? at[0] : n > 1 ? at[0] & (0x7fu >> n) : 0;
  for (size_t i = 1; i < n; i++) {
    if ((at[i] & 0xc0) != 0x80) {
      n = 0;
      break;
    }
    code = code << 6 | (at[i] & 0x3fu);
  }
  bool valid = n > 0 && code >= least[n] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  *at_p += valid ? n : 1;
  return valid ? code : 0xfffd;
}

/* The code point that a JSON string has at *at_p, and moves on. */
static unsigned long decode_json(const unsigned char **at_p)
{
  static const char letters[] = "\"\\bfnrt", meanings[] = "\"\\\b\f\n\r\t";
  const unsigned char *at = *at_p;
  ck_assert_uint_ge(*at, 0x20);
  if (*at != '\\')
    return decode_utf8(at_p);
  if (at[1] == 'u') {
    char digits[5] = {0};
    memcpy(digits, at + 2, 4);
    ck_assert_uint_eq(strspn(digits, "0123456789abcdef"), 4);
    *at_p += 6;
    return strtoul(digits, NULL, 16);
  }
  const char *letter = strchr(letters, at[1]);
  ck_assert(at[1] != '\0' && letter != NULL);
  *at_p += 2;
  return (unsigned char)meanings[letter - letters];
}

/* Bytes that often form, or nearly form, sequences. */
static void make_bytes(uint64_t *state, unsigned char bytes[], size_t n)
{
  static const unsigned char leads[] = {0xc2, 0xe0, 0xe1, 0xed, 0xf0, 0xf4, 0xc0, 0xff, '"', '\\', 0x1f};
  for (size_t i = 0; i < n; i++) {
    uint64_t choice = sftest_random(state) % 3;
    bytes[i] = choice == 0   ? leads[sftest_random(state) % sizeof leads]
               : choice == 1 ? (unsigned char)(0x80 + sftest_random(state) % 0x40)
                             : (unsigned char)(1 + sftest_random(state) % 255);
  }
  bytes[n] = 0;
}

SFTEST(random_strings)
{
  uint64_t state = sftest_seed(20261103);
  for (int round = 0; round < 3000; round++) {
    unsigned char bytes[33];
    make_bytes(&state, bytes, sftest_random(&state) % 32);
    begin();
    sfctl_json_put(&json, NULL, sfctl_string((const char *)bytes));
    fclose(json.file);
    const unsigned char *given = bytes, *written = (const unsigned char *)text + 1;
    ck_assert_int_eq(text[0], '"');
    while (*given != 0)
      ck_assert_uint_eq(decode_json(&written), decode_utf8(&given));
    ck_assert_str_eq((const char *)written, "\"\n");
    free(text);
  }
}

SFTEST(errors_stay_in_the_stream)
{
  json = (sfctl_json_t){.file = fopen("/dev/full", "we")};
  ck_assert_ptr_nonnull(json.file);
  setvbuf(json.file, NULL, _IONBF, 0);
  sfctl_json_put(&json, NULL, sfctl_string("x"));
  ck_assert(ferror(json.file));
  fclose(json.file);
}
