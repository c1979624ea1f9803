/* core.device: memory is the host's unless a loaded GPU runtime says otherwise. The
 * runtimes here are fakes that the test compiles, and each case has its own process,
 * since a runtime once seen is never forgotten. */
#define _GNU_SOURCE 1

#include "core/device.h"

#include "check.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The fakes know one range [fake_base, fake_base + fake_bytes) of kind fake_kind: 1
 * pinned host, 2 device, 3 managed. They count questions in fake_asked. */
static const char common[] = "#include <stddef.h>\n#include <stdint.h>\n"
                             "char *fake_base; size_t fake_bytes; int fake_kind;\n"
                             "int fake_asked, fake_result, fake_pending;\n"
                             "static int known(const void *p) { fake_asked++;\n"
                             "  return (char *)p >= fake_base &&\n"
                             "         (char *)p < fake_base + fake_bytes; }\n";
static const char cuda[] =
    "int cuPointerGetAttribute(void *out, int what, unsigned long long at) {\n"
    "  if (fake_result) return fake_result;\n"
    "  if (!known((void *)(uintptr_t)at)) return 1;\n"
    "  *(unsigned *)out = what == 8 ? fake_kind == 3 : fake_kind == 1 ? 1 : 2;\n"
    "  return 0; }\n";
static const char hip[] =
    "struct a { int kind, device; void *d, *h; int managed; unsigned flags; };\n"
    "int hipPeekAtLastError(void) { return fake_pending; }\n"
    "int hipGetLastError(void) { int e = fake_pending; fake_pending = 0; return e; }\n"
    "int hipPointerGetAttributes(struct a *a, const void *p) {\n"
    "  if (!known(p)) return fake_pending = fake_result ? fake_result : 1;\n"
    "  a->d = (void *)p; a->h = fake_kind == 2 ? 0 : (void *)p;\n"
    "  a->managed = fake_kind == 3; return 0; }\n";
static const char ze[] =
    "struct m { int stype; void *next; int type; uint64_t id, page; };\n"
    "int fake_contexts;\n"
    "int zeDriverGet(uint32_t *n, void **d) {\n"
    "  if (fake_result) return fake_result;\n"
    "  *n = 2; d[0] = \"a\"; d[1] = \"b\"; return 0; }\n"
    "int zeContextCreate(void *d, const void *desc, void **out) {\n"
    "  fake_contexts++; *out = d; return *(int *)desc == 0xd ? 0 : 1; }\n"
    "int zeMemGetAllocProperties(void *c, const void *p, struct m *m, void **d) {\n"
    "  if (m->stype != 0x17) return 1;\n"
    "  m->type = known(p) && *(char *)c == 'b' ? fake_kind : 0; return 0; }\n";

static char directory[] = "/tmp/oriel-device-XXXXXX";

struct fake {
    char **base;
    size_t *bytes;
    int *kind, *asked, *result, *pending, *contexts;
};

static bool build_fake(const char *name, const char *source)
{
    char path[200], command[800];
    const char *compiler = getenv("ORIEL_TEST_CC");
    snprintf(path, sizeof path, "%s/fake.c", directory);
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file, "%s%s", common, source);
    fclose(file);
    snprintf(command, sizeof command, "%s -shared -fPIC -o %s/%s %s",
             compiler ? compiler : "cc", directory, name, path);
    return system(command) == 0;
}

static struct fake load_fake(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library, "the fake is loaded: %s", dlerror());
    return (struct fake){.base = dlsym(library, "fake_base"),
                         .bytes = dlsym(library, "fake_bytes"),
                         .kind = dlsym(library, "fake_kind"),
                         .asked = dlsym(library, "fake_asked"),
                         .result = dlsym(library, "fake_result"),
                         .pending = dlsym(library, "fake_pending"),
                         .contexts = dlsym(library, "fake_contexts")};
}

static char *map_pages(size_t bytes)
{
    char *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED, "there are pages");
    return pages;
}

static void test_none(void)
{
    char on_stack[100];
    for (int i = 0; i < 3; i++) {
        CHECK(!oriel_device_memory(on_stack, sizeof on_stack), "a stack is the host's");
        CHECK(!oriel_device_memory(map_pages(1 << 24), 1 << 24), "a mapping as well");
        oriel_device_refresh();
    }
    CHECK(!oriel_device_memory(NULL, 0), "nothing is no device memory");
}

/* What all runtimes have in common. */
static struct fake test_fake(const char *name)
{
    static char host[4096];
    size_t bytes = 64 << 20;
    CHECK(!oriel_device_memory(host, sizeof host), "host memory before the runtime");
    struct fake fake = load_fake(name);
    char *device = map_pages(2 * bytes);
    *fake.base = device;
    *fake.bytes = bytes;
    *fake.kind = 2;
    CHECK(oriel_device_memory(device, 8), "a runtime loaded later is noticed");
    CHECK(oriel_device_memory(device + bytes - 1, 1), "up to its last byte");
    CHECK(oriel_device_memory(device - 4096, 8192), "also where only the end is its");
    CHECK(!oriel_device_memory(device + bytes, 8), "and no further");
    CHECK(!oriel_device_memory(host, sizeof host), "host memory stays host memory");
    CHECK(*fake.asked > 0, "the runtime was asked");
    *fake.kind = 3;
    CHECK(oriel_device_memory(device, 8), "managed memory is not the host's");
    *fake.kind = 1;
    CHECK(!oriel_device_memory(device, 8), "pinned memory is");
    CHECK(!oriel_device_memory(device, 0), "no bytes, no device");
    *fake.kind = 2;
    return fake;
}

static void test_cuda(void)
{
    struct fake fake = test_fake("libcuda.so.1");
    *fake.result = 3;
    CHECK(!oriel_device_memory(*fake.base, 8), "a driver not started has no memory");
    *fake.result = 201;
    CHECK(oriel_device_memory(*fake.base, 8), "an unknown error proves nothing");
}

static void test_hip(void)
{
    static char host[64];
    struct fake fake = test_fake("libamdhip64.so.6");
    CHECK(*fake.pending == 0, "the question leaves no error for the program to find");
    *fake.pending = 700;
    CHECK(oriel_device_memory(host, 8) && *fake.pending == 700,
          "an error that the program has not fetched is kept, and nothing is asked");
    *fake.pending = 0;
    *fake.result = 999;
    CHECK(oriel_device_memory(host, 8), "an unknown error proves nothing");
}

static void test_ze(void)
{
    struct fake fake = test_fake("libze_loader.so.1");
    CHECK(*fake.contexts == 2, "one context for each driver, once (%d)",
          *fake.contexts);
}

static void test_ze_not_started(void)
{
    static char host[64];
    struct fake fake = load_fake("libze_loader.so.1");
    *fake.result = 0x78000001;
    CHECK(!oriel_device_memory(host, 8), "without a driver all memory is the host's");
    *fake.result = 1;
    CHECK(oriel_device_memory(host, 8), "another error proves nothing");
}

static void test_unusable(void)
{
    static char host[64];
    char path[200];
    snprintf(path, sizeof path, "%s/libcuda.so.1", directory);
    REQUIRE(dlopen(path, RTLD_NOW), "the empty fake is loaded");
    CHECK(oriel_device_memory(host, 8),
          "a runtime that cannot be asked proves nothing");
}

static void in_child(void (*test)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test();
        exit(check_done());
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the case passed (%d)",
          status);
}

int main(void)
{
    REQUIRE(mkdtemp(directory), "there is a directory for the fakes");
    bool is_built = build_fake("libcuda.so.1", cuda) &&
                    build_fake("libamdhip64.so.6", hip) &&
                    build_fake("libze_loader.so.1", ze);
    in_child(test_none);
    if (is_built) {
        in_child(test_cuda);
        in_child(test_hip);
        in_child(test_ze);
        in_child(test_ze_not_started);
        if (build_fake("libcuda.so.1", "")) in_child(test_unusable);
    }
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", directory);
    if (system(command) != 0) printf("left behind: %s\n", directory);
    if (!is_built && !check_failures) check_skip("no compiler for the fakes");
    return check_done();
}
