/* Numbers in text: the grammar behind moeg_parse_double() and the CSV reader. */
#ifndef MOEG_IO_NUMBER_H
#define MOEG_IO_NUMBER_H

#include <locale.h>

typedef enum moeg_number {
    MOEG_NUMBER_OK = 0,
    MOEG_NUMBER_NONE = 1,        /* not a number, or something behind it */
    MOEG_NUMBER_OUT_OF_RANGE = 2 /* a number, beyond the largest double */
} moeg_number;

/* The C locale, to be given back to freelocale(); (locale_t)0 if there is no memory. */
locale_t moeg_number_locale(void);

/* Reads a double from the whole of a string, blanks around it allowed; *value is written on MOEG_NUMBER_OK only. The
 * thread's locale is switched to c_locale around strtod() and put back: the host's locale does not matter and is not
 * changed. */
moeg_number moeg_number_read(locale_t c_locale, const char *text, double *value);

#endif
