/* Gives each file named on the command line to the fuzz target once: the corpus as a test, for any compiler. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return -1;
    const long size = ftell(file);
    /* Exactly as large as the input, so that a sanitizer sees a read past its end. */
    uint8_t *data = size >= 0 ? malloc((size_t)size + (size == 0)) : NULL;
    rewind(file);
    const int complete = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (complete)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return complete ? 0 : -1;
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        if (replay(arguments[i]) != 0) {
            perror(arguments[i]);
            return EXIT_FAILURE;
        }
    printf("%d inputs\n", count - 1);
    /* An empty corpus tests nothing. */
    return count > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
