/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * -reset, the one mode that deletes labels. Its main invariant: what is deleted
 * was named with its bytes, and the answer to that list was y; -yes is no
 * answer where labels are stored.
 */
#include "modes.h"
#include "say.h"

#include <holdfast/space.h>

#include <inttypes.h>

static bool in_use(const struct host *h)
{
    hf_space_status st = {.size = sizeof st};
    hf_error err;
    if (hf_space_get_status(&st, h->flags->datadir, &err) != HF_OK ||
        !st.writer_alive)
        return false;
    say("reset error: process %" PRIu64 " writes to %s: stop it first",
        st.writer_pid, h->flags->datadir);
    return true;
}

int reset_run(struct host *h, const struct folder *folder)
{
    if (in_use(h))
        return END_FAILED;
    if (folder->count == 0 && !folder->has_meta && !folder->has_sidecar) {
        say("cli: there is nothing to delete in %s", h->flags->datadir);
        say("cli: reset completed");
        return END_FINE;
    }
    folder_tell(folder);
    if (h->flags->yes && folder->labels > 0)
        say("-yes does not cover the deletion of initialized data.");
    if (!host_ask(h, folder->labels == 0))
        return END_FAILED;
    if (!folder_delete(folder)) {
        say("reset error: not everything was deleted");
        return END_FAILED;
    }
    say("cli: reset completed");
    return END_FINE;
}
