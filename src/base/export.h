/* What libweft-tools (audit/, dryrun/, report/: a library of its own beside libweft) uses of the rows below. The linker sees it under
 * the symbol version WEFT_PRIVATE; it is no part of the API and holds for one version of both only. */
#ifndef WF_BASE_EXPORT_H
#define WF_BASE_EXPORT_H

#define WF_TOOLS_API __attribute__((visibility("default")))

#endif
