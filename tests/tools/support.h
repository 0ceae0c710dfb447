/* What the tests of the tools share. Include cmocka's headers through this one. */
#ifndef TOOLS_TEST_SUPPORT_H
#define TOOLS_TEST_SUPPORT_H

#include "tests/random.h"
#include "tools/wavesmith/number.h"

#endif
