/* The standard normal distribution where its differences matter: no cancellation, no loss far in the tail. */
#ifndef MOEG_BASE_NORMAL_H
#define MOEG_BASE_NORMAL_H

/* exp(-x^2/2)/sqrt(2 pi), to 3 epsilon at any x (to the spacing of subnormals where it is one). */
double moeg_normal_density(double x);

/* P(Z >= x), to 1e-15 of itself at any x, while it is not subnormal. */
double moeg_normal_tail(double x);

/* P(mid - half <= Z <= mid + half), half >= 0: to 1e-14 of itself, whatever mid, for half-widths from 1e-300 to
 * infinity, while it is not subnormal. From the middle and the half-width, since a difference of two distribution
 * functions would lose every digit of a narrow interval. */
double moeg_normal_mass(double mid, double half);

/* P(from <= Z <= from + length), length >= 0 or infinite, likewise, for these two as they are. */
double moeg_normal_interval(double from, double length);

/* P(lo <= Z <= hi), lo <= hi, from the end that is nearer to 0: the other may be as far as lines that are nearly
 * parallel cross, where a length has no digits of this end left. */
double moeg_normal_between(double lo, double hi);

#endif
