#include <moegeom/status.h>

const char *moeg_strerror(moeg_status status)
{
    switch (status) {
#define MOEG_STATUS_TEXT(name, value, text)                                                                            \
    case name:                                                                                                         \
        return text;
        MOEG_STATUS_LIST(MOEG_STATUS_TEXT)
#undef MOEG_STATUS_TEXT
    }
    return "unknown status";
}

const char *moeg_status_name(moeg_status status)
{
    switch (status) {
#define MOEG_STATUS_NAME(name, value, text)                                                                            \
    case name:                                                                                                         \
        return #name;
        MOEG_STATUS_LIST(MOEG_STATUS_NAME)
#undef MOEG_STATUS_NAME
    }
    return "unknown";
}
