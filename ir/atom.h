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

/* How the intrinsic is called: WMMA is overloaded on {C, A}; MFMA is not, and takes three zeros of
 * broadcast and negation last. */
enum ws_atom_form { WS_ATOM_WMMA, WS_ATOM_MFMA };

/* LLVM's type of a 16-bit operand element. */
enum ws_operand_type { WS_OPERAND_F16, WS_OPERAND_BF16, WS_OPERAND_I16 };

struct ws_atom {
    const char *name;
    enum ws_element element;
    int m, n, k;                            /* A is m x k, B is k x n, C and D are m x n */
    int a_elements, b_elements, c_elements; /* of one lane */
    enum ws_atom_form form;
    enum ws_operand_type operand;
    const char *intrinsic;
    ws_lane_map *a, *b, *c; /* c is also D's */
};

/* NULL-terminated lists, what struct ws_target points to. Of one element type and shape, the atom
 * with the larger k stands first. */
extern const struct ws_atom *const ws_atoms_gfx11[];
extern const struct ws_atom *const ws_atoms_gfx12[];
extern const struct ws_atom *const ws_atoms_cdna[];
extern const struct ws_atom *const ws_atoms_cdna4[];

struct ws_target;

/* The target's atom of an element type and shape with the largest k whose operands have at most
 * `elements` elements in a lane, or NULL. */
const struct ws_atom *ws_atom_find(const struct ws_target *target, enum ws_element element, int m,
                                   int n, int elements);

#endif
