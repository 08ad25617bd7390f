/* The Python of a dry run as strings of the library: the assembler takes the files in as they are. */
#include <weft/dry.h>

#define EMBED(symbol, file)                                                                                       \
  __asm__(".section .rodata\n.hidden " #symbol "\n.global " #symbol "\n" #symbol ":\n.incbin \"" WF_DRYRUN_FOLDER \
          "/" file "\"\n.byte 0\n.previous\n")

extern const char wf__dry_site[], wf__dry_watch[], wf__dry_objects[], wf__dry_self_test[];
EMBED(wf__dry_site, "sitecustomize.py");
EMBED(wf__dry_watch, "weft_dry.py");
EMBED(wf__dry_objects, "weft_dry_objects.py");
EMBED(wf__dry_self_test, "self_test.py");

int wf_dry_files(const wf_dry_file **files) {
  static const wf_dry_file all[] = {
      {"sitecustomize.py", wf__dry_site},
      {"weft_dry.py", wf__dry_watch},
      {"weft_dry_objects.py", wf__dry_objects},
      {"self_test.py", wf__dry_self_test},
  };
  *files = all;
  return (int)(sizeof all / sizeof *all);
}
