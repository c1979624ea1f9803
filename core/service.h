/*
 * service.h - the thread that serves remote reads.
 *
 * Software fabrics answer a remote read only while somebody polls at the target. One
 * thread a process does so for all engines that ask for it: it spins for ORIEL_SPIN_US
 * after traffic and else sleeps on the engines' descriptors.
 */
#ifndef ORIEL_SERVICE_H
#define ORIEL_SERVICE_H

#include "transports/transport.h"

/* Serve this engine from now on; the first one starts the thread. An engine without
 * serve, or whose serve says -ENOTSUP, needs none: success, and no thread.
 * Returns 0; -ENOMEM, -EAGAIN or -EMFILE: no thread or no descriptor left, and peers'
 * reads would wait for ever: expose nothing by this engine.
 * Threads: any. */
int oriel_service_add(const struct oriel_transport *transport,
                      struct oriel_engine *engine);

/* Serve this engine no more; the last one ends the thread. On return it is not in the
 * engine any longer. Does nothing for an engine that was not added, and in a fork
 * child. Threads: any. Blocks: for one round of serve. */
void oriel_service_remove(struct oriel_engine *engine);

#endif
