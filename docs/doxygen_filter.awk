# Shows the public headers to Doxygen, which knows comments for it by another beginning. awk -f this HEADER
#
#   - A comment before a declaration documents all declarations up to the next blank line.
#   - A comment behind a member, value or declaration documents that.
#   - The first comment of a file, and comments before a blank line, are about the file.
#   - The table of status codes becomes the enumeration that the compiler sees.

# What is special to Doxygen, made literal.
function literal(text) {
  gsub(/[\\@<>&#%"]/, "\\\\&", text)
  return text
}

# The line with comments behind code turned, and the text of comments made literal.
function with_comment(line,    at) {
  at = match(line, /\/\* /)
  if (at == 0)
    return line
  return substr(line, 1, at - 1) (substr(line, 1, at - 1) ~ /^ *$/ ? "/** " : "/**< ") \
         literal(substr(line, at + 3))
}

# Whether text ends within a comment that it began.
function opens_comment(text) {
  return match(text, /\/\*/) && text !~ /\*\/ *$/
}

# Ends a comment that began in the first column, when the next line is known.
function settle(next_line) {
  if (comment == "")
    return
  if (next_line ~ /^$/ || first) {
    print "/** @file\n" comment
    documentation = ""
  } else {
    documentation = "/** " comment
    fresh = 1
  }
  first = 0
  comment = ""
}

BEGIN {
  first = 1
}

# ---- Comments in the first column ----

in_comment {
  comment = comment "\n" literal($0)
  in_comment = $0 !~ /\*\/$/
  next
}

/^\/\* ----/ {
  settle("")
  documentation = ""
  print ""
  next
}

depth == 0 && /^\/\*/ {
  settle("x")
  comment = literal(substr($0, 4))
  in_comment = $0 !~ /\*\/$/
  next
}

{
  settle($0)
}

# ---- What Doxygen does not need ----

/^#ifdef __cplusplus/ {
  skipping = 1
}

skipping {
  skipping = $0 !~ /^#endif/
  next
}

/^  X\(/ {
  split($0, part, /[(,"]/)
  codes = codes "  " part[2] " =" part[3] ", /**< " part[5] " */\n"
  if (/[^\\]$/)
    print ""
  next
}

/^#define SF_STATUS_TABLE/ || /^#undef/ || /^ *SF_STATUS_TABLE/ {
  next
}

/^#define SF_STATUS_ENUM/ {
  printf "%s", codes
  next
}

# ---- Code ----

/^$/ {
  documentation = ""
  print
  next
}

# A new declaration.
depth == 0 && !within && documentation != "" && !/^#(if|el|end)/ {
  print documentation
}

in_member_comment {
  print literal($0)
  previous = $0
  in_member_comment = $0 !~ /\*\/ *$/
  next
}

# Doxygen does not miss comments of enumerators: it is given an unknown command there.
in_enum && /^  [A-Z][A-Z0-9_]*( = [^,]*)?,?$/ && previous !~ /\*\/ *$/ {
  $0 = $0 " /* \\this_is_not_documented */"
  sub(/\/\* /, "/**< ")
  print
  next
}

{
  print with_comment($0)
  previous = $0
  in_enum = (in_enum || /enum.*\{/) && !/^\}/
  in_member_comment = opens_comment($0)
  code = $0
  sub(/\/\*.*/, "", code)
  macro = (macro || code ~ /^#/) && code ~ /\\ *$/
  if (macro || code ~ /^#/ || was_macro) {
    within = macro
  } else {
    depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
    within = depth > 0 || code !~ /(;|^ *) *$/
  }
  was_macro = macro
}

END {
  settle("")
}
