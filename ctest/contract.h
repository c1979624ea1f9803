/*
 * contract.h - the parts of the contract test.
 */
#ifndef ORIEL_CTEST_CONTRACT_H
#define ORIEL_CTEST_CONTRACT_H

struct oriel_engine;
struct oriel_transport;

/* A wait for an event that never comes would take for ever, or until some time-out;
 * a busy machine does not take so long. */
enum { CONTRACT_CLOSE_S = 3 };

/* Wrong keys, memory taken back, peers that stop, die or leave, forks. */
void contract_faults(const struct oriel_transport *transport,
                     struct oriel_engine *engine);

#endif
