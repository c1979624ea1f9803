/*
 * ofi_hangup.h - end connections from below.
 */
#ifndef ORIEL_OFI_HANGUP_H
#define ORIEL_OFI_HANGUP_H

#include <stddef.h>

/* Shut down this process's TCP connections to that address, a socket address such as
 * a serving endpoint listens at: nobody but readers like us has one. Their owner, the
 * provider, finds them ended the next time it looks. Returns how many there were. */
int oriel_ofi_hangup(const void *address, size_t address_bytes);

#endif
