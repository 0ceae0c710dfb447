/* Lines of tests/data/layouts: matrix, lane, element, row, column. */
#ifndef WS_TESTS_EMU_LAYOUT_LINES_H
#define WS_TESTS_EMU_LAYOUT_LINES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUT_LANES = 64, LAYOUT_ELEMENTS = 16, LAYOUT_SIDE = 64 };

struct layout_line {
    char matrix; /* the first letter of its name */
    unsigned lane, element, row, column;
};

/* False if the line is not one; numbers are below LAYOUT_LANES, LAYOUT_ELEMENTS, LAYOUT_SIDE. */
static inline bool read_layout_line(const char *line, struct layout_line *out)
{
    static const unsigned most[4] = {LAYOUT_LANES, LAYOUT_ELEMENTS, LAYOUT_SIDE, LAYOUT_SIDE};
    unsigned field[4];
    const char *from = strchr(line, ' ');
    for (int i = 0; i < 4; i++) {
        char *end = NULL;
        long value = from ? strtol(from, &end, 10) : -1;
        if (end == from || value < 0 || value >= (long)most[i])
            return false;
        field[i] = (unsigned)value;
        from = end;
    }
    *out = (struct layout_line){line[0], field[0], field[1], field[2], field[3]};
    return true;
}

#endif
