/* tau d/dtau of SUBSET's probabilities [theory: gates]. A subset's weight is exp(-U), U = sum w over the experts that
 * change sides, w = (a_i - a_(k))/tau of a winner and (a_(k) - a_j)/tau of a loser, none of them negative; it has
 * tau d/dtau exp(-U) = U exp(-U). So of c_i = P(i changes)
 *
 *     tau dc_i/dtau = c_i (E[U | i changes] - E[U]).
 *
 * First moments go through the recurrence beside the weights, sums of positive terms again,
 *
 *     F'_r <- F'_r + x (F'_{r-+1} + w F_{r-+1}),
 *
 * which leaves the one subtraction that the formula has. */
#include "base/error.h"
#include "model/gates.h"

#include <stdint.h>
#include <string.h>

size_t moeg_subset_slope_workspace(size_t K, size_t k)
{
    const size_t subset = moeg_subset_workspace(K, k);
    return subset > SIZE_MAX / 8 ? SIZE_MAX / 4 : 2 * subset;
}

static int wins(const moeg_subset *s, size_t i)
{
    return i < s->k;
}

/* w of expert i; 0 where no subset has it changed, as its logit may then be any distance off. */
static moeg_twofold cost(const moeg_subset *s, size_t i, const double *logits, double least, double tau)
{
    const double a = logits[s->index[i]];
    return (moeg_twofold){s->odds[i].hi == 0 ? 0 : (wins(s, i) ? a - least : least - a) / tau, 0};
}

/* moment <- moment and what the expert adds to it; state is as it stands before the expert. */
static void advance_moment(const moeg_subset *s, size_t i, int step, moeg_twofold w, const moeg_twofold *state,
                           const moeg_twofold *in, moeg_twofold *out)
{
    const moeg_twofold x = moeg_twofold_times(moeg_twofold_scale(s->odds[i], s->scale[i] / MOEG_GATE_SHIFT), w);
    moeg_subset_advance(s, i, step, in, out);
    for (size_t r = 0; r <= s->depth; r++)
        if (step > 0 ? r < s->depth : r > 0)
            out[r] = moeg_twofold_add(out[r], moeg_twofold_times(x, step > 0 ? state[r + 1] : state[r - 1]));
}

/* sum_r a_r b_{r+1} of a winner, sum_r a_{r+1} b_r of a loser. */
static moeg_twofold pair(const moeg_subset *s, size_t i, const moeg_twofold *a, const moeg_twofold *b)
{
    moeg_twofold sum = {0, 0};
    for (size_t r = 0; r < s->depth; r++)
        sum =
            moeg_twofold_add(sum, wins(s, i) ? moeg_twofold_times(a[r], b[r + 1]) : moeg_twofold_times(a[r + 1], b[r]));
    return sum;
}

void moeg_subset_slope(size_t K, size_t k, const double *logits, double tau, double *slope, double *workspace)
{
    moeg_subset s;
    moeg_subset_solve(&s, K, k, logits, tau, workspace);
    for (size_t j = 0; j < K; j++)
        slope[j] = 0;
    if (s.depth == 0)
        return;
    const size_t width = s.depth + 1;
    const double least = logits[moeg_rank_row(K, 1, logits, k)];
    moeg_twofold *back = (moeg_twofold *)(workspace + moeg_subset_workspace(K, k)), *moment = back + (s.n + 1) * width;
    memset(back + s.n * width, 0, width * sizeof *back);
    for (size_t i = s.n; i-- > 0;)
        advance_moment(&s, i, wins(&s, i) ? 1 : -1, cost(&s, i, logits, least, tau), s.back + (i + 1) * width,
                       back + (i + 1) * width, back + i * width);
    const moeg_twofold mean = moeg_twofold_over(back[0], s.total);
    memset(moment, 0, width * sizeof *moment);
    memset(s.forward, 0, width * sizeof *s.forward);
    s.forward[0].hi = 1;
    for (size_t i = 0; i < s.n; i++) {
        const moeg_twofold w = cost(&s, i, logits, least, tau),
                           weight = pair(&s, i, s.forward, s.back + (i + 1) * width);
        const int step = wins(&s, i) ? -1 : 1;
        if (weight.hi > 0) {
            moeg_twofold first = moeg_twofold_times(w, weight);
            first = moeg_twofold_add(first, pair(&s, i, moment, s.back + (i + 1) * width));
            first = moeg_twofold_add(first, pair(&s, i, s.forward, back + (i + 1) * width));
            const moeg_twofold excess = moeg_twofold_add(moeg_twofold_over(first, weight), moeg_twofold_minus(mean));
            const double change = moeg_twofold_times(s.change[i], excess).hi / ((double)k * MOEG_GATE_SHIFT);
            slope[s.index[i]] = wins(&s, i) ? -change : change;
        }
        advance_moment(&s, i, step, w, s.forward, moment, moment + width);
        memcpy(moment, moment + width, width * sizeof *moment);
        moeg_subset_advance(&s, i, step, s.forward, s.forward);
    }
}
