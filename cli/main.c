/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The tool `holdfast`: a person's way to the library, and the first host that
 * stands on the public headers alone.
 */
#include "commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

static int run(struct ui *ui, const struct args *args)
{
    static int (*const run_of[CMD_COUNT])(struct ui *, const struct args *) = {
        [CMD_INIT] = cmd_init,     [CMD_STATUS] = cmd_status,
        [CMD_NONCE] = cmd_nonce,   [CMD_PROVE] = cmd_prove,
        [CMD_VERIFY] = cmd_verify, [CMD_BENCH] = cmd_bench,
        [CMD_INFO] = cmd_info,
    };
    return run_of[args->command](ui, args);
}

static void say_version(struct ui *ui)
{
    ui_out(ui, "holdfast " HF_VERSION "\n");
    if (strcmp(hf_version(), HF_VERSION) != 0)
        ui_out(ui, "library %s\n", hf_version());
}

int main(int argc, char **argv)
{
    struct ui ui;
    struct args args;
    hf_error err = {.code = HF_OK};
    int code = EXIT_FINE;
    occupy_descriptors();
    /* Files are for their owner, and a reader that went away is an error of
     * writing, not the end of an initialisation. */
    umask(umask(0) | 077);
    signal(SIGPIPE, SIG_IGN);
    hf_status s = args_parse(&args, argc, argv, &err);
    ui_init(&ui, args.json);
    ui.quiet = args_has(&args, OPT_QUIET);
    if (s != HF_OK) {
        code = ui_error(&ui, &err, NULL, args.hint);
    } else if (args.wish == ARGS_VERSION) {
        say_version(&ui);
    } else if (args.wish == ARGS_HELP) {
        struct text t = {0};
        args_help(&t, args.command);
        if (t.data)
            ui_out(&ui, "%s", t.data);
        text_free(&t);
    } else {
        code = run(&ui, &args);
    }
    args_free(&args);
    return ui_finish(&ui, code);
}
