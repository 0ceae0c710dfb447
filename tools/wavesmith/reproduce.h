/* The command line that checks one problem again. */
#ifndef WS_TOOL_REPRODUCE_H
#define WS_TOOL_REPRODUCE_H

#include "tools/wavesmith/points.h"
#include "tools/wavesmith/problem.h"

enum { WS_COMMAND_SIZE = 16384 };

/* The options that give the mask of an attention problem: "--causal none". */
enum { WS_MASK_TEXT_SIZE = 64 };
void ws_mask_text(const struct ws_problem *problem, char text[WS_MASK_TEXT_SIZE]);

/* Writes the `wavesmith verify ...` of a problem on a point, with the options of the command line
 * that matter to it. `says_mask`: the problem's mask is not the config's, so it is given. */
void ws_reproduction(char text[WS_COMMAND_SIZE], const struct ws_arguments *arguments,
                     const struct ws_points *points, size_t point, const struct ws_problem *problem,
                     bool says_mask);

#endif
