# WAVESMITH_VERSION, from the header that programs are compiled with.
set(header "${CMAKE_CURRENT_SOURCE_DIR}/runtime/abi/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
file(STRINGS "${header}" numbers REGEX "^#define WS_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM numbers REPLACE ".* " "")
list(JOIN numbers "." WAVESMITH_VERSION)
