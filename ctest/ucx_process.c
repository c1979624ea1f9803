/*
 * ucx_process.c - what opening the ucx engine leaves alone in the process, and that it
 * refuses to be the second copy of UCX in it.
 *
 *   ucx_process <a library that looks like another copy>
 */
#define _GNU_SOURCE

#include "peer.h"

#include <dlfcn.h>

static const char *copy;

static void handler(int number)
{
    (void)number;
}

static struct oriel_engine *open_engine(const char **why_out)
{
    const struct oriel_transport *transport = oriel_engine_find("ucx");
    struct oriel_engine *engine = NULL;
    int error;

    *why_out = "";
    REQUIRE(transport, "the engine is built");
    error = transport->open(oriel_config_get(), &engine, why_out);
    CHECK((error == 0) == (engine != NULL), "an engine, or an error (%d)", error);
    CHECK(error == 0 || (error == -ENOTSUP && (*why_out)[0]), "with a reason");
    return engine;
}

static bool is_loaded(void)
{
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);

    if (library) dlclose(library);
    return library != NULL;
}

static void the_process_stays_as_it_was(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGHUP, SIGALRM};
    enum { SIGNALS = sizeof signals / sizeof *signals };
    struct sigaction action = {.sa_handler = handler}, now;
    struct oriel_engine *engine;
    const char *why;
    char **before = environ;
    size_t variables = 0, after = 0;

    CHECK(!is_loaded(), "liboriel does not link UCX");
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
    while (environ[variables])
        variables++;
    engine = open_engine(&why);
    if (!engine) check_skip(why);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &now);
        CHECK(now.sa_handler == handler, "signal %d is still the program's",
              signals[i]);
    }
    while (environ[after])
        after++;
    CHECK(environ == before && after == variables, "the environment is the same");
    oriel_engine_find("ucx")->close(engine);
}

static void refused(void)
{
    const char *why;
    struct oriel_engine *engine = open_engine(&why);

    CHECK(!engine, "a second copy of UCX is refused");
    CHECK(strstr(why, copy), "and the first is named: %s", why);
    CHECK(open_engine(&why) == NULL, "each time");
}

static void another_copy_is_there(void)
{
    REQUIRE(dlopen(copy, RTLD_NOW), "a library");
    refused();
    CHECK(!is_loaded(), "libucp was not loaded");
}

static void two_copies_are_there(void)
{
    if (!dlopen("libucp.so.0", RTLD_NOW)) check_skip("there is no libucp.so.0");
    REQUIRE(dlopen(copy, RTLD_NOW), "a library");
    refused();
}

int main(int argc, char **argv)
{
    static const struct peer_case cases[] = {
        {"the process stays as it was", the_process_stays_as_it_was},
        {"another copy is there", another_copy_is_there},
        {"two copies are there", two_copies_are_there},
    };

    if (argc > 1 && strcmp(argv[0], "case") != 0) setenv("UCX_COPY", argv[1], 1);
    copy = getenv("UCX_COPY");
    REQUIRE(copy, "the first argument names a library");
    return peer_cases(argv, cases, sizeof cases / sizeof *cases);
}
