# Takes the fenced blocks out of a Markdown page: writes each to -v folder=, as NN.LANGUAGE in the order of the page, and prints
# "NN LANGUAGE LINE" for it.
/^```/ {
  if (inside) {
    inside = 0
    close(file)
    next
  }
  language = substr($0, 4)
  if (language == "") language = "none"
  inside = 1
  number++
  file = sprintf("%s/%02d.%s", folder, number, language)
  printf "" > file
  printf "%02d %s %d\n", number, language, FNR
  next
}
inside { print > file }
