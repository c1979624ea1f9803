/*
 * DESIGN, correct Gets, rule 9: calls that an MPI library makes of itself (ROMIO does)
 * and calls from inside callbacks: files are written while windows are open, and an
 * attribute's delete callback and an error handler read another window.
 */
#include "mpi_test.h"

enum { BYTES = 4096 };
static struct test_window main_window;
static unsigned char got[BYTES];
static int target, callbacks;
static uint64_t reads;

static void read_right(const char *when)
{
    memset(got, 0, BYTES);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, main_window.win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, main_window.win);
    MPI_Win_unlock(target, main_window.win);
    reads++;
    CHECK(pattern_is(got, (unsigned)target, 0, BYTES), "a read %s is right", when);
}

/* Collective file access uses datatypes, communicators and attributes of its own. */
static void files(void)
{
    char path[] = "/tmp/oriel-test-file-XXXXXX";
    unsigned char back[256];
    MPI_File file;
    MPI_Datatype strided;
    if (test.rank == 0) {
        int fd = mkstemp(path);
        NEED(fd >= 0, "a file");
        close(fd);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file)) {
        CHECK(false, "the file opens");
        return;
    }
    MPI_Type_vector(16, 16, 16 * test.ranks, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    MPI_File_set_view(file, 16 * test.rank, MPI_BYTE, strided, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, main_window.base, 256, MPI_BYTE, MPI_STATUS_IGNORE);
    read_right("beside an open file");
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, back, 256, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(pattern_is(back, (unsigned)test.rank, 0, 256),
          "the file has what was written");
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    if (test.rank == 0) unlink(path);
    read_right("after a file");
}

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval, (void)value, (void)extra;
    callbacks++;
    read_right("from a delete callback");
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *value, void *out,
                   int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)value, (void)out;
    callbacks++;
    *flag = 0;
    read_right("from a copy callback");
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int win_key, comm_key;
    MPI_Comm copy;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &win_key, NULL);
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_ALLOC_MEM, BYTES, 1, "oriel_offload=true");
    MPI_Win_set_attr(w.win, win_key, NULL);
    callbacks = 0;
    window_close(&w);
    CHECK(callbacks == 1, "the delete callback is called once");
    MPI_Win_free_keyval(&win_key);

    /* A callback of the program's runs when the program copies a communicator, and
     * not when Oriel needs one. */
    MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, comm_key, NULL);
    callbacks = 0;
    w = window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, 1, "oriel_offload=true");
    int of_windows = callbacks;
    window_close(&w);
    w = window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, 1, "oriel_offload=false");
    CHECK(of_windows == callbacks - of_windows,
          "a served window runs as many copy callbacks as another (%d, %d)", of_windows,
          callbacks - of_windows);
    window_close(&w);
    callbacks = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(callbacks == 1, "the copy callback is called once");
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, comm_key);
    MPI_Comm_free_keyval(&comm_key);
}

static void handler(MPI_Win *win, int *error, ...)
{
    (void)win, (void)error;
    callbacks++;
    read_right("from an error handler");
}

static void handlers(void)
{
    MPI_Errhandler made;
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, 1, "oriel_offload=true");
    MPI_Win_create_errhandler(handler, &made);
    MPI_Win_set_errhandler(w.win, made);
    callbacks = 0;
    MPI_Win_lock_all(0, w.win);
    MPI_Get(got, 1, MPI_BYTE, test.ranks, 0, 1, MPI_BYTE, w.win);
    MPI_Win_unlock_all(w.win);
    CHECK(callbacks == 1, "the handler is called once");
    MPI_Errhandler_free(&made);
    window_close(&w);
}

/* Nested windows: one is made, read and freed in the epoch of another. */
static void nested(void)
{
    MPI_Win_lock_all(0, main_window.win);
    struct test_window w =
        window_open(MPI_COMM_WORLD, KIND_ALLOCATE, BYTES, 1, "oriel_offload=true");
    pattern_fill(w.base, 77, 0, BYTES);
    MPI_Win_fence(0, w.win);
    MPI_Get(got, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    CHECK(pattern_is(got, 77, 0, BYTES), "a window in another's epoch is read right");
    window_close(&w);
    MPI_Win_unlock_all(main_window.win);
    read_right("after a nested window");
}

int main(void)
{
    test_start(2);
    target = (test.rank + 1) % test.ranks;
    main_window =
        window_open(MPI_COMM_WORLD, KIND_CREATE, BYTES, 1, "oriel_offload=true");
    pattern_fill(main_window.base, (unsigned)test.rank, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    files();
    attributes();
    handlers();
    nested();
    ALL_SERVED(&main_window, reads, "reads from everywhere are redirected and counted");
    MPI_Barrier(MPI_COMM_WORLD);
    window_close(&main_window);
    return test_end();
}
