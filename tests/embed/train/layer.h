/* The layer: causal attention whose Q, K and V are themselves what is learnt, and the same training
 * in double precision, with which that on the device is compared. */
#ifndef TRAIN_LAYER_H
#define TRAIN_LAYER_H

enum { TOKENS = 48, HEADS = 2, DIM = 64, STEPS = 20 };
enum part { Q, K, V, PARTS };

/* As frameworks keep them: one tensor [token, part, head, dim]. */
struct layer {
    double of[TOKENS][PARTS][HEADS][DIM];
};
struct rows { /* of O, dO and of what O should become */
    double of[TOKENS][HEADS][DIM];
};

extern const double layer_scale; /* of Q K^T */

/* Draws both from a seed. */
void layer_draw(struct layer *layer, struct rows *target, unsigned seed);

/* Half the sum of squares of O - target, and `difference` gets that. */
double layer_loss(const struct rows *o, const struct rows *target, struct rows *difference);

/* One step of gradient descent. */
void layer_descend(struct layer *layer, const struct layer *gradient);

/* The loss before each step, and that after the last. */
void layer_train(struct layer layer, const struct rows *target, double losses[STEPS + 1]);

#endif
