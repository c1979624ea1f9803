/*
 * gate.h - the exported MPI_* symbols and where they lead.
 *
 * Every entry is one indirect jump. It hands its arguments on as machine words,
 * so it is right under an MPI library whose handles have another size, too.
 */
#ifndef ORIEL_PMPI_GATE_H
#define ORIEL_PMPI_GATE_H

#include <stdbool.h>

enum oriel_gate {
    ORIEL_GATE_ASIDE,  /* every entry leads to the MPI library */
    ORIEL_GATE_WATCH,  /* entries of kind ALWAYS lead to wrappers */
    ORIEL_GATE_WINDOW, /* all entries lead to wrappers */
};

/* Threads: any; an entry that is being called meanwhile takes either way. */
void oriel_gate_set(enum oriel_gate gate);

/* Is there another tool before us, which wraps functions that we do, too? What it calls
 * then are PMPI_* functions, and we do not see them. Threads: any. */
bool oriel_gate_hidden(void);

#endif
