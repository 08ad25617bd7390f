/* The table of the backend to copy, for the conformance test. */
#ifndef WF_BACKEND_NULL_NULL_BACKEND_H
#define WF_BACKEND_NULL_NULL_BACKEND_H

#include <weft/sys/backend.h>

extern const wf_backend wf__null_backend;

#endif
