/* Plays one allocator case (JSON lines, format of the differential cases: a head line, then one call a line) through
 * weft/sys/allocator.h with a driver that answers as written, and compares what comes out with what the line says.
 * Uses the public interface only. */
#ifndef WEFT_REPLAY_ALLOC_PLAYER_H
#define WEFT_REPLAY_ALLOC_PLAYER_H

#include <stdbool.h>
#include <stddef.h>

#define ALLOC_PLAYER_TEXT 1024

/* Whether the first line of a file is the head of such a case. */
bool alloc_player_knows(const char *line);
/* True when every line came out as written. Else `mismatch` says which line, and what was expected; playing stops there. */
bool alloc_player_play(const char *text, size_t length, char mismatch[ALLOC_PLAYER_TEXT]);

#endif
