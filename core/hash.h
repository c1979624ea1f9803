/*
 * hash.h - the only place that includes uthash: out of memory is an error to
 * report, never an exit.
 */
#ifndef ORIEL_HASH_H
#define ORIEL_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
