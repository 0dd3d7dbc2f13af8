/* Data files as an analyst hands them in, and router files. */
#ifndef EXAMPLE_DATASET_H
#define EXAMPLE_DATASET_H

#include "example.h"

/* n rows of d features and, if there are such columns, a target and a weight for each. The first `fitted` rows are
 * those to fit on; rows `first` .. n - 1 those to measure on: all rows are both, or `first` = `fitted`. */
typedef struct dataset {
    size_t n, d, fitted, first;
    double *x;      /* (n x d), every column less its mean over the rows to fit on */
    double *mean;   /* (d) what was subtracted before x was scaled: the router of a file is one of x + mean */
    double *origin; /* (d) the distance from 0 at which the file rounded a column, in units of x */
    double *y;      /* (n), or NULL */
    double *w;      /* (n), or NULL: all rows count alike */
} dataset;

/* Where data come from and what is done to them. */
typedef struct dataset_options {
    const char *path;
    const char *target, *weights; /* columns, or NULL */
    const char *logs;             /* comma-separated list of columns, or NULL */
    int standardize;
    double holdout; /* share of rows held out, drawn by the seed; 0: none */
    uint64_t seed;
} dataset_options;

/* Reads a .npy matrix or a CSV file; columns without names are called c0, c1, …. Takes the logarithm of the columns in
 * the list, splits off target and weights, puts the rows to hold out behind the others (each in the order of the file),
 * then subtracts the means of the features, which are weighted if the rows are: far from the origin, logits and experts
 * would lose the digits that tell the rows apart. If asked to, scales them to population variance 1, and mean = 0,
 * since routers are then of x. Means and variances are those of the rows to fit on. Anything that does not fit ends the
 * program. */
dataset dataset_read(const dataset_options *o);
void dataset_free(dataset *data);

/* The affine router of a .npy or headerless CSV file: one row for each expert, d weights, then the bias, to which the
 * weights times `mean` (d) are added. */
moeg_router *router_read(const char *path, size_t d, const double *mean);

#endif
