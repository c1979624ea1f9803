#define _GNU_SOURCE
#include "core/arena.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi/datatype.h"
#include "pmpi/guard.h"
#include "pmpi/layer.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct oriel_layer oriel_layer;

static pthread_once_t prepare_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* FNV-1a. Hosts that collide only lose the shortcut of reading each other natively. */
static uint32_t hash(const char *text, size_t bytes)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* The node as MPI libraries and the node engine see one: ranks with another kernel,
 * host name or pid namespace are elsewhere. */
static uint32_t host_id(void)
{
    struct {
        char boot[64];
        struct utsname name;
        ino_t pids, users;
    } id;
    struct stat pids = {0}, users = {0};
    memset(&id, 0, sizeof id);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, id.boot, sizeof id.boot) < 0) id.boot[0] = '\0';
    if (fd >= 0) close(fd);
    if (uname(&id.name)) id.name.nodename[0] = '\0';
    if (stat("/proc/self/ns/pid", &pids) == 0) id.pids = pids.st_ino;
    if (stat("/proc/self/ns/user", &users) == 0) id.users = users.st_ino;
    return hash((const char *)&id, sizeof id);
}

static void prepare(void)
{
    const struct oriel_config *config = oriel_config_get();
    char message[256];
    oriel_log_set_level(config->log);
    oriel_layer.host = host_id();
    if (getrandom(&oriel_layer.world_id, sizeof oriel_layer.world_id, 0) < 0)
        oriel_layer.world_id = (uint64_t)getpid() << 32 | oriel_layer.host;
    oriel_arena_set_segment_bytes(config->arena_segment);
    if (config->broken) return; /* it was named when it was read */
    if (oriel_gate_hidden()) {
        /* Half of a window's calls unseen is worse than none of them served. */
        if (strcmp(config->windows, "none") != 0)
            oriel_log(
                ORIEL_LOG_WARN,
                "another tool wraps MPI functions before Oriel, which then does "
                "not see them: redirection is off. Cure: name Oriel's layer first "
                "in LD_PRELOAD, or leave the tool out");
        return;
    }
    if (oriel_rules_parse(config->windows, &oriel_layer.rules, message,
                          sizeof message)) {
        oriel_layer.rules = NULL;
        oriel_log(ORIEL_LOG_ERROR, "ORIEL_WINDOWS=%s: %s; redirection is off",
                  config->windows, message);
    }
    const char *bad = NULL;
    if (oriel_order_parse(config->engines, &oriel_layer.engines, &bad)) {
        oriel_rules_destroy(oriel_layer.rules);
        oriel_layer.rules = NULL;
        oriel_log(ORIEL_LOG_ERROR,
                  "ORIEL_ENGINES=%s: no engine '%s'; redirection is off. 'oriel info' "
                  "lists the engines",
                  config->engines, bad);
    }
}

void oriel_layer_prepare(void)
{
    pthread_once(&prepare_once, prepare);
}

/* ---- start: at the first window that somebody wants ------------------------------ */

/* MPI may not be called in a fork child; its entries lead past us. */
static void in_child(void)
{
    oriel_gate_set(ORIEL_GATE_ASIDE);
}

static void finish(void);

/* MPI deletes the attributes of MPI_COMM_SELF first of all at finalize, whatever
 * language called it. */
static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    finish();
    return MPI_SUCCESS;
}

static int no_copy(MPI_Comm comm, int keyval, void *extra, void *value, void *out,
                   int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)value, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

bool oriel_layer_world(void)
{
    int initialized = 0, finalized = 0;
    native.Initialized(&initialized);
    native.Finalized(&finalized);
    return initialized && !finalized;
}

static void watch_finalize(void)
{
    static bool watched;
    int keyval;
    if (watched || !oriel_layer_world())
        return; /* Sessions: MPI_Session_finalize it is */
    if (native.Comm_create_keyval(no_copy, at_finalize, &keyval, NULL)) return;
    watched = native.Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS;
}

static void find_thread_level(void)
{
    int provided = MPI_THREAD_MULTIPLE;
    if (oriel_layer_world()) native.Query_thread(&provided);
    oriel_layer.threads = provided == MPI_THREAD_MULTIPLE;
}

/* A communicator of this process alone, on which nothing is ever sent. Made by group:
 * MPI_Comm_dup would run the callbacks of the program's attributes. */
static void make_private(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group all, self;
    int rank;
    oriel_layer.private_comm = MPI_COMM_NULL;
    /* Not from a session that may end before the world does. */
    if (oriel_layer_world()) comm = MPI_COMM_SELF;
    if (native.Comm_rank(comm, &rank) || native.Comm_group(comm, &all)) return;
    if (native.Group_incl(all, 1, &rank, &self) == MPI_SUCCESS) {
        if (native.Comm_create_group(comm, self, 0, &made)) made = MPI_COMM_NULL;
        native.Group_free(&self);
    }
    native.Group_free(&all);
    if (made != MPI_COMM_NULL) native.Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    oriel_layer.private_comm = made;
}

void oriel_layer_start(MPI_Comm comm)
{
    static bool forks_watched;
    pthread_mutex_lock(&start_lock);
    if (!oriel_layer.started) {
        oriel_guard_enter();
        find_thread_level();
        if (!forks_watched) forks_watched = !pthread_atfork(NULL, NULL, in_child);
        make_private(comm);
        if (oriel_datatype_init(oriel_layer.private_comm))
            oriel_log(ORIEL_LOG_WARN, "datatypes cannot be read: reads stay native");
        oriel_progress_init();
        watch_finalize();
        oriel_layer.started = true;
        oriel_guard_leave();
    }
    pthread_mutex_unlock(&start_lock);
}

/* ---- the end ----------------------------------------------------------------------
 */

/* Once; MPI still works. */
static void finish(void)
{
    pthread_mutex_lock(&start_lock);
    bool started = oriel_layer.started;
    oriel_layer.started = false;
    pthread_mutex_unlock(&start_lock);
    oriel_guard_enter();
    oriel_report_write();
    if (started) {
        oriel_windows_fini();
        oriel_progress_fini();
        oriel_datatype_fini();
        if (oriel_layer.private_comm != MPI_COMM_NULL)
            native.Comm_free(&oriel_layer.private_comm);
        oriel_engines_close();
    }
    oriel_guard_leave();
}

/* ---- wrappers
 * ------------------------------------------------------------------------ */

static void initialized(void)
{
    int rank;
    oriel_layer.init_seen = true;
    oriel_layer_prepare();
    if (native.Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS)
        oriel_log_set_rank(rank);
    oriel_agree_world();
    oriel_report_rearm();
    /* Also where no window comes: all ranks join the report. */
    if (oriel_layer.report) watch_finalize();
}

int wrap_Init(int *argc, char ***argv)
{
    oriel_guard_enter();
    int error = native.Init(argc, argv);
    if (!error) initialized();
    oriel_guard_leave();
    return error;
}

int wrap_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    oriel_guard_enter();
    int error = native.Init_thread(argc, argv, required, provided);
    if (!error) initialized();
    oriel_guard_leave();
    return error;
}

int wrap_Finalize(void)
{
    if (oriel_layer_world()) finish();
    oriel_layer.world_proven = oriel_layer.world_agreed = false;
    oriel_guard_enter();
    int error = native.Finalize();
    oriel_guard_leave();
    return error;
}

#if MPI_VERSION >= 4
static int sessions; /* open ones; under start_lock */

int wrap_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    int error = native.Session_init(info, errhandler, session);
    if (error) return error;
    pthread_mutex_lock(&start_lock);
    sessions++;
    pthread_mutex_unlock(&start_lock);
    return error;
}

int wrap_Session_finalize(MPI_Session *session)
{
    pthread_mutex_lock(&start_lock);
    bool last = sessions == 1;
    if (sessions > 0) sessions--;
    pthread_mutex_unlock(&start_lock);
    if (last && !oriel_layer_world()) finish();
    return native.Session_finalize(session);
}
#endif
