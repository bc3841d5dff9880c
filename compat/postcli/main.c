/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * postcli: the foreign tool's flags over the public interface of holdfast.
 * Modes in its order; what differs is told in compat/QUIRKS.md.
 */
#include "modes.h"
#include "say.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/*
 * A standard descriptor that the caller closed would become that of the next
 * file, and words would go into data. What takes its place fails on use.
 */
static void occupy_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1)
            continue;
        int got = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        if (got >= 0 && got != fd) {
            dup2(got, fd);
            close(got);
        }
    }
}

static int work(const struct flags *f)
{
    struct host h;
    if (!host_open_signals(&h, f))
        return END_FAILED;
    int end = f->verify             ? mode_verify(&h)
              : f->search_for_nonce ? mode_nonce(&h)
                                    : mode_init(&h);
    host_close(&h);
    return end;
}

int main(int argc, char **argv)
{
    struct flags f;
    occupy_descriptors();
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    switch (flags_read(&f, argc, argv)) {
    case FLAGS_GO:
        break;
    case FLAGS_HELP:
        return END_FINE;
    case FLAGS_WRONG:
        return END_PANIC;
    }
    if (f.ignored)
        say("WARNING: \"%s\" is no flag: it and all after it is ignored",
            f.ignored);
    int end = f.print_providers   ? mode_providers()
              : f.print_num_files ? mode_num_files(&f)
              : f.print_config    ? mode_config(&f)
                                  : work(&f);
    if (fflush(stdout) != 0 && end == END_FINE)
        end = END_FAILED;
    return end;
}
