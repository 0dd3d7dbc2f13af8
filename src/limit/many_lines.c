#include "limit/many_lines.h"

#include "base/error.h"

moeg_status moeg_many_lines_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                 const moeg_law *law, const moeg_sampling *s, moeg_many_lines *lines)
{
    *lines = (moeg_many_lines){.no_rays = "directions are given"};
    const moeg_status status = s->directions != NULL
                                   ? MOEG_OK
                                   : moeg_ray_risk_init(function, moe, teacher, law, &lines->rays, &lines->no_rays);
    if (status != MOEG_OK || lines->no_rays == NULL)
        return status;
    return moeg_nodes_init(function, moe, teacher, law, &lines->nodes, &lines->no_lines);
}

void moeg_many_lines_free(moeg_many_lines *lines)
{
    moeg_ray_risk_free(&lines->rays);
    moeg_nodes_free(&lines->nodes);
}

int moeg_many_lines_refused(const moeg_many_lines *lines)
{
    return lines->no_rays != NULL && lines->no_lines != NULL;
}

moeg_status moeg_many_lines_check(const char *function, const char *refusal, const moeg_many_lines *lines)
{
    if (!moeg_many_lines_refused(lines))
        return MOEG_OK;
    return moeg_fail(MOEG_EUNSUPPORTED, "%s: method line does not apply: %s (nor do many lines: %s)", function, refusal,
                     lines->no_lines);
}
