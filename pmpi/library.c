#define _GNU_SOURCE
#include "core/log.h"
#include "pmpi/layer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a window's class guarantees. Whatever is not known is not trusted. */
struct guarantees {
    bool lock_holds, fence_barrier;
};

#if defined(OPEN_MPI)

/* osc/rdma's on_demand locks are lazy; two_level ones are held. The setting is an MCA
 * variable, so ask the tools interface for its value. */
static bool two_level_locks(void)
{
    static const char name[] = "osc_rdma_locking_mode";
    int index, provided, count, scope, binding, verbosity, value = -1;
    bool held = false;
    MPI_Datatype type;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    MPI_T_cvar_handle handle;
    char text[64] = "";
    int bytes = sizeof text, no_text = 0;
    if (native.T_init_thread(MPI_THREAD_SINGLE, &provided)) return false;
    if (native.T_cvar_get_index(name, &index) == MPI_SUCCESS &&
        native.T_cvar_get_info(index, NULL, &no_text, &verbosity, &type, &names, NULL,
                               &no_text, &binding, &scope) == MPI_SUCCESS &&
        native.T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        if (type == MPI_INT && count == 1 && names != MPI_T_ENUM_NULL &&
            native.T_cvar_read(handle, &value) == MPI_SUCCESS) {
            int item_value = 0;
            for (int i = 0; i < 8 && !held; i++) {
                bytes = sizeof text;
                if (native.T_enum_get_item(names, i, &item_value, text, &bytes)) break;
                held = item_value == value && strcmp(text, "two_level") == 0;
            }
        }
        native.T_cvar_handle_free(&handle);
    }
    native.T_finalize();
    return held;
}

static pthread_once_t locks_once = PTHREAD_ONCE_INIT;
static bool rdma_locks_hold;

static void ask_locks(void)
{
    rdma_locks_hold = two_level_locks();
    if (!rdma_locks_hold)
        oriel_log(ORIEL_LOG_INFO, "osc/rdma does not use two_level locks here: reads "
                                  "under a lock start native");
}

/* The component that serves a window names it: "rdma window 3". */
static struct guarantees ask(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    if (native.Win_get_name(win, name, &length)) return (struct guarantees){0};
    if (strncmp(name, "rdma window ", 12) == 0) {
        pthread_once(&locks_once, ask_locks);
        return (struct guarantees){rdma_locks_hold, true};
    }
    if (strncmp(name, "ucx window ", 11) == 0 || strncmp(name, "sm window ", 10) == 0)
        return (struct guarantees){true, true};
    if (strncmp(name, "pt2pt window ", 13) == 0)
        return (struct guarantees){false, true};
    return (struct guarantees){0};
}

#else

static pthread_once_t device_once = PTHREAD_ONCE_INIT;
static bool is_ch4;

static void ask_device(void)
{
    char *version = calloc(1, MPI_MAX_LIBRARY_VERSION_STRING);
    int length;
    if (version && native.Get_library_version(version, &length) == MPI_SUCCESS) {
        const char *device = strstr(version, "MPICH Device:");
        if (device) device += strlen("MPICH Device:");
        while (device && (*device == '\t' || *device == ' '))
            device++;
        is_ch4 = device && strncmp(device, "ch4:", 4) == 0;
    }
    free(version);
}

static struct guarantees ask(MPI_Win win)
{
    (void)win;
    pthread_once(&device_once, ask_device);
    return (struct guarantees){is_ch4, is_ch4};
}

#endif

void oriel_library_rules(MPI_Win win, enum oriel_access access,
                         struct oriel_epoch_rules *out)
{
    struct guarantees known = ask(win);
    out->lock_holds = known.lock_holds;
    out->fence_barrier = known.fence_barrier;
    /* "Changes only between fences" tells a reader something only where its own fence
     * proves that the target has come to it, too. */
    out->stable = access != ORIEL_ACCESS_GENERAL && known.fence_barrier;
    /* A Put from Fortran may pass us unseen; it must find its lock held. */
    out->elide = !oriel_fortran_loaded();
}
