#define _GNU_SOURCE
#include "pmpi/datatype.h"

#include "pmpi/contents.h"
#include "pmpi/flatten.h"
#include "pmpi/native.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Predefined types: a table that is only written by init and fini. ---- */

enum {
    BASIC_BITS = 8,
    BASIC_SLOTS = 1 << BASIC_BITS,
    BASIC_MAX = BASIC_SLOTS / 2, /* half empty, so that a miss ends soon */
};

/* A handle's bits, whether it is an integer or a pointer. */
typedef uint64_t type_key;

static type_key key_of(MPI_Datatype type)
{
    return (type_key)(uintptr_t)type;
}

/* Multiplicative: the library's handles differ in whatever bits it likes. */
static unsigned hash_of(type_key key, unsigned bits)
{
    return (unsigned)((key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
}

struct basic {
    type_key key;
    bool used;
    const struct oriel_layout *layout; /* NULL: nothing to copy, or not known */
};
static struct basic basics[BASIC_SLOTS];

static struct {
    struct oriel_layout layout;
    struct oriel_piece pieces[2];
} basic_storage[BASIC_MAX];
static size_t basic_n;

static bool basic_find(type_key key, const struct oriel_layout **out)
{
    unsigned i = hash_of(key, BASIC_BITS);
    for (; basics[i].used; i = (i + 1) % BASIC_SLOTS) {
        if (basics[i].key == key) {
            *out = basics[i].layout;
            return true;
        }
    }
    return false;
}

bool oriel_datatype_basic(MPI_Datatype type, const struct oriel_layout **out)
{
    return basic_find(key_of(type), out);
}

static void basic_insert(type_key key, const struct oriel_layout *layout)
{
    unsigned i = hash_of(key, BASIC_BITS);
    while (basics[i].used)
        i = (i + 1) % BASIC_SLOTS;
    basics[i] = (struct basic){.key = key, .used = true, .layout = layout};
}

/* Where a predefined type should have its data: bytes at 0, second_bytes at second. */
struct expected {
    int64_t bytes, second, second_bytes, extent;
};

/* Known names stay in the table also when they have nothing to copy, as Open MPI's
 * stand-ins for types that its compiler lacks, or are not as expected. */
static void basic_add(MPI_Datatype type, const struct expected *expected)
{
    const struct oriel_layout *found;
    struct oriel_measure m;
    type_key key = key_of(type);
    /* 0: Open MPI exports no such object. */
    if (key == 0 || basic_find(key, &found) || basic_n == BASIC_MAX) return;
    if (oriel_measure_type(type, &m)) return;
    struct expected row = {.bytes = m.bytes, .extent = m.bytes};
    if (!expected) expected = &row;
    bool two = expected->second_bytes > 0;
    int64_t high = two ? expected->second + expected->second_bytes : expected->bytes;
    if (m.bytes <= 0 || m.bytes != expected->bytes + expected->second_bytes || m.lb ||
        m.true_lb || m.extent != expected->extent || m.true_extent < high ||
        m.true_extent > m.extent) {
        basic_insert(key, NULL);
        return;
    }
    struct oriel_layout *layout = &basic_storage[basic_n].layout;
    struct oriel_piece *pieces = basic_storage[basic_n].pieces;
    basic_n++;
    pieces[0] = (struct oriel_piece){0, (uint64_t)expected->bytes};
    pieces[1] =
        (struct oriel_piece){expected->second, (uint64_t)expected->second_bytes};
    *layout = (struct oriel_layout){.bytes = (uint64_t)m.bytes,
                                    .extent = m.extent,
                                    .low = 0,
                                    .high = high,
                                    .contiguous = !two && m.extent == m.bytes,
                                    .n = two ? 2 : 1,
                                    .pieces = pieces};
    basic_insert(key, layout);
}

static void pair_add(MPI_Datatype type, size_t value, size_t index, size_t whole)
{
    struct expected pair = {.bytes = (int64_t)value, .extent = (int64_t)whole};
    if (index == value) {
        pair.bytes += (int64_t)sizeof(int);
    } else {
        pair.second = (int64_t)index;
        pair.second_bytes = sizeof(int);
    }
    basic_add(type, &pair);
}

static void basic_fill(void)
{
    basic_insert(key_of(MPI_DATATYPE_NULL), NULL);
#define ORIEL_BASIC(name) basic_add(name, NULL);
#define ORIEL_PAIR(name, value_type)                                                   \
    {                                                                                  \
        struct pair {                                                                  \
            value_type value;                                                          \
            int index;                                                                 \
        };                                                                             \
        pair_add(name, sizeof(value_type), offsetof(struct pair, index),               \
                 sizeof(struct pair));                                                 \
    }
#include "pmpi/basic.def"
#undef ORIEL_BASIC
#undef ORIEL_PAIR
}

/* ---- Derived types: an attribute of the type, and a cache before it. ---- */

/* The attribute's value. unusable, and not a copy of it, says that the type goes
 * native. */
struct derived {
    struct oriel_layout layout;
    struct oriel_piece pieces[];
};
static struct derived unusable;

static bool started;
static atomic_bool ready; /* for derived types: there is a communicator to check on */
static int keyval;
static MPI_Comm private_comm;

/* Held while a type is flattened, so that it is done once. MPI is called meanwhile:
 * whoever waits here gives up after a second, should a callback of the program's own
 * wait for the holder, and then the read is native. */
static pthread_mutex_t flatten_mutex = PTHREAD_MUTEX_INITIALIZER;

enum { CACHE_BITS = 8, CACHE_SLOTS = 1 << CACHE_BITS };

/* One type a slot; odd version: being written. Written under cache_mutex. */
struct cached {
    _Atomic uint64_t version;
    _Atomic type_key key; /* 0 at first: a handle that no type has */
    const struct oriel_layout *_Atomic layout;
};
static struct cached cache[CACHE_SLOTS];
static pthread_mutex_t cache_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A hit is good: a type is forgotten before its handle is used again, and nobody may
 * use a handle while another thread frees it. Acquire loads keep the second look at
 * the version behind the values. */
static bool cache_find(type_key key, const struct oriel_layout **out)
{
    struct cached *slot = &cache[hash_of(key, CACHE_BITS)];
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    type_key found = atomic_load_explicit(&slot->key, memory_order_acquire);
    const struct oriel_layout *layout =
        atomic_load_explicit(&slot->layout, memory_order_acquire);
    if (found != key || version % 2 ||
        version != atomic_load_explicit(&slot->version, memory_order_relaxed))
        return false;
    *out = layout;
    return true;
}

/* Release stores keep the odd version before the new values, and those before the
 * even one. */
static void slot_write(struct cached *slot, type_key key,
                       const struct oriel_layout *layout)
{
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    atomic_store_explicit(&slot->version, version + 1, memory_order_relaxed);
    atomic_store_explicit(&slot->key, key, memory_order_release);
    atomic_store_explicit(&slot->layout, layout, memory_order_release);
    atomic_store_explicit(&slot->version, version + 2, memory_order_release);
}

static void cache_insert(type_key key, const struct oriel_layout *layout)
{
    pthread_mutex_lock(&cache_mutex);
    slot_write(&cache[hash_of(key, CACHE_BITS)], key, layout);
    pthread_mutex_unlock(&cache_mutex);
}

static void cache_forget(type_key key)
{
    struct cached *slot = &cache[hash_of(key, CACHE_BITS)];
    pthread_mutex_lock(&cache_mutex);
    if (atomic_load_explicit(&slot->key, memory_order_relaxed) == key)
        slot_write(slot, 0, NULL);
    pthread_mutex_unlock(&cache_mutex);
}

/* A duplicate is another type: it is flattened when it is used. */
static int copy_nothing(MPI_Datatype type, int key, void *extra, void *value,
                        void *value_out, int *flag)
{
    (void)type, (void)key, (void)extra, (void)value, (void)value_out;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The type goes. Called from inside MPI, perhaps after fini: no MPI call, and no lock
 * that is held during one. */
static int delete_derived(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)key, (void)extra;
    cache_forget(key_of(type));
    if (value != &unusable) free(value);
    return MPI_SUCCESS;
}

/* False for an invalid or uncommitted type, with the same checks that the library
 * makes for a Get, but on a communicator whose errors are ours: the program's error
 * handlers stay for the native call to invoke. (MPICH's MPI_Send to MPI_PROC_NULL
 * does not look at the type.) */
static bool is_committed(MPI_Datatype type)
{
    char packed[8];
    int position = 0;
    return !native.Pack(NULL, 0, type, packed, 0, &position, private_comm);
}

static struct derived *attached(MPI_Datatype type)
{
    void *value = NULL;
    int found = 0;
    if (native.Type_get_attr(type, keyval, &value, &found)) return NULL;
    return found ? value : NULL;
}

static struct derived *derived_create(const struct oriel_flat *flat)
{
    size_t n = flat->list.n;
    struct derived *derived = malloc(sizeof *derived + n * sizeof *derived->pieces);
    if (!derived) return NULL;
    if (n > 0) memcpy(derived->pieces, flat->list.pieces, n * sizeof *derived->pieces);
    int64_t extent = flat->ub - flat->lb;
    derived->layout = (struct oriel_layout){
        .bytes = flat->bytes,
        .extent = extent,
        .low = flat->low,
        .high = flat->high,
        .contiguous = n == 1 && flat->low == 0 && extent == (int64_t)flat->bytes,
        .n = n,
        .pieces = derived->pieces,
    };
    return derived;
}

/* Flatten a type and attach the outcome. NULL, and nothing is attached, when it may
 * go better next time. */
static struct derived *attach(MPI_Datatype type)
{
    struct oriel_flat flat;
    struct derived *derived = &unusable;
    int rc = oriel_flatten(type, &flat);
    if (rc == -ENOMEM) return NULL;
    if (!rc) {
        derived = derived_create(&flat);
        oriel_pieces_fini(&flat.list);
        if (!derived) return NULL;
    }
    if (native.Type_set_attr(type, keyval, derived)) {
        if (derived != &unusable) free(derived);
        return NULL;
    }
    return derived;
}

static struct derived *attach_once(MPI_Datatype type)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (pthread_mutex_timedlock(&flatten_mutex, &until)) return NULL;
    struct derived *derived = attached(type);
    if (!derived) derived = attach(type);
    pthread_mutex_unlock(&flatten_mutex);
    return derived;
}

/* Off the hot path: a type's first use, or its slot was taken by another one. */
static const struct oriel_layout *find_derived(MPI_Datatype type)
{
    int combiner;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) return NULL;
    if (!is_committed(type)) return NULL;
    /* Predefined types that basic.def does not name, and what a library without
     * checks lets through. */
    if (oriel_contents_combiner(type, &combiner) || combiner == MPI_COMBINER_NAMED)
        return NULL;
    struct derived *derived = attached(type);
    if (!derived) derived = attach_once(type);
    if (!derived) return NULL;
    const struct oriel_layout *layout = derived == &unusable ? NULL : &derived->layout;
    cache_insert(key_of(type), layout);
    return layout;
}

const struct oriel_layout *oriel_datatype_layout(MPI_Datatype type)
{
    const struct oriel_layout *layout;
    type_key key = key_of(type);
    if (basic_find(key, &layout) || cache_find(key, &layout)) return layout;
    return find_derived(type);
}

int oriel_datatype_init(MPI_Comm comm)
{
    if (native.Type_create_keyval(copy_nothing, delete_derived, &keyval, NULL))
        return -EIO;
    private_comm = comm;
    basic_fill();
    started = true;
    atomic_store_explicit(&ready, comm != MPI_COMM_NULL, memory_order_release);
    return 0;
}

void oriel_datatype_fini(void)
{
    if (!started) return;
    started = false;
    atomic_store_explicit(&ready, false, memory_order_release);
    /* Layouts stay with their types, which the program frees when it likes. */
    native.Type_free_keyval(&keyval);
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        cache_forget(atomic_load_explicit(&cache[i].key, memory_order_relaxed));
    memset(basics, 0, sizeof basics);
    basic_n = 0;
}
