#include "io/npy_header.h"

#include "base/error.h"
#include "io/text.h"

#include <stdint.h>
#include <string.h>

static const char npy_read[] = "npy_read";

int moeg_npy_size(size_t dims, const size_t *shape, size_t *size)
{
    size_t product = 1, bytes;
    int is_empty = 0;
    for (size_t j = 0; j < dims; j++) {
        is_empty |= shape[j] == 0;
        if (shape[j] != 0 && moeg_multiply_overflows(product, shape[j], &product))
            return -1;
    }
    if (moeg_multiply_overflows(product, sizeof(double), &bytes))
        return -1;
    *size = is_empty ? 0 : product;
    return 0;
}

typedef struct parser {
    const char *name;
    const char *start;
    const char *at;
    const char *end;
} parser;

/* What follows here in the header, or the end of it, is not what was expected. */
static moeg_status fail_expected(const parser *p, const char *expected)
{
    char quoted[MOEG_TEXT_QUOTED];
    const size_t left = (size_t)(p->end - p->at), shown = left < 24 ? left : 24;
    return moeg_fail(MOEG_EFORMAT, "%s: %s: header, byte %zu: expected %s, got %s", npy_read, p->name,
                     (size_t)(p->at - p->start), expected,
                     left == 0 ? "the end of the header" : moeg_text_quote(p->at, shown, quoted));
}

static void skip_space(parser *p)
{
    while (p->at < p->end && *p->at != '\0' && strchr(" \t\r\n", *p->at) != NULL)
        p->at++;
}

/* Takes the text if it comes next, after white space. */
static int take(parser *p, const char *text)
{
    const size_t n = strlen(text);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return 0;
    p->at += n;
    return 1;
}

static moeg_status expect(parser *p, const char *text, const char *expected)
{
    return take(p, text) ? MOEG_OK : fail_expected(p, expected);
}

/* A string in single or double quotes, without escapes: none of the words there can be needs one. */
static moeg_status parse_string(parser *p, const char *expected, const char **text, size_t *length)
{
    const char quote = take(p, "'") ? '\'' : '"';
    if (quote == '"' && !take(p, "\""))
        return fail_expected(p, expected);
    const char *closing = memchr(p->at, quote, (size_t)(p->end - p->at));
    if (closing == NULL)
        return fail_expected(p, "a string with a closing quote");
    *text = p->at;
    *length = (size_t)(closing - p->at);
    p->at = closing + 1;
    return MOEG_OK;
}

static int equals(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static moeg_status parse_descr(parser *p, moeg_npy_header *header)
{
    const char *text = NULL;
    size_t length = 0;
    const char expected[] = "dtype '<f4', '>f4', '<f8' or '>f8'";
    const moeg_status status = parse_string(p, expected, &text, &length);
    if (status != MOEG_OK)
        return status;
    const int is_f8 = equals(text, length, "<f8") || equals(text, length, ">f8");
    if (!is_f8 && !equals(text, length, "<f4") && !equals(text, length, ">f4")) {
        char quoted[MOEG_TEXT_QUOTED];
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected %s, got %s", npy_read, p->name, expected,
                         moeg_text_quote(text, length, quoted));
    }
    header->item = is_f8 ? 8 : 4;
    header->is_big_endian = text[0] == '>';
    return MOEG_OK;
}

static moeg_status parse_order(parser *p, moeg_npy_header *header)
{
    header->is_fortran = take(p, "True");
    return header->is_fortran ? MOEG_OK : expect(p, "False", "True or False for fortran_order");
}

static int is_digit(const parser *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static moeg_status parse_size(parser *p, size_t *size)
{
    skip_space(p);
    const parser first = *p;
    size_t value = 0;
    for (; is_digit(p); p->at++) {
        const size_t digit = (size_t)(*p->at - '0');
        if (value > (SIZE_MAX - digit) / 10)
            return fail_expected(&first, "a size that fits in memory");
        value = 10 * value + digit;
    }
    /* Python writes no leading zeros. */
    if (p->at == first.at || (*first.at == '0' && p->at - first.at > 1))
        return fail_expected(&first, "a size");
    *size = value;
    return MOEG_OK;
}

/* A Python tuple: (), (3,), (3, 4), (3, 4,); one element without a comma would be no tuple. */
static moeg_status parse_shape(parser *p, moeg_npy_header *header)
{
    moeg_status status = expect(p, "(", "a tuple for shape");
    for (size_t j = 0; j < MOEG_NPY_MAX_DIMS; j++)
        header->shape[j] = 1;
    header->dims = 0;
    int has_comma = 1;
    while (status == MOEG_OK && !take(p, ")")) {
        if (!has_comma)
            return fail_expected(p, "a comma or ) in shape");
        if (header->dims == MOEG_NPY_MAX_DIMS)
            return moeg_fail(MOEG_EFORMAT, "%s: %s: expected at most %d dimensions, got more", npy_read, p->name,
                             MOEG_NPY_MAX_DIMS);
        status = parse_size(p, &header->shape[header->dims]);
        header->dims++;
        has_comma = status == MOEG_OK && take(p, ",");
        if (status == MOEG_OK && header->dims == 1 && !has_comma)
            return fail_expected(p, "a comma in shape");
    }
    return status;
}

static const struct key {
    const char *name;
    moeg_status (*parse)(parser *p, moeg_npy_header *header);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};

enum { KEYS = sizeof keys / sizeof keys[0] };

/* One entry of the dictionary; seen[k] counts those of key k. */
static moeg_status parse_entry(parser *p, moeg_npy_header *header, int seen[KEYS])
{
    const char *text = NULL;
    size_t length = 0;
    skip_space(p);
    const parser start = *p;
    moeg_status status = parse_string(p, "a key in quotes, or }", &text, &length);
    if (status != MOEG_OK)
        return status;
    for (int k = 0; k < KEYS; k++)
        if (equals(text, length, keys[k].name)) {
            if (seen[k]++ > 0)
                return fail_expected(&start, "each key once");
            status = expect(p, ":", "a colon");
            return status == MOEG_OK ? keys[k].parse(p, header) : status;
        }
    return fail_expected(&start, "one of the keys descr, fortran_order, shape");
}

moeg_status moeg_npy_parse_header(const char *name, const char *text, size_t length, moeg_npy_header *header)
{
    parser p = {.name = name, .start = text, .at = text, .end = text + length};
    int seen[KEYS] = {0};
    moeg_status status = expect(&p, "{", "a dictionary");
    int has_comma = 1;
    while (status == MOEG_OK && !take(&p, "}")) {
        if (!has_comma)
            return fail_expected(&p, "a comma or }");
        status = parse_entry(&p, header, seen);
        has_comma = take(&p, ",");
    }
    if (status != MOEG_OK)
        return status;
    skip_space(&p);
    if (p.at < p.end)
        return fail_expected(&p, "nothing behind the dictionary");
    for (int k = 0; k < KEYS; k++)
        if (seen[k] == 0)
            return moeg_fail(MOEG_EFORMAT, "%s: %s: header: expected the key %s, which is missing", npy_read, name,
                             keys[k].name);
    return MOEG_OK;
}
