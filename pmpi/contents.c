#include "pmpi/contents.h"

#include "pmpi/native.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* How many of each the library keeps; counts: only of types that were made by a
 * large-count (_c) constructor, which keep all of theirs there. */
struct envelope {
    int combiner;
    MPI_Count ints, addresses, counts, types;
};

/* Room for what the library copies out, before it is put in order. */
struct raw {
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
};

static int envelope_read(MPI_Datatype type, struct envelope *out)
{
#if MPI_VERSION >= 4
    if (native.Type_get_envelope_c && native.Type_get_contents_c)
        return native.Type_get_envelope_c(type, &out->ints, &out->addresses,
                                          &out->counts, &out->types, &out->combiner)
                   ? -EIO
                   : 0;
#endif
    int ints, addresses, types;
    if (native.Type_get_envelope(type, &ints, &addresses, &types, &out->combiner))
        return -EIO;
    out->ints = ints;
    out->addresses = addresses;
    out->counts = 0;
    out->types = types;
    return 0;
}

static int arguments_read(MPI_Datatype type, const struct envelope *envelope,
                          const struct raw *raw, MPI_Datatype *types)
{
#if MPI_VERSION >= 4
    if (native.Type_get_envelope_c && native.Type_get_contents_c)
        return native.Type_get_contents_c(type, envelope->ints, envelope->addresses,
                                          envelope->counts, envelope->types, raw->ints,
                                          raw->addresses, raw->counts, types)
                   ? -EIO
                   : 0;
#endif
    return native.Type_get_contents(type, (int)envelope->ints, (int)envelope->addresses,
                                    (int)envelope->types, raw->ints, raw->addresses,
                                    types)
               ? -EIO
               : 0;
}

/* In the order of the constructor's arguments: integers come before addresses in all
 * of them. Only a subarray of the large kind mixes: its number of dimensions and its
 * storage order are integers, and the order is its last argument. */
static void put_in_order(const struct envelope *envelope, const struct raw *raw,
                         int64_t *args)
{
    MPI_Count n = 0, ints = envelope->ints;
    bool order_last = envelope->combiner == MPI_COMBINER_SUBARRAY &&
                      envelope->counts > 0 && ints == 2;
    if (order_last) ints = 1;
    for (MPI_Count i = 0; i < ints; i++)
        args[n++] = raw->ints[i];
    for (MPI_Count i = 0; i < envelope->addresses; i++)
        args[n++] = raw->addresses[i];
    for (MPI_Count i = 0; i < envelope->counts; i++)
        args[n++] = raw->counts[i];
    if (order_last) args[n] = raw->ints[1];
}

static int arguments_fill(MPI_Datatype type, const struct envelope *envelope,
                          struct oriel_contents *contents)
{
    /* One more than needed: libraries refuse NULL for an empty array. */
    struct raw raw = {
        .ints = calloc((size_t)envelope->ints + 1, sizeof *raw.ints),
        .addresses = calloc((size_t)envelope->addresses + 1, sizeof *raw.addresses),
        .counts = calloc((size_t)envelope->counts + 1, sizeof *raw.counts),
    };
    int rc = -ENOMEM;
    if (raw.ints && raw.addresses && raw.counts)
        rc = arguments_read(type, envelope, &raw, contents->types);
    if (!rc) put_in_order(envelope, &raw, contents->args);
    free(raw.counts);
    free(raw.addresses);
    free(raw.ints);
    return rc;
}

int oriel_contents_read(MPI_Datatype type, struct oriel_contents *out)
{
    struct envelope envelope;
    int rc = envelope_read(type, &envelope);
    if (rc) return rc;
    if (envelope.addresses > 0 && envelope.counts > 0) return -EIO;
    struct oriel_contents contents = {
        .combiner = envelope.combiner,
        .n_args = (size_t)(envelope.ints + envelope.addresses + envelope.counts),
        .n_types = (size_t)envelope.types,
    };
    if (contents.combiner == MPI_COMBINER_NAMED) {
        *out = contents;
        return 0;
    }
    contents.args = calloc(contents.n_args + 1, sizeof *contents.args);
    contents.types = calloc(contents.n_types + 1, sizeof *contents.types);
    rc = -ENOMEM;
    if (contents.args && contents.types)
        rc = arguments_fill(type, &envelope, &contents);
    if (rc) {
        free(contents.types);
        free(contents.args);
        return rc;
    }
    *out = contents;
    return 0;
}

int oriel_contents_combiner(MPI_Datatype type, int *out)
{
    struct envelope envelope;
    int rc = envelope_read(type, &envelope);
    if (!rc) *out = envelope.combiner;
    return rc;
}

/* Predefined types must not be freed, and Fortran's parametric ones count as such. */
static bool is_predefined(MPI_Datatype type)
{
    int combiner;
    if (oriel_contents_combiner(type, &combiner)) return true;
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

void oriel_contents_fini(struct oriel_contents *contents)
{
    for (size_t i = 0; i < contents->n_types; i++)
        if (!is_predefined(contents->types[i])) native.Type_free(&contents->types[i]);
    free(contents->types);
    free(contents->args);
    *contents = (struct oriel_contents){.combiner = MPI_COMBINER_NAMED};
}
