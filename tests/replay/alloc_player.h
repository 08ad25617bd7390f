/* Plays one allocator case (JSON lines, format of the differential cases: a head line, then one call a line) through
 * weft/sys/allocator.h with a driver that answers as written, and compares what comes out with what the line says.
 * Uses the public interface only. */
#ifndef WF_REPLAY_ALLOC_PLAYER_H
#define WF_REPLAY_ALLOC_PLAYER_H

#include <stdbool.h>
#include <stddef.h>

#define ALLOC_PLAYER_TEXT 1024

/* True when every line came out as written. Else `mismatch` says which line, and what was expected; playing stops there. */
bool alloc_player_play(const char *text, size_t length, char mismatch[ALLOC_PLAYER_TEXT]);

#endif
