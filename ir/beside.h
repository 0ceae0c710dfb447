/* Files that are installed or built beside this code. */
#ifndef WS_IR_BESIDE_H
#define WS_IR_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the first of the paths, each relative to the folder of the library or program that holds
 * this function, at which there is a program that may be executed or a folder that may be searched.
 * `path` is as it was if there is none. */
bool ws_find_beside(char *path, size_t size, const char *const *relative, size_t count);

#endif
