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
                      const struct oriel_wish *wish, int64_t votes[ORIEL_VOTES])
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
    votes[ORIEL_VOTE_GENERAL] = ORIEL_ACCESS_IMMUTABLE - (int)wish->access;
    votes[ORIEL_VOTE_NO_LOCKS] = oriel_info_true(request->info, "no_locks");
    votes[ORIEL_VOTE_NATIVE] =
        request->kind == ORIEL_KIND_ALLOCATE && oriel_info_native_memory(request->info);
    votes[ORIEL_VOTE_TAKEOVER] = takeover;
    votes[ORIEL_VOTE_TAKEOVER_NEG] = -(int)takeover;
    votes[ORIEL_VOTE_REPORT] = oriel_layer.report || config->stats[0];
    votes[ORIEL_VOTE_STRICT] = config->strict && wish->serve && node_fails() &&
                               !oriel_engines_open(oriel_order_set(&order));
    votes[ORIEL_VOTE_HOST] = oriel_layer.host;
    votes[ORIEL_VOTE_HOST_NEG] = -(int64_t)oriel_layer.host;
    votes[ORIEL_VOTE_NODE_FAILS] = wish->serve && node_fails();
    votes[ORIEL_VOTE_AUTO] = wish->serve && !order.chosen;
    for (unsigned id = 0; id < ORIEL_ENGINE_COUNT; id++)
        votes[ORIEL_VOTE_ENGINE + id] =
            wish->serve && order.chosen && oriel_order_set(&order) >> id & 1;
}

unsigned oriel_votes_engines(const int64_t heard[ORIEL_VOTES])
{
    unsigned mine = oriel_order_set(&oriel_layer.engines), set = 0;
    bool spread = heard[ORIEL_VOTE_HOST] != -heard[ORIEL_VOTE_HOST_NEG] ||
                  heard[ORIEL_VOTE_NODE_FAILS];
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
