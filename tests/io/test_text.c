#include "io/text.h"
#include "support/check.h"

#include <string.h>

static void long_paths_lose_their_beginning(void **state)
{
    (void)state;
    char path[300];
    memset(path, 'a', sizeof path);
    path[200] = '\0';
    assert_ptr_equal(moeg_text_path(path), path);
    path[200] = 'b';
    path[201] = '\0';
    assert_ptr_equal(moeg_text_path(path), path + 1);
}

/* The cut would leave the last 1, 2 or 3 bytes of a UTF-8 character: they go too. */
static void characters_are_not_cut(void **state)
{
    (void)state;
    for (size_t left = 0; left <= 4; left++) {
        char path[300];
        memset(path, 'a', sizeof path);
        memcpy(path + 10, "\xf0\x9f\x8c\xa1", 4);
        path[10 + 4 - left + 200] = '\0';
        assert_ptr_equal(moeg_text_path(path), left == 4 ? path + 10 : path + 14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_paths_lose_their_beginning),
        cmocka_unit_test(characters_are_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
