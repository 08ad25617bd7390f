#!/bin/sh
# Makes the API reference in BUILD_FOLDER/docs; ends with 1 when Doxygen has a warning.
set -eu
cd "$(dirname -- "$0")/.."
output=${1:?"usage: $0 BUILD_FOLDER"}/docs
mkdir -p "$output"
{
  cat docs/Doxyfile
  printf 'OUTPUT_DIRECTORY = "%s"\n' "$output"
} | doxygen -
echo "$output/index.html"
