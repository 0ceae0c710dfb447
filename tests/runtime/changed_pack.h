/* A good pack, and a copy of it that a test damages. Include cmocka's headers through this one. */
#ifndef RUNTIME_TEST_CHANGED_PACK_H
#define RUNTIME_TEST_CHANGED_PACK_H

#include <sqlite3.h>

#include "runtime/pack/store.h"
#include "tests/runtime/pack_rows.h"
#include "tests/runtime/support.h"

/* The folder of both, the copy's path, and what the good one is. */
extern char changed_folder[SCRATCH_PATH], changed_path[SCRATCH_PATH + 16];
extern struct bytes good;
extern char good_digest[WS_PACK_HASH_SIZE];

/* Of a group of tests. */
int make_good_pack(void **state);
int remove_good_pack(void **state);

/* Writes a file anew ("we"), or its end ("ae"); there is no going on without it. */
void write_file(const char *name, const char *mode, const void *bytes, size_t size);

/* Puts the good pack's bytes at `changed_path`. */
void restore(void);

/* The copy as a database; close it with sqlite3_close. */
sqlite3 *open_sql(void);
void execute(sqlite3 *database, const char *sql);

/* Makes a new copy and changes it by SQL. */
void change(const char *sql);

enum outcome { NOT_OPENED, OBJECT_REFUSED, ALL_THE_SAME, DIFFERENT };

/* Opens the copy and reads all of it; refusals are WS_ERROR_PACK. */
enum outcome read_all(struct ws_error *error);

#endif
