/*
 * device.h - is this address ordinary host memory?
 *
 * Only a process that has loaded a GPU runtime can hold other memory, and then that
 * runtime is asked. Oriel never loads one, and starts none.
 */
#ifndef ORIEL_DEVICE_H
#define ORIEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* True when the memory belongs to a device or moves between device and host (managed,
 * unified, shared), or when that cannot be told. bytes == 0 is never device memory.
 *
 * Cost    two loads where no GPU runtime is loaded and the address is near one that was
 *         asked about before; else about 70 ns, or what the runtime takes
 * Threads any
 */
bool oriel_device_memory(const void *ptr, size_t bytes);

/* Look for GPU runtimes that were loaded since the last call. oriel_device_memory
 * looks by itself; doing it where time does not matter (window creation) keeps the
 * first read fast. Threads any. */
void oriel_device_refresh(void);

#endif
