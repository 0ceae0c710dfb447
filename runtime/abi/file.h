/* What a path names. */
#ifndef WS_ABI_FILE_H
#define WS_ABI_FILE_H

/* What a path names that cannot be read as a file: "a directory" or "a device". NULL for a file, a
 * pipe, or nothing at all. Thread-safe. */
const char *ws_file_misfit(const char *path);

#endif
