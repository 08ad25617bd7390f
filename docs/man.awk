# A page for man(1) out of what `weft COMMAND --help` prints, unwrapped: -v name=audit -v summary="…" -v version=0.1.0.
# The text up to the options is the description, then options and their groups, then what stands behind them; lines that are indented
# there are examples, with their blanks kept.

function plain(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); if (text ~ /^[.']/) text = "\\\\&" text; return text }
function section(title) { if (now != title) print ".SH " title; now = title }

BEGIN {
  printf ".TH WEFT%s 1 \"\" \"weft %s\" \"Weft\"\n", name == "" ? "" : "\\-" toupper(name), version
  print ".SH NAME\nweft" (name == "" ? "" : "\\-" name) " \\- " plain(summary)
  part = "usage"
}

part == "usage" {
  sub(/^Usage: /, "")
  print ".SH SYNOPSIS\n.B " plain($0) "\n.SH DESCRIPTION"
  now = "DESCRIPTION"
  part = "description"
  next
}

part == "description" && (/^ +-[-a-zA-Z?]/ || /^ [A-Z].*:$/) { part = "options"; section("OPTIONS") }

part == "options" && /^ +-/ {
  line = $0
  sub(/^ +/, "", line)
  at = match(line, /  +/)
  print ".TP\n.B " plain(at ? substr(line, 1, at - 1) : line)
  if (at) print plain(substr(line, at + RLENGTH))
  next
}
part == "options" && /^ [A-Z]/ { sub(/^ /, ""); print ".PP\n" plain($0); next }
part == "options" && /^$/ { next }
part == "options" { part = "behind"; if (!/^(Exit status|Examples?):/) section("NOTES") }

part == "behind" && /^Exit status: / { section("EXIT STATUS"); sub(/^Exit status: /, "") }
part == "behind" && /^Examples?:/ { section("EXAMPLES"); next }

/^  / { if (!kept) print ".PP\n.nf"; kept = 1; print plain($0); next }
{ if (kept) print ".fi"; kept = 0 }
/^$/ { print ".PP"; next }
{ print plain($0) }

END {
  if (kept) print ".fi"
  print ".SH SEE ALSO"
  n = split(also, other, " ")
  for (i = 1; i <= n; i++) print ".BR " plain(other[i]) " (1)" (i < n ? "," : "")
}
