#include <moegeom/version.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *moeg_version(void)
{
    return TEXT(MOEG_VERSION_MAJOR) "." TEXT(MOEG_VERSION_MINOR) "." TEXT(MOEG_VERSION_PATCH);
}
