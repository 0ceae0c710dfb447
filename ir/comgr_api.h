/* The part of AMD's comgr interface that is used, declared here because the library is opened at
 * run time and its headers may be absent. Source: amd_comgr.h of interface 2.4 and 3.0. */
#ifndef WS_IR_COMGR_API_H
#define WS_IR_COMGR_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMGR_SUCCESS = 0 };

enum comgr_data_kind {
    COMGR_DATA_SOURCE = 1,
    COMGR_DATA_LOG = 5,
    COMGR_DATA_BC = 6,
    COMGR_DATA_RELOCATABLE = 7,
    COMGR_DATA_EXECUTABLE = 8,
};

enum { COMGR_LANGUAGE_OPENCL_1_2 = 1 }; /* in 2.x and 3.x */

/* The actions were renumbered in 3.0. */
struct comgr_actions {
    int preprocess, codegen, link;
};
static const struct comgr_actions comgr_actions_2 = {0, 6, 9};
static const struct comgr_actions comgr_actions_3 = {0, 4, 7};

/* Every object is a handle, passed by value. */
struct comgr_handle {
    uint64_t handle;
};

/* COMGR(name, parameters): int amd_comgr_<name>(parameters) */
#define COMGR_FUNCTIONS(COMGR)                                                                     \
    COMGR(get_isa_count, (size_t *))                                                               \
    COMGR(get_isa_name, (size_t, const char **))                                                   \
    COMGR(create_data, (int, struct comgr_handle *))                                               \
    COMGR(release_data, (struct comgr_handle))                                                     \
    COMGR(set_data, (struct comgr_handle, size_t, const char *))                                   \
    COMGR(set_data_name, (struct comgr_handle, const char *))                                      \
    COMGR(get_data, (struct comgr_handle, size_t *, char *))                                       \
    COMGR(create_data_set, (struct comgr_handle *))                                                \
    COMGR(destroy_data_set, (struct comgr_handle))                                                 \
    COMGR(data_set_add, (struct comgr_handle, struct comgr_handle))                                \
    COMGR(action_data_count, (struct comgr_handle, int, size_t *))                                 \
    COMGR(action_data_get_data, (struct comgr_handle, int, size_t, struct comgr_handle *))         \
    COMGR(create_action_info, (struct comgr_handle *))                                             \
    COMGR(destroy_action_info, (struct comgr_handle))                                              \
    COMGR(action_info_set_isa_name, (struct comgr_handle, const char *))                           \
    COMGR(action_info_set_language, (struct comgr_handle, int))                                    \
    COMGR(action_info_set_option_list, (struct comgr_handle, const char **, size_t))               \
    COMGR(action_info_set_logging, (struct comgr_handle, bool))                                    \
    COMGR(do_action, (int, struct comgr_handle, struct comgr_handle, struct comgr_handle))

#endif
