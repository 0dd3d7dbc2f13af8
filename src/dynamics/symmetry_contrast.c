#include "base/error.h"
#include "dynamics/symmetry.h"

moeg_contrast moeg_contrast_constant(void)
{
    return (moeg_contrast){.kind = MOEG_CONTRAST_CONSTANT};
}

moeg_contrast moeg_contrast_linear(void)
{
    return (moeg_contrast){.kind = MOEG_CONTRAST_LINEAR};
}

moeg_contrast moeg_contrast_affine(void)
{
    return (moeg_contrast){.kind = MOEG_CONTRAST_AFFINE};
}

moeg_contrast moeg_contrast_user(size_t p, moeg_features_function function, void *user)
{
    return (moeg_contrast){.kind = MOEG_CONTRAST_USER, .features = p, .function = function, .user = user};
}

size_t moeg_contrast_features(const moeg_contrast *contrast, size_t d)
{
    if (contrast == NULL)
        return 0;
    switch (contrast->kind) {
    case MOEG_CONTRAST_CONSTANT:
        return 1;
    case MOEG_CONTRAST_LINEAR:
        return d;
    case MOEG_CONTRAST_AFFINE:
        return d + 1;
    case MOEG_CONTRAST_USER:
        return contrast->features;
    }
    return 0;
}

moeg_status moeg_check_contrast(const char *function, const moeg_contrast *contrast)
{
    moeg_status status = moeg_check_pointer(function, "contrast", contrast);
    if (status != MOEG_OK)
        return status;
    switch (contrast->kind) {
    case MOEG_CONTRAST_CONSTANT:
    case MOEG_CONTRAST_LINEAR:
    case MOEG_CONTRAST_AFFINE:
        return MOEG_OK;
    case MOEG_CONTRAST_USER:
        if (contrast->features == 0)
            return moeg_fail(MOEG_EINVAL, "%s: a contrast must have at least 1 feature, got 0", function);
        if (contrast->function == NULL)
            return moeg_fail(MOEG_EINVAL, "%s: contrast->function must not be NULL", function);
        return MOEG_OK;
    }
    return moeg_fail(MOEG_EINVAL, "%s: contrast->kind must be constant (0), linear (1), affine (2) or user (3), got %d",
                     function, (int)contrast->kind);
}

moeg_status moeg_check_symmetric(const char *function, moeg_symmetric symmetric)
{
    switch (symmetric) {
    case MOEG_SYMMETRIC_ZERO:
    case MOEG_SYMMETRIC_CONSTANT:
    case MOEG_SYMMETRIC_LINEAR:
    case MOEG_SYMMETRIC_AFFINE:
        return MOEG_OK;
    }
    return moeg_fail(MOEG_EINVAL,
                     "%s: the symmetric expert must be zero (0), constant (1), linear (2) or affine (3), got %d",
                     function, (int)symmetric);
}
