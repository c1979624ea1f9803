/*
 * vote.h - what the ranks tell each other before a window is made.
 */
#ifndef ORIEL_PMPI_VOTE_H
#define ORIEL_PMPI_VOTE_H

#include "pmpi/create.h"

/* What every rank says at every window creation, and hears as the maximum. Short words:
 * the fastest path of MPICH over shared memory takes no more than 92 bytes. */
enum { ORIEL_HOST_PIECES = 3, ORIEL_HOST_BITS = 11 };
enum oriel_vote {
    ORIEL_VOTE_WANT,       /* serve this window */
    ORIEL_VOTE_LAYOUT,     /* version of this exchange and of the rows */
    ORIEL_VOTE_LAYOUT_NEG, /* its negative, to see whether all ranks say the same */
    ORIEL_VOTE_GENERAL,    /* 2 - access: the least that some rank promised wins */
    ORIEL_VOTE_NO_LOCKS,   /* info: no_locks */
    ORIEL_VOTE_NATIVE,     /* info asks something of the native memory */
    ORIEL_VOTE_TAKEOVER,   /* enum oriel_takeover */
    ORIEL_VOTE_TAKEOVER_NEG,
    ORIEL_VOTE_STRICT, /* ORIEL_STRICT, and no engine works here */
    ORIEL_VOTE_REPORT, /* counters are wanted */
    /* The node, in pieces; each equal to the maximum's on all ranks or else several. */
    ORIEL_VOTE_HOST,
    ORIEL_VOTE_HOST_NEG = ORIEL_VOTE_HOST + ORIEL_HOST_PIECES,
    /* The node engine does not work here. */
    ORIEL_VOTE_NODE_FAILS = ORIEL_VOTE_HOST_NEG + ORIEL_HOST_PIECES,
    ORIEL_VOTE_AUTO, /* wanted by whatever engines fit */
    /* + id: wanted by this engine, by name; builds may differ in their engines. */
    ORIEL_VOTE_ENGINE,
    ORIEL_VOTES = ORIEL_VOTE_ENGINE + 8
};
/* Of this exchange and of the rows, which hold something for each engine. */
enum { ORIEL_LAYOUT = 3 << 8 | ORIEL_ENGINE_COUNT };

void oriel_votes_cast(const struct oriel_request *request,
                      const struct oriel_wish *wish, int16_t votes[ORIEL_VOTES]);

/* The engines that this rank exposes its part by, opened: those that somebody named;
 * and where nobody chose, node, and between nodes the first fabric that works here. */
unsigned oriel_votes_engines(const int16_t heard[ORIEL_VOTES]);

/* The engines that this rank wants this window by, best first. */
struct oriel_order oriel_wish_order(const struct oriel_wish *wish);

#endif
