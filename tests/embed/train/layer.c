#include "layer.h"

#include <math.h>
#include <string.h>

const double layer_scale = 0.125;
static const double rate = 0.15;

static double draw(unsigned *state, double most)
{
    *state = *state * 1664525u + 1013904223u;
    return most * ((double)(*state >> 8) / (1 << 23) - 1);
}

void layer_draw(struct layer *layer, struct rows *target, unsigned seed)
{
    static const double most[PARTS] = {2, 2, 1};
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++)
            for (int d = 0; d < DIM; d++) {
                for (int part = 0; part < PARTS; part++)
                    layer->of[t][part][h][d] = draw(&seed, most[part]);
                target->of[t][h][d] = draw(&seed, 1);
            }
}

double layer_loss(const struct rows *o, const struct rows *target, struct rows *difference)
{
    double sum = 0;
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++)
            for (int d = 0; d < DIM; d++) {
                const double x = o->of[t][h][d] - target->of[t][h][d];
                difference->of[t][h][d] = x;
                sum += x * x / 2;
            }
    return sum;
}

void layer_descend(struct layer *layer, const struct layer *gradient)
{
    for (int t = 0; t < TOKENS; t++)
        for (int part = 0; part < PARTS; part++)
            for (int h = 0; h < HEADS; h++)
                for (int d = 0; d < DIM; d++)
                    layer->of[t][part][h][d] -= rate * gradient->of[t][part][h][d];
}

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++)
        sum += x[d] * y[d];
    return sum;
}

static void add(double *to, double factor, const double *x)
{
    for (int d = 0; d < DIM; d++)
        to[d] += factor * x[d];
}

/* The probabilities of the keys that query i sees: those up to itself. */
static void attend(const struct layer *layer, int h, int i, double p[TOKENS])
{
    double sum = 0;
    for (int j = 0; j <= i; j++)
        sum += p[j] = exp(layer_scale * dot(layer->of[i][Q][h], layer->of[j][K][h]));
    for (int j = 0; j <= i; j++)
        p[j] /= sum;
}

static void forward(const struct layer *layer, struct rows *o)
{
    double p[TOKENS];
    memset(o, 0, sizeof *o);
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < TOKENS; i++) {
            attend(layer, h, i, p);
            for (int j = 0; j <= i; j++)
                add(o->of[i][h], p[j], layer->of[j][V][h]);
        }
}

static void backward(const struct layer *layer, const struct rows *dout, struct layer *gradient)
{
    double p[TOKENS], dp[TOKENS];
    memset(gradient, 0, sizeof *gradient);
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < TOKENS; i++) {
            double mean = 0;
            attend(layer, h, i, p);
            for (int j = 0; j <= i; j++) {
                dp[j] = dot(dout->of[i][h], layer->of[j][V][h]);
                mean += p[j] * dp[j];
            }
            for (int j = 0; j <= i; j++) {
                const double ds = layer_scale * p[j] * (dp[j] - mean);
                add(gradient->of[i][Q][h], ds, layer->of[j][K][h]);
                add(gradient->of[j][K][h], ds, layer->of[i][Q][h]);
                add(gradient->of[j][V][h], p[j], dout->of[i][h]);
            }
        }
}

void layer_train(struct layer layer, const struct rows *target, double losses[STEPS + 1])
{
    static struct rows o, dout;
    static struct layer gradient;
    for (int step = 0; step <= STEPS; step++) {
        forward(&layer, &o);
        losses[step] = layer_loss(&o, target, &dout);
        backward(&layer, &dout, &gradient);
        layer_descend(&layer, &gradient);
    }
}
