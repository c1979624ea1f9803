#define _GNU_SOURCE
#include "pmpi/vote.h"
#include "core/config.h"

#include <string.h>

struct oriel_order oriel_wish_order(const struct oriel_wish *wish)
{
    return wish->serve ? oriel_order_for(&wish->engines, &oriel_layer.engines)
                       : (struct oriel_order){0};
}

static bool node_fails(void)
{
    return !oriel_engines_open(oriel_order_set(&oriel_layer.engines) &
                               1u << ORIEL_ENGINE_ID_node);
}

void oriel_votes_cast(const struct oriel_request *request,
                      const struct oriel_wish *wish, int16_t votes[ORIEL_VOTES])
{
    const struct oriel_config *config = oriel_config_get();
    enum oriel_takeover takeover = oriel_takeover_known();
    struct oriel_order order = oriel_wish_order(wish);
    _Static_assert(ORIEL_VOTE_ENGINE + ORIEL_ENGINE_COUNT <= ORIEL_VOTES,
                   "a vote each");
    memset(votes, 0, ORIEL_VOTES * sizeof votes[0]);
    votes[ORIEL_VOTE_WANT] = wish->serve;
    votes[ORIEL_VOTE_LAYOUT] = ORIEL_LAYOUT;
    votes[ORIEL_VOTE_LAYOUT_NEG] = -ORIEL_LAYOUT;
    votes[ORIEL_VOTE_GENERAL] = (int16_t)(ORIEL_ACCESS_IMMUTABLE - (int)wish->access);
    votes[ORIEL_VOTE_NO_LOCKS] = oriel_info_true(request->info, "no_locks");
    votes[ORIEL_VOTE_NATIVE] =
        request->kind == ORIEL_KIND_ALLOCATE && oriel_info_native_memory(request->info);
    votes[ORIEL_VOTE_TAKEOVER] = (int16_t)takeover;
    votes[ORIEL_VOTE_TAKEOVER_NEG] = (int16_t) - (int)takeover;
    votes[ORIEL_VOTE_REPORT] = oriel_layer.report || config->stats[0];
    votes[ORIEL_VOTE_STRICT] = config->strict && wish->serve && node_fails() &&
                               !oriel_engines_open(oriel_order_set(&order));
    for (int i = 0; i < ORIEL_HOST_PIECES; i++) {
        unsigned piece = oriel_layer.host >> i * ORIEL_HOST_BITS;
        votes[ORIEL_VOTE_HOST + i] = (int16_t)(piece & ((1u << ORIEL_HOST_BITS) - 1));
        votes[ORIEL_VOTE_HOST_NEG + i] = (int16_t)-votes[ORIEL_VOTE_HOST + i];
    }
    votes[ORIEL_VOTE_NODE_FAILS] = wish->serve && node_fails();
    votes[ORIEL_VOTE_AUTO] = wish->serve && !order.chosen;
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++)
        votes[ORIEL_VOTE_ENGINE + id] =
            wish->serve && order.chosen && oriel_order_set(&order) >> id & 1;
}

unsigned oriel_votes_engines(const int16_t heard[ORIEL_VOTES])
{
    unsigned mine = oriel_order_set(&oriel_layer.engines), set = 0;
    bool spread = heard[ORIEL_VOTE_NODE_FAILS];
    for (int i = 0; i < ORIEL_HOST_PIECES; i++)
        spread |= heard[ORIEL_VOTE_HOST + i] != -heard[ORIEL_VOTE_HOST_NEG + i];
    for (int id = 0; id < ORIEL_ENGINE_COUNT; id++)
        if (heard[ORIEL_VOTE_ENGINE + id]) set |= oriel_engines_open(mine & 1u << id);
    if (!heard[ORIEL_VOTE_AUTO]) return set;
    unsigned fabric = 0;
    for (int i = 0; i < oriel_layer.engines.n; i++) {
        unsigned bit = 1u << oriel_layer.engines.id[i];
        if (bit == 1u << ORIEL_ENGINE_ID_node)
            set |= oriel_engines_open(bit);
        else if (spread && !fabric)
            set |= fabric = oriel_engines_open(bit);
    }
    return set;
}
