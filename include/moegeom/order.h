/** @file
 * Orders of convergence: the power of tau by which measured gaps fall [theory: observed orders]. */
#ifndef MOEGEOM_ORDER_H
#define MOEGEOM_ORDER_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Observed orders between neighbours, p_i = log(G_{i+1}/G_i)/log(tau_{i+1}/tau_i).
 *
 * The arrays are those of moeg_risk_curve(). Gaps of one run are strongly correlated, and the covariance makes the
 * error bar of p_i as much smaller: std_error is that of the ratio's logarithm to first order, and the interval is
 * Fieller's, of the ratio of two correlated normal means, which holds for large errors too.
 *
 * A pair tells an order if its gaps are of the same sign and each is farther from 0 than its own interval at `level`
 * reaches. Else the error bar is infinite; value is then what the gaps give, and NaN where they give none: a gap of 0
 * (as at tau = 0), one that is not finite, or two of different signs.
 * @param ntau   gaps, at least 2
 * @param tau    (ntau), each 0 or in [1e-300, 1e300], no two neighbours equal
 * @param gap    (ntau)
 * @param covariance  (ntau x ntau) of the gaps, of which the lower triangle is read; NULL: they are independent, with
 *        the variances std_error^2
 * @param level  of the intervals, in (0, 1)
 * @param order  (ntau - 1); n and contributing are the smaller of the two gaps'
 * @return #MOEG_OK; #MOEG_EUNABLE (written: a pair does not tell an order); #MOEG_EINVAL (also a covariance that is not
 *         one, by its index); #MOEG_ENOMEM. Outputs untouched on error. Cost O(ntau). Thread-safe. */
MOEG_EXPORT moeg_status moeg_order_local(size_t ntau, const double *tau, const moeg_estimate *gap,
                                         const double *covariance, double level, moeg_estimate *order);

/** A fitted power law G = constant tau^order. */
typedef struct moeg_power_law {
    moeg_estimate order;    /**< p */
    moeg_estimate constant; /**< c, with the sign of the gaps */
    double chi_square;      /**< What is left of the gaps, squared, in units of their errors: about used - 2 if they are
                                 sampled and follow a power law; far more where they do not. */
    size_t used;            /**< Gaps fitted; the other ntau - used were left out. */
} moeg_power_law;

/** The power law through the gaps, by generalised least squares of log |G| on log tau.
 *
 * Left out are gaps at tau = 0, gaps of 0, those with an infinite error bar, those nearer to 0 than four standard
 * errors (and the quadrature's), and those whose sign is not that of the gap left at the lowest tau. Logarithms have
 * their errors to second order. The error bars are those of the weighted sums that the results are, by the full
 * covariance, whatever the weights. These come from it too, but rest on no combination of gaps being known better than
 * to a tenth of their own errors, nor to 1e-12: best weights would be very large, and magnify all that the gaps differ
 * from a power law by. A singular covariance is fine; exact gaps (of std_error 0) all weigh the same, unless their
 * quad_error is above 1e-12 of the gap, and std_error is then 0.
 *
 * The error bars know of the sampling only. Gaps that follow no power law to within their errors show in chi_square,
 * which is of the best weights.
 * @param ntau, tau, gap, covariance, level  as in moeg_order_local(); temperatures may be equal
 * @param fit    the result; n and contributing are the smallest of the gaps'
 * @return #MOEG_OK; #MOEG_EDOM (fewer than two gaps left, or all at one temperature); #MOEG_EINVAL (also a covariance
 *         that is not one); #MOEG_ERANGE (the constant is not in the range of a double); #MOEG_ENOMEM. The output is
 *         untouched on error. Cost O(ntau^3). Thread-safe. */
MOEG_EXPORT moeg_status moeg_order_fit(size_t ntau, const double *tau, const moeg_estimate *gap,
                                       const double *covariance, double level, moeg_power_law *fit);

#ifdef __cplusplus
}
#endif

#endif
