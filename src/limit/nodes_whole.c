/* Where nothing has to be drawn: one line, or the plane. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "limit/check.h"
#include "limit/nodes.h"

#include <float.h>
#include <math.h>

/* Beyond EDGE the density is 0 in double; beyond NEAR it is e^-45 of what it is at 0. On one line every gap is looked
 * at whose exp(-gap/tau) is not 0. */
static const double EDGE = 38.5, NEAR = 9.5, FELT_ON_ONE_LINE = 745;

/* What is wanted beside gaps. */
typedef enum first_value { NOTHING, HARD, LEAD } first_value;

static moeg_status init_curve(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                              const double *tau, first_value first, double window, double felt, moeg_nodes_curve *curve)
{
    const moeg_nodes_hard hard = first == HARD ? MOEG_NODES_INTEGRATED : MOEG_NODES_NO_HARD;
    const moeg_status status = moeg_nodes_curve_init(function, p, mixing, ntau, tau, hard, window, felt, curve);
    curve->with_lead = curve->needs_lead = first == LEAD;
    return status;
}

/* Where the first value stands. */
static size_t place_of(first_value first, size_t ntau)
{
    return first == LEAD ? 1 + ntau : 0;
}

static moeg_status one_line(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                            const double *tau, first_value first, double *value, double *error)
{
    const double e = 1, zeros[MOEG_LANES] = {0};
    moeg_nodes_curve curve;
    moeg_nodes_way way = {0};
    double *memory = NULL;
    moeg_status status = init_curve(function, p, mixing, ntau, tau, first, EDGE, FELT_ON_ONE_LINE, &curve);
    if (status == MOEG_OK)
        status = moeg_nodes_way_init(function, p, &e, &way);
    if (status == MOEG_OK) {
        const size_t values = moeg_nodes_count(&curve) * MOEG_LANES;
        memory = moeg_alloc(2 * values + moeg_nodes_workspace(&curve, MOEG_LANES), sizeof *memory);
        status = memory == NULL ? moeg_fail_memory(function)
                                : moeg_nodes_lines(&curve, &way, 1, MOEG_LANES, MOEG_LANES, zeros, memory + 2 * values,
                                                   memory, memory + values);
        for (size_t v = 0; v <= ntau && status == MOEG_OK; v++) {
            const size_t at = v == 0 ? place_of(first, ntau) : v;
            value[v] = memory[at * MOEG_LANES];
            error[v] = memory[values + at * MOEG_LANES];
        }
    }
    moeg_release(memory);
    moeg_nodes_way_free(&way);
    moeg_nodes_curve_free(&curve);
    return status;
}

/* One value of the plane: the first one (tau = 0) or a gap. The window is widened until what it leaves out is lost
 * beside what is in it, but for the hard risk, to which all of it counts. */
static moeg_status plane_value(const char *function, const moeg_nodes *p, moeg_mixing mixing, double tau,
                               first_value first, double *value, double *error)
{
    const size_t ntau = tau > 0, at = ntau > 0 ? 1 : place_of(first, 0);
    const int whole = ntau == 0 && first == HARD;
    double all[2], errors[2];
    moeg_status status = MOEG_OK;
    for (double window = NEAR; status == MOEG_OK; window = fmin(2 * window, EDGE)) {
        moeg_nodes_curve curve;
        status = init_curve(function, p, mixing, ntau, &tau, ntau > 0 ? NOTHING : first, window, MOEG_FELT, &curve);
        if (status == MOEG_OK)
            status = moeg_nodes_plane(function, &curve, all, errors);
        moeg_nodes_curve_free(&curve);
        const double unit = ntau > 0 ? fmin(tau, 1) : 1;
        if (whole || window >= EDGE || fabs(all[at]) > 1e13 * moeg_normal_density(window) * unit)
            break;
    }
    if (status == MOEG_OK) {
        *value = all[at];
        *error = errors[at];
    }
    return status;
}

static moeg_status plane(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau, const double *tau,
                         first_value first, double *value, double *error)
{
    moeg_status status = plane_value(function, p, mixing, 0, first, &value[0], &error[0]);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++)
        if (tau[t] > 0)
            status = plane_value(function, p, mixing, tau[t], first, &value[1 + t], &error[1 + t]);
    return status;
}

int moeg_nodes_are_whole(const moeg_nodes *p)
{
    return p->drawn == p->r && p->r <= 2;
}

moeg_status moeg_nodes_whole(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                             const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result)
{
    moeg_status status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_nodes_result_init(function, 1 + (rests ? 1 : 2) * ntau, result);
    if (status != MOEG_OK)
        return status;
    double *value = result->sampled.value, *error = result->sampled.error;
    status = (p->r == 1 ? one_line : plane)(function, p, mixing, ntau, tau, rests ? LEAD : HARD, value, error);
    for (size_t t = 1; t <= ntau && status == MOEG_OK; t++) {
        if (rests) {
            value[t] = value[t] / tau[t - 1] - value[0];
            error[t] = error[t] / tau[t - 1] + error[0] + DBL_EPSILON * fabs(value[0]);
        } else {
            value[ntau + t] = value[0] + value[t];
            error[ntau + t] = error[0] + error[t];
        }
    }
    result->sampled.lines = 1;
    return status;
}
