# Turns a header's plain comments into what Doxygen reads: "//" before a declaration, "  //" behind a member, and the C headers'
# "/*". Signs that mean something to Doxygen are escaped: comments are prose.
function escape(text) {
  gsub(/\\/, "\\\\\\\\", text)
  gsub(/[<>@#&%]/, "\\\\&", text)
  gsub(/"/, "\\\"", text)
  return text
}
BEGIN { in_block = 0 }
FNR == 1 && /^\/\// { print "/// \\file"; print "///" }
FNR == 1 && /^\/\*/ { print "/** \\file */" }
# Specialisations of other libraries' templates, whose scope Doxygen does not know, are no part of the reference.
/^template <>$/ { held = $0; next }
held != "" {
  if ($0 ~ /^struct (std|fmt)::/) in_foreign = 1
  else print held
  held = ""
}
in_foreign { if (/^\};/) in_foreign = 0; next }
in_block {
  end = index($0, "*/")
  if (end) { in_block = 0; print escape(substr($0, 1, end - 1)) substr($0, end) } else print escape($0)
  next
}
/^[[:space:]]*\/\// {
  match($0, /^[[:space:]]*\/\/+/)
  print substr($0, 1, RLENGTH - 2) "///" escape(substr($0, RLENGTH + 1))
  next
}
/^[[:space:]]*\/\*/ {
  start = index($0, "/*")
  rest = substr($0, start + 2)
  end = index(rest, "*/")
  if (end) print substr($0, 1, start - 1) "/**" escape(substr(rest, 1, end - 1)) substr(rest, end)
  else { in_block = 1; print substr($0, 1, start - 1) "/**" escape(rest) }
  next
}
match($0, /[^[:space:]"] +\/\/ /) {
  at = RSTART + RLENGTH - 3
  print substr($0, 1, at - 1) "///<" escape(substr($0, at + 2))
  next
}
match($0, /[;,{}] +\/\* .*\*\/$/) {
  at = index($0, "/*")
  body = substr($0, at + 2, length($0) - at - 3)
  print substr($0, 1, at - 1) "/**<" escape(body) "*/"
  next
}
{ print }
