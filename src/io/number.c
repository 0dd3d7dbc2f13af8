#include "io/number.h"

#include <moegeom/csv.h>

#include "base/error.h"
#include "io/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

locale_t moeg_number_locale(void)
{
    return newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

/* The end of a decimal number without its sign, or NULL: 1, 1., .5, 1.5e-3; no hexadecimal, which strtod() would take.
 */
static const char *skip_decimal(const char *text)
{
    const size_t whole = strspn(text, digits);
    text += whole;
    size_t fraction = 0;
    if (*text == '.') {
        fraction = strspn(++text, digits);
        text += fraction;
    }
    if (whole + fraction == 0)
        return NULL;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-')
            text++;
        const size_t exponent = strspn(text, digits);
        return exponent > 0 ? text + exponent : NULL;
    }
    return text;
}

/* The end of a word in any case, or NULL. ASCII letters only: tolower() would ask the host's locale, where the small
 * letter of I need not be i. */
static const char *skip_word(const char *text, const char *word)
{
    for (; *word != '\0'; text++, word++)
        if (*text != *word && *text != *word - 'a' + 'A')
            return NULL;
    return text;
}

static double read_decimal(locale_t c_locale, const char *text)
{
    const locale_t host = uselocale(c_locale);
    const double value = strtod(text, NULL);
    uselocale(host);
    return value;
}

moeg_number moeg_number_read(locale_t c_locale, const char *text, double *value)
{
    const char blanks[] = " \t";
    text += strspn(text, blanks);
    const char *unsigned_text = text + (*text == '+' || *text == '-');
    double result = *text == '-' ? -INFINITY : INFINITY;
    const char *end = skip_decimal(unsigned_text);
    const int is_decimal = end != NULL;
    if (!is_decimal)
        end = skip_word(unsigned_text, "infinity");
    if (end == NULL)
        end = skip_word(unsigned_text, "inf");
    if (end == NULL) {
        end = skip_word(unsigned_text, "nan");
        result = NAN;
    }
    if (end == NULL || end[strspn(end, blanks)] != '\0')
        return MOEG_NUMBER_NONE;
    if (is_decimal) {
        result = read_decimal(c_locale, text);
        if (isinf(result))
            return MOEG_NUMBER_OUT_OF_RANGE;
    }
    *value = result;
    return MOEG_NUMBER_OK;
}

moeg_status moeg_parse_double(const char *text, double *value)
{
    const char function[] = "parse_double";
    moeg_status status = moeg_check_pointer(function, "text", text);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "value", value);
    if (status != MOEG_OK)
        return status;
    const locale_t c_locale = moeg_number_locale();
    if (c_locale == (locale_t)0)
        return moeg_fail_memory(function);
    const moeg_number kind = moeg_number_read(c_locale, text, value);
    freelocale(c_locale);
    if (kind == MOEG_NUMBER_OK)
        return MOEG_OK;
    char quoted[MOEG_TEXT_QUOTED];
    moeg_text_quote(text, strlen(text), quoted);
    if (kind == MOEG_NUMBER_OUT_OF_RANGE)
        return moeg_fail(MOEG_EFORMAT, "%s: %s is beyond the range of double", function, quoted);
    return moeg_fail(MOEG_EFORMAT, "%s: expected a number, got %s", function, quoted);
}

/* The 16 digits next above |value| in text, if they read back to it. Doubles are twice as dense below a power of two as
 * above it, so that the nearest 16 digits, lying below, may read back to its neighbour where those do not: 2^-44. */
static int sixteen_digits_above(double value, char *text, size_t size)
{
    snprintf(text, size, "%.15e", value);
    /* No power of two has more than a few nines at its end: the carry does not reach the decimal point. */
    char *at = strchr(text, 'e') - 1;
    for (; *at == '9'; at--)
        *at = '0';
    ++*at;
    return strtod(text, NULL) == value;
}

/* The shortest text of a finite value in the host's notation. Where 15 digits or fewer read back to a normal number,
 * they are what %.15g writes, for it drops trailing zeros; below the normal numbers any count may be the least. */
static void write_shortest(double value, char *text, size_t size)
{
    int exponent;
    for (int precision = fabs(value) < DBL_MIN ? 1 : 15; precision <= 16; precision++) {
        snprintf(text, size, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            return;
    }
    if (fabs(frexp(value, &exponent)) == 0.5 && sixteen_digits_above(value, text, size))
        return;
    snprintf(text, size, "%.17g", value);
}

void moeg_format_double(double value, char text[32])
{
    if (text == NULL)
        return;
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char host[64];
    write_shortest(value, host, sizeof host);
    /* What stands between the digits is the host's decimal point, of one byte or more. */
    const size_t whole = strspn(host, "-0123456789");
    const size_t point = strcspn(host + whole, "0123456789e");
    snprintf(text, 32, "%.*s%s%s", (int)whole, host, point > 0 ? "." : "", host + whole + point);
}
