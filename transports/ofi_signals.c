#define _GNU_SOURCE

#include "transports/ofi_signals.h"

#include <string.h>

void oriel_ofi_signals_save(struct oriel_ofi_signals *signals)
{
    memset(signals, 0, sizeof *signals);
    for (int i = 1; i < ORIEL_OFI_SIGNALS; i++)
        sigaction(i, NULL, &signals->actions[i]);
}

/* sa_handler and sa_sigaction share their place. */
void oriel_ofi_signals_restore(const struct oriel_ofi_signals *signals)
{
    for (int i = 1; i < ORIEL_OFI_SIGNALS; i++) {
        const struct sigaction *before = &signals->actions[i];
        struct sigaction now;

        if (i == SIGKILL || i == SIGSTOP || sigaction(i, NULL, &now) != 0) continue;
        if (now.sa_handler != before->sa_handler || now.sa_flags != before->sa_flags)
            sigaction(i, before, NULL);
    }
}
