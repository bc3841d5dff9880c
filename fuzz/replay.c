/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs a fuzz target on every file of the folders given, says how many, and
 * fails if there is none: a corpus that is not found must not pass.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST ((size_t)16 << 20)

static int run_file(const char *path, uint8_t *buffer)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    size_t size = fread(buffer, 1, LARGEST, f);
    int failed = ferror(f) || size == LARGEST;
    (void)fclose(f);
    if (failed) {
        (void)fprintf(stderr, "%s: unreadable or too large\n", path);
        return 1;
    }
    return LLVMFuzzerTestOneInput(buffer, size);
}

/* How many files there were; negative if one could not be run. */
static long run_folder(const char *folder, uint8_t *buffer)
{
    long count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        return -1;
    }
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (run_file(path, buffer) != 0) {
            count = -1;
            break;
        }
        count++;
    }
    (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    long total = 0;
    uint8_t *buffer = malloc(LARGEST);
    if (buffer == NULL)
        return 1;
    for (int i = 1; i < argc; i++) {
        long n = run_folder(argv[i], buffer);
        if (n <= 0) {
            (void)fprintf(stderr, "%s: no input was run\n", argv[i]);
            free(buffer);
            return 1;
        }
        total += n;
    }
    free(buffer);
    (void)printf("%ld inputs\n", total);
    return total > 0 ? 0 : 1;
}
