/*
 * device.c - asks a loaded GPU runtime about addresses.
 *
 * Prototypes and numbers are those of the vendors' public manuals (CUDA driver API,
 * HIP runtime API, oneAPI Level Zero): their headers are not needed to build.
 */
#define _GNU_SOURCE 1

#include "core/device.h"

#include "core/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* CUDA driver: a CUresult, a CUpointer_attribute, a CUdeviceptr. */
enum {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1, /* not known to the driver: plain host memory */
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEINITIALIZED = 4,
    CUDA_NO_DEVICE = 100,
    CUDA_ATTRIBUTE_MEMORY_TYPE = 2,
    CUDA_ATTRIBUTE_IS_MANAGED = 8,
    CUDA_MEMORY_HOST = 1,
};
typedef int cuda_get_attribute(void *out, int attribute, unsigned long long address);

/* HIP: the kinds of memory got other numbers in version 6, the pointers kept their
 * places. The reserve is for members that later versions may add. */
enum {
    HIP_OK = 0,
    HIP_INVALID_VALUE = 1,
    HIP_NOT_INITIALIZED = 3,
    HIP_DEINITIALIZED = 4,
    HIP_NO_DEVICE = 100,
};
struct hip_attributes {
    int kind;
    int device;
    void *device_pointer;
    void *host_pointer;
    int is_managed;
    unsigned flags;
    char reserve[256];
};
typedef int hip_get_attributes(struct hip_attributes *out, const void *ptr);
typedef int hip_get_error(void);

/* Level Zero. */
enum { ZE_OK = 0, ZE_UNINITIALIZED = 0x78000001 };
enum { ZE_TYPE_UNKNOWN = 0, ZE_TYPE_HOST = 1 };
enum { ZE_CONTEXT_DESC = 0x0d, ZE_MEMORY_PROPERTIES = 0x17 };
struct ze_context_desc {
    int stype;
    const void *next;
    uint32_t flags;
};
struct ze_memory_properties {
    int stype;
    void *next;
    int type;
    uint64_t id;
    uint64_t page_size;
};
typedef int ze_driver_get(uint32_t *count, void **drivers);
typedef int ze_context_create(void *driver, const struct ze_context_desc *desc,
                              void **out);
typedef int ze_get_properties(void *context, const void *ptr,
                              struct ze_memory_properties *out, void **device_out);

enum runtime { CUDA, HIP, ZE, RUNTIMES };
static const char *const library_names[RUNTIMES] = {"libcuda.so", "libamdhip64.so",
                                                    "libze_loader.so"};

/* Written once, before their bit in runtimes_loaded is set. */
static struct {
    cuda_get_attribute *cuda;
    hip_get_attributes *hip;
    hip_get_error *hip_peek, *hip_clear;
    ze_driver_get *ze_drivers;
    ze_context_create *ze_context;
    ze_get_properties *ze_properties;
} calls;

static atomic_uint runtimes_loaded; /* bit r: runtime r can be asked */
static pthread_mutex_t refresh_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_ullong adds_seen; /* objects that the loader had added at the last look */

/* Regions of 2 MiB that held host memory when no runtime was loaded. A runtime loaded
 * later reserves addresses of its own, so an answer stays right for what lies there. */
enum { REGION_SHIFT = 21, REGIONS = 64 };
static _Atomic uintptr_t host_regions[REGIONS];

static bool ask_cuda(const void *ptr)
{
    unsigned type = 0, is_managed = 0;
    unsigned long long address = (uintptr_t)ptr;
    if (!calls.cuda) return true;
    int rc = calls.cuda(&type, CUDA_ATTRIBUTE_MEMORY_TYPE, address);
    if (rc == CUDA_INVALID_VALUE || rc == CUDA_NOT_INITIALIZED ||
        rc == CUDA_DEINITIALIZED || rc == CUDA_NO_DEVICE)
        return false;
    if (rc != CUDA_OK || type != CUDA_MEMORY_HOST) return true;
    rc = calls.cuda(&is_managed, CUDA_ATTRIBUTE_IS_MANAGED, address);
    return rc != CUDA_OK || is_managed;
}

/* HIP keeps the last error of a thread for hipGetLastError, and a question about
 * unknown memory is an error. One that the program has not fetched yet would be lost:
 * then nothing is asked. */
static bool ask_hip(const void *ptr)
{
    struct hip_attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (!calls.hip || !calls.hip_peek || !calls.hip_clear) return true;
    if (calls.hip_peek() != HIP_OK) return true;
    int rc = calls.hip(&attributes, ptr);
    if (rc != HIP_OK) {
        calls.hip_clear();
        return rc != HIP_INVALID_VALUE && rc != HIP_NOT_INITIALIZED &&
               rc != HIP_DEINITIALIZED && rc != HIP_NO_DEVICE;
    }
    if (attributes.is_managed) return true;
    return attributes.device_pointer && !attributes.host_pointer;
}

/* A context of our own for each driver: drivers answer for the memory of all contexts.
 * They are made when the program has started a driver, and kept. */
enum { ZE_DRIVERS_MAX = 8 };
static pthread_mutex_t ze_lock = PTHREAD_MUTEX_INITIALIZER;
static void *ze_contexts[ZE_DRIVERS_MAX];
static atomic_uint ze_contexts_count;

/* Returns 0; a Level Zero result. */
static int make_ze_contexts(void)
{
    struct ze_context_desc desc = {.stype = ZE_CONTEXT_DESC};
    void *drivers[ZE_DRIVERS_MAX];
    uint32_t count = ZE_DRIVERS_MAX;
    int rc = calls.ze_drivers(&count, drivers);
    if (rc != ZE_OK) return rc;
    if (count > ZE_DRIVERS_MAX) count = ZE_DRIVERS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        rc = calls.ze_context(drivers[i], &desc, &ze_contexts[i]);
        if (rc != ZE_OK) return rc;
    }
    atomic_store_explicit(&ze_contexts_count, count, memory_order_release);
    return ZE_OK;
}

static bool ask_ze(const void *ptr)
{
    if (!calls.ze_drivers || !calls.ze_context || !calls.ze_properties) return true;
    unsigned count = atomic_load_explicit(&ze_contexts_count, memory_order_acquire);
    if (count == 0) {
        int rc = ZE_OK;
        pthread_mutex_lock(&ze_lock);
        if (atomic_load_explicit(&ze_contexts_count, memory_order_relaxed) == 0)
            rc = make_ze_contexts();
        pthread_mutex_unlock(&ze_lock);
        /* No driver was started, or there is none: no memory of theirs either. */
        if (rc != ZE_OK) return rc != ZE_UNINITIALIZED;
        count = atomic_load_explicit(&ze_contexts_count, memory_order_acquire);
    }
    for (unsigned i = 0; i < count; i++) {
        struct ze_memory_properties properties = {.stype = ZE_MEMORY_PROPERTIES};
        int rc = calls.ze_properties(ze_contexts[i], ptr, &properties, NULL);
        if (rc != ZE_OK) return true;
        if (properties.type != ZE_TYPE_UNKNOWN && properties.type != ZE_TYPE_HOST)
            return true;
    }
    return false;
}

static bool ask(unsigned loaded, const void *ptr)
{
    return (loaded & 1u << CUDA && ask_cuda(ptr)) ||
           (loaded & 1u << HIP && ask_hip(ptr)) || (loaded & 1u << ZE && ask_ze(ptr));
}

struct search {
    unsigned long long adds;
    char paths[RUNTIMES][PATH_MAX];
};

static int read_adds(struct dl_phdr_info *info, size_t bytes, void *out)
{
    (void)bytes;
    *(unsigned long long *)out = info->dlpi_adds;
    return 1; /* it is the same for every object */
}

/* Only notes the path: the loader must not be called from here. */
static int note_runtime(struct dl_phdr_info *info, size_t bytes, void *out)
{
    struct search *search = out;
    (void)bytes;
    search->adds = info->dlpi_adds;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    for (int i = 0; i < RUNTIMES; i++)
        if (strncmp(name, library_names[i], strlen(library_names[i])) == 0 &&
            strlen(info->dlpi_name) < PATH_MAX)
            strcpy(search->paths[i], info->dlpi_name);
    return 0;
}

/* A function pointer does not fit a void pointer in ISO C; POSIX says that it does. */
static void find_call(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
}

/* The handle is kept: the library must stay as long as it may be asked. */
static void resolve(enum runtime runtime, const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return;
    bool is_usable = false;
    switch (runtime) {
    case CUDA:
        find_call(library, "cuPointerGetAttribute", &calls.cuda);
        is_usable = calls.cuda;
        break;
    case HIP:
        find_call(library, "hipPointerGetAttributes", &calls.hip);
        find_call(library, "hipPeekAtLastError", &calls.hip_peek);
        find_call(library, "hipGetLastError", &calls.hip_clear);
        is_usable = calls.hip && calls.hip_peek && calls.hip_clear;
        break;
    default:
        find_call(library, "zeDriverGet", &calls.ze_drivers);
        find_call(library, "zeContextCreate", &calls.ze_context);
        find_call(library, "zeMemGetAllocProperties", &calls.ze_properties);
        is_usable = calls.ze_drivers && calls.ze_context && calls.ze_properties;
        break;
    }
    if (!is_usable)
        oriel_log(ORIEL_LOG_WARN,
                  "%s is loaded and cannot be asked which memory is the host's; "
                  "all reads go native",
                  path);
    atomic_fetch_or_explicit(&runtimes_loaded, 1u << runtime, memory_order_release);
}

void oriel_device_refresh(void)
{
    unsigned long long adds = 0;
    dl_iterate_phdr(read_adds, &adds);
    if (adds == atomic_load_explicit(&adds_seen, memory_order_acquire)) return;
    pthread_mutex_lock(&refresh_lock);
    static struct search search; /* too large for a thread's stack; under the lock */
    memset(&search, 0, sizeof search);
    dl_iterate_phdr(note_runtime, &search);
    unsigned loaded = atomic_load_explicit(&runtimes_loaded, memory_order_relaxed);
    for (int i = 0; i < RUNTIMES; i++)
        if (!(loaded & 1u << i) && search.paths[i][0] != '\0')
            resolve((enum runtime)i, search.paths[i]);
    atomic_store_explicit(&adds_seen, search.adds, memory_order_release);
    pthread_mutex_unlock(&refresh_lock);
}

static bool is_known_host(uintptr_t region)
{
    return atomic_load_explicit(&host_regions[region % REGIONS],
                                memory_order_relaxed) == region;
}

static void learn_host(uintptr_t region)
{
    atomic_store_explicit(&host_regions[region % REGIONS], region,
                          memory_order_relaxed);
}

bool oriel_device_memory(const void *ptr, size_t bytes)
{
    if (bytes == 0) return false;
    const char *last = (const char *)ptr + (bytes - 1);
    uintptr_t first_region = (uintptr_t)ptr >> REGION_SHIFT;
    uintptr_t last_region = (uintptr_t)last >> REGION_SHIFT;
    unsigned loaded = atomic_load_explicit(&runtimes_loaded, memory_order_acquire);
    if (!loaded) {
        if (is_known_host(first_region) && is_known_host(last_region)) return false;
        oriel_device_refresh();
        loaded = atomic_load_explicit(&runtimes_loaded, memory_order_acquire);
    }
    if (!loaded) {
        learn_host(first_region);
        learn_host(last_region);
        return false;
    }
    /* No two kinds of memory share a page. */
    bool is_one_page = ((uintptr_t)ptr ^ (uintptr_t)last) < 4096;
    return ask(loaded, ptr) || (!is_one_page && ask(loaded, last));
}
