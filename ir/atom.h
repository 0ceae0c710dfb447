/* Matrix atoms: one matrix instruction each, D = A B + C, as a const struct.
 *
 * A layout is a function: it maps (lane, element) to the (row, column) of the matrix that the
 * element holds. Elements count in memory order of the operand's vector, two 16-bit elements a
 * register, the low half first. Where a matrix is replicated, several lanes map to one element. */
#ifndef WS_IR_ATOM_H
#define WS_IR_ATOM_H

/* Type of the A and B elements; C and D are f32. */
enum ws_element { WS_ELEMENT_F16, WS_ELEMENT_BF16 };

struct ws_coordinate {
    int row, column;
};

typedef struct ws_coordinate ws_lane_map(int lane, int element);

struct ws_atom {
    const char *name;
    enum ws_element element;
    int m, n, k;                            /* A is m x k, B is k x n, C and D are m x n */
    int a_elements, b_elements, c_elements; /* of one lane */
    const char *intrinsic;                  /* overloaded on {C, A} */
    ws_lane_map *a, *b, *c;                 /* c is also D's */
};

/* NULL-terminated lists, what struct ws_target points to. */
extern const struct ws_atom *const ws_atoms_gfx11[];

struct ws_target;

/* The target's atom of an element type and shape, or NULL. */
const struct ws_atom *ws_atom_find(const struct ws_target *target, enum ws_element element, int m,
                                   int n);

#endif
