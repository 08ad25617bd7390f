/* page.css and page.js as strings of the library: the assembler takes the files in as they are. */
#include "report/html.h"

#define TEXT_FILE(symbol, file)                                                  \
  __asm__(".section .rodata\n.global " #symbol "\n.hidden " #symbol "\n" #symbol \
          ":\n"                                                                  \
          ".incbin \"" WF_REPORT_FOLDER "/" file "\"\n.byte 0\n.previous\n")

TEXT_FILE(wf__page_css, "page.css");
TEXT_FILE(wf__page_js, "page.js");
