/* What a path names, and writing to files. Thread-safe. */
#ifndef WS_ABI_FILE_H
#define WS_ABI_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* What a path names that cannot be read as a file: "a directory" or "a device". NULL for a file, a
 * pipe, or nothing at all. */
const char *ws_file_misfit(const char *path);

/* The file that a path is a name of: where its symbolic links lead, whether there is anything or
 * not. A rename to the path itself would replace the first link. malloc'ed; NULL: errno says what
 * is wrong. */
char *ws_file_target(const char *path);

/* Writes all of it, whatever signals come; false: errno says what is wrong. */
bool ws_file_write(int file, const void *bytes, size_t size);

#endif
