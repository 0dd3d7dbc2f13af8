#include "base/memory.h"
#include "io/buffer.h"
#include "support/check.h"

static void bytes_are_kept_in_order(void **state)
{
    (void)state;
    moeg_buffer buffer = {0};
    for (int i = 0; i < 3000; i++)
        assert_int_equal(moeg_buffer_append(&buffer, &i, sizeof i), 0);
    assert_int_equal(buffer.used, 3000 * sizeof(int));
    for (int i = 0; i < 3000; i++)
        assert_int_equal(((const int *)buffer.data)[i], i);
    moeg_release(buffer.data);
}

static void no_room_for_more_than_there_can_be(void **state)
{
    (void)state;
    moeg_buffer buffer = {0};
    assert_int_equal(moeg_buffer_append(&buffer, "2.385", 5), 0);
    const moeg_buffer before = buffer;
    assert_int_not_equal(moeg_buffer_reserve(&buffer, SIZE_MAX - 4), 0); /* used + extra wraps to 0 */
    assert_int_not_equal(moeg_buffer_reserve(&buffer, SIZE_MAX - 5), 0);
    assert_memory_equal(&buffer, &before, sizeof before);
    assert_memory_equal(buffer.data, "2.385", 5);
    moeg_release(buffer.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_kept_in_order),
        cmocka_unit_test(no_room_for_more_than_there_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
