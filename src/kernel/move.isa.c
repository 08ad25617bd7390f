/* Moves of elements between strided and consecutive places. */
#include "kernel/isa.h"
#include "kernel/tables.h"

void WFK(wf__move)(wf__kernels *table) { (void)table; }
