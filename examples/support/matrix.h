/* Matrices in .npy and CSV files. */
#ifndef EXAMPLE_MATRIX_H
#define EXAMPLE_MATRIX_H

#include "example.h"

/* A matrix with a name for each column. */
typedef struct matrix {
    size_t rows, cols;
    double *values;
    char **names;
    int named; /* whether the names are the file's own */
} matrix;

/* Reads the file of an option; columns without names are called c0, c1, …. What does not fit ends the program. */
matrix matrix_read(const char *option, const char *path);

/* The same as a single row: of a .npy file of one dimension, or of a matrix of one row or one column. Other matrices
 * are returned as they are. */
matrix matrix_read_vector(const char *option, const char *path);
void matrix_free(matrix *m);

void matrix_require_finite(const matrix *m, const char *option, const char *path);

/* No names in the first row of the file. */
void matrix_require_bare(const matrix *m, const char *option, const char *path);

/* The file of an affine router: a row of finite numbers for each of at least two experts, weights, then the bias. */
typedef struct router_file {
    size_t K, d;
    double *W, *b; /* (K x d), (K) */
} router_file;

router_file router_file_read(const char *path);
void router_file_free(router_file *r);

#endif
