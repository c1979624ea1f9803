/*
 * program.c - ELF files and the libraries that they load.
 */
#define _GNU_SOURCE 1

#include "tools/program.h"

#include "tools/words.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const oriel_mpi_names[ORIEL_MPI_COUNT] = {"unknown", "mpich", "openmpi"};
const char *const oriel_mpi_titles[ORIEL_MPI_COUNT] = {"unknown", "MPICH", "Open MPI"};

static bool is_executable_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

bool oriel_program_find(const char *word, char *out, size_t out_bytes)
{
    char path[PATH_MAX];
    if (*word == '\0') return false;
    if (strchr(word, '/')) {
        if (!is_executable_file(word) || strlen(word) >= out_bytes) return false;
        strcpy(out, word);
        return true;
    }
    const char *dirs = getenv("PATH");
    for (const char *dir = dirs ? dirs : "/usr/bin:/bin"; dir;) {
        size_t bytes = strcspn(dir, ":");
        int n = snprintf(path, sizeof path, "%.*s%s%s", (int)bytes, dir,
                         bytes ? "/" : "./", word);
        if (n > 0 && (size_t)n < sizeof path && (size_t)n < out_bytes &&
            is_executable_file(path)) {
            strcpy(out, path);
            return true;
        }
        dir = dir[bytes] ? dir + bytes + 1 : NULL;
    }
    return false;
}

/* The path of the dynamic loader that the file asks for. Returns the kind of file. */
static enum oriel_program_kind read_loader(int fd, char *out, size_t out_bytes)
{
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return ORIEL_PROGRAM_OTHER;
    /* Other word sizes cannot load our libraries, nor be told apart here. */
    if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(Elf64_Phdr) ||
        (head.e_type != ET_EXEC && head.e_type != ET_DYN))
        return ORIEL_PROGRAM_OTHER;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(head.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != sizeof part)
            return ORIEL_PROGRAM_OTHER;
        if (part.p_type != PT_INTERP) continue;
        if (part.p_filesz == 0 || part.p_filesz > out_bytes) return ORIEL_PROGRAM_OTHER;
        ssize_t got = pread(fd, out, part.p_filesz, (off_t)part.p_offset);
        if (got != (ssize_t)part.p_filesz || out[got - 1] != '\0')
            return ORIEL_PROGRAM_OTHER;
        return ORIEL_PROGRAM_DYNAMIC;
    }
    return ORIEL_PROGRAM_STATIC;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* libmpi.so.12 is the name that MPICH's relatives share (Intel, Cray, MVAPICH), 20 and
 * up are Open MPI's. */
static enum oriel_mpi mpi_of_library(const char *name)
{
    if (starts_with(name, "libmpich.so") || starts_with(name, "libmpich-"))
        return ORIEL_MPI_MPICH;
    if (starts_with(name, "libmpi_ibm.so") || starts_with(name, "libopen-rte.so"))
        return ORIEL_MPI_OPENMPI;
    if (!starts_with(name, "libmpi.so.") && !starts_with(name, "libmpi_")) {
        return ORIEL_MPI_UNKNOWN;
    }
    const char *version = strstr(name, ".so.");
    int number = version ? atoi(version + strlen(".so.")) : 0;
    if (number == 12) return ORIEL_MPI_MPICH;
    return starts_with(name, "libmpi.so.") && number >= 20 ? ORIEL_MPI_OPENMPI
                                                           : ORIEL_MPI_UNKNOWN;
}

/* A loader's list has lines such as "\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x7f)".
 */
static void find_library(char *list, struct oriel_program *out)
{
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t")] = '\0';
        const char *base = oriel_base_name(name);
        enum oriel_mpi mpi = mpi_of_library(base);
        if (mpi == ORIEL_MPI_UNKNOWN) continue;
        out->mpi = mpi;
        snprintf(out->library, sizeof out->library, "%s", base);
        return;
    }
}

void oriel_program_inspect(const char *path, struct oriel_program *out)
{
    char loader[PATH_MAX];
    static char list[1 << 18];
    *out = (struct oriel_program){.kind = ORIEL_PROGRAM_OTHER};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    out->kind = read_loader(fd, loader, sizeof loader);
    close(fd);
    if (out->kind != ORIEL_PROGRAM_DYNAMIC) return;
    char *argv[] = {loader, "--list", (char *)(size_t)path, NULL};
    if (oriel_program_output(argv, false, list, sizeof list) >= 0)
        find_library(list, out);
}

static int spawn(char *const argv[], bool with_errors, int out_fd, pid_t *pid_out)
{
    struct oriel_words environment = {0};
    for (char **entry = environ; *entry; entry++)
        if (!starts_with(*entry, "LD_PRELOAD=")) oriel_words_add(&environment, *entry);
    oriel_words_add(&environment, "LC_ALL=C");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    if (with_errors)
        posix_spawn_file_actions_adddup2(&actions, out_fd, STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
                                         0);
    int rc = posix_spawnp(pid_out, argv[0], &actions, NULL, argv, environment.items);
    posix_spawn_file_actions_destroy(&actions);
    oriel_words_fini(&environment);
    return -rc;
}

int oriel_program_output(char *const argv[], bool with_errors, char *out,
                         size_t out_bytes)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC)) return -errno;
    int rc = spawn(argv, with_errors, ends[1], &pid);
    close(ends[1]);
    size_t used = 0;
    while (!rc) {
        char spill[4096];
        bool is_full = used + 1 >= out_bytes; /* go on reading, or it would block */
        ssize_t got = read(ends[0], is_full ? spill : out + used,
                           is_full ? sizeof spill : out_bytes - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (!is_full) used += (size_t)got;
    }
    close(ends[0]);
    out[used] = '\0';
    if (rc) return rc;
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
