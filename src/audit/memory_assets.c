/* memory_page.js as a string of the library: the assembler takes the file in as it is. */
__asm__(".section .rodata\n.global wf__memory_js\n.hidden wf__memory_js\nwf__memory_js:\n.incbin \"" WF_AUDIT_FOLDER
        "/memory_page.js\"\n.byte 0\n.previous\n");
