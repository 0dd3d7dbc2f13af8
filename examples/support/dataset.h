/* Data files as an analyst hands them in, and router files. */
#ifndef EXAMPLE_DATASET_H
#define EXAMPLE_DATASET_H

#include "example.h"

/* n rows of d features and, if there is a target, one value of it for each. */
typedef struct dataset {
    size_t n, d;
    double *x;      /* (n x d), every column less its mean */
    double *mean;   /* (d) what was subtracted before x was scaled: the router of a file is one of x + mean */
    double *origin; /* (d) the distance from 0 at which the file rounded a column, in units of x */
    double *y;      /* (n), or NULL */
} dataset;

/* Reads a .npy matrix or a CSV file; columns without names are called c0, c1, …. Takes the logarithm of the columns in
 * the comma-separated list `logs` (NULL: none), splits off the column `target` (NULL: none), then subtracts the means
 * of the features: far from the origin, logits and experts would lose the digits that tell the rows apart. If asked to,
 * scales them to population variance 1, and mean = 0, since routers are then of x. Anything that does not fit ends the
 * program. */
dataset dataset_read(const char *path, const char *target, const char *logs, int standardize);
void dataset_free(dataset *data);

/* The affine router of a .npy or headerless CSV file: one row for each expert, d weights, then the bias, to which the
 * weights times `mean` (d) are added. */
moeg_router *router_read(const char *path, size_t d, const double *mean);

#endif
