#define _GNU_SOURCE
#include "core/scratch.h"

#include <pthread.h>
#include <stdlib.h>

enum { KEPT = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *kept[KEPT]; /* owned */
static unsigned kept_n;

void *oriel_scratch_take(void)
{
    void *buffer = NULL;
    pthread_mutex_lock(&lock);
    if (kept_n) buffer = kept[--kept_n];
    pthread_mutex_unlock(&lock);
    return buffer ? buffer : malloc(ORIEL_SCRATCH_BYTES);
}

void oriel_scratch_give(void *buffer)
{
    if (!buffer) return;
    pthread_mutex_lock(&lock);
    if (kept_n < KEPT) {
        kept[kept_n++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

/* What is kept is no leak. */
__attribute__((destructor)) static void release(void)
{
    while (kept_n)
        free(kept[--kept_n]);
}
