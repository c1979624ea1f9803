/*
 * ofi_signals.h - the program's signal handlers, kept from libraries that bring their
 * own: psm sets six when it is loaded, which print a backtrace and exit; shm sets four
 * when an endpoint is opened.
 */
#ifndef ORIEL_OFI_SIGNALS_H
#define ORIEL_OFI_SIGNALS_H

#include <signal.h>

enum { ORIEL_OFI_SIGNALS = 32 };

struct oriel_ofi_signals {
    struct sigaction actions[ORIEL_OFI_SIGNALS]; /* by number */
};

void oriel_ofi_signals_save(struct oriel_ofi_signals *signals);
/* Give back what changed since then. */
void oriel_ofi_signals_restore(const struct oriel_ofi_signals *signals);

#endif
