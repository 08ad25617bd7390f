# Counts checks in TAP, plain or as `ctest -V` shows it ("7: ok 1 - name"). Prints "PASSED FAILED" and writes what failed to the file
# -v failures=. A program that crashes, times out or prints fewer results than it announced counts as failed, whatever it printed.
# -v status= is the exit status of what wrote the log.

function fail(text) { failed++; print text > failures }

# Closes the account of one program: what it announced must have come.
function close_program(id, ok, label) {
  if (id in is_closed) return
  is_closed[id] = 1
  results = good[id] + bad[id]
  if (results < planned[id]) fail(label ": " planned[id] - results " of " planned[id] " checks gave no result")
  else if (!ok && !bad[id]) fail(label ": " how)
  else if (ok && bad[id]) fail(label ": reports success, but a check failed")
  if (ok && planned[id] == 0 && results == 0) passed++ # a program that doesn't speak TAP is one check
}

BEGIN { printf "" > failures; under_ctest = 0 }

{
  id = "0"
  line = $0
  if (match(line, /^[0-9]+: /)) {
    id = substr(line, 1, RLENGTH - 2)
    line = substr(line, RLENGTH + 1)
  }
}

line ~ /^1\.\.[0-9]+/ { planned[id] += substr(line, 4) + 0; next }
line ~ /^not ok .*# *(SKIP|skip)/ || line ~ /^ok .*# *(SKIP|skip)/ { good[id]++; next }
line ~ /^ok / { good[id]++; passed++; next }
line ~ /^not ok / { bad[id]++; fail(line); detail[id] = 1; next }
detail[id] && line ~ /^# / && bad[id] < 20 { print "  " line > failures; next }
{ detail[id] = 0 }

# " 3/10 Test  #3: exec/threads ....   Passed    0.27 sec", or ***Failed, ***Exception: SegFault, ***Timeout
id == "0" && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  under_ctest = 1
  match($0, /#[0-9]+/)
  number = substr($0, RSTART + 1, RLENGTH - 1)
  name = $0
  sub(/^[^:]*: /, "", name)
  how = name
  sub(/^[^ ]* \.*/, "", how)
  sub(/ \.*.*/, "", name)
  close_program(number, $0 ~ / Passed +[0-9.]+ sec/, name)
}

END {
  how = "exit status " status
  if (!under_ctest) {
    if (status == 0 && good["0"] + bad["0"] == 0) fail("no check ran")
    else close_program("0", status == 0, "the script")
  } else if (status != 0 && failed == 0) fail("ctest: exit status " status)
  print passed + 0, failed + 0
}
