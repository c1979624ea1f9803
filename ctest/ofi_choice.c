/*
 * ofi_choice.c - which provider and interface the ofi engine takes, and what it says
 * about that; and that it leaves the process as it was.
 */
#define _GNU_SOURCE

#include "peer.h"

#include <ifaddrs.h>
#include <net/if.h>

static const char *why;
static struct oriel_engine *engine; /* stays open: the process ends */

/* What is described, or NULL, and why says why. Once a process. */
static const char *choose(const char *fabric, const char *nic, const char *limit)
{
    setenv("ORIEL_FABRIC", fabric, 1);
    setenv("ORIEL_NIC", nic, 1);
    if (limit)
        setenv("FI_PROVIDER", limit, 1);
    else
        unsetenv("FI_PROVIDER");
    why = "no reason given";
    if (oriel_transport_ofi.open(oriel_config_get(), &engine, &why) != 0) return NULL;
    return oriel_transport_ofi.describe(engine);
}

static void need(const char *text)
{
    if (!text) check_skip(why);
}

static void tcp_names_its_interface(void)
{
    const char *text = choose("tcp", "", NULL);

    need(text);
    CHECK(strstr(text, " on ") && strstr(text, "(ORIEL_FABRIC=tcp)"), "%s", text);
}

static bool has_another_interface(void)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0) return false;
    for (struct ifaddrs *at = all; at; at = at->ifa_next)
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
            !(at->ifa_flags & IFF_LOOPBACK) && at->ifa_flags & IFF_UP)
            found = true;
    freeifaddrs(all);
    return found;
}

static void loopback_is_the_last_resort(void)
{
    const char *text = choose("tcp", "", NULL);

    need(text);
    CHECK(!strstr(text, "127.0.0.1") == has_another_interface(), "%s", text);
}

static void loopback_on_request(void)
{
    const char *text = choose("tcp", "lo", NULL);

    need(text);
    CHECK(strstr(text, " on lo, 127.0.0.1") && strstr(text, "ORIEL_NIC=lo"), "%s",
          text);
}

static void no_such_interface(void)
{
    const char *text = choose("tcp", "nowhere0", NULL);

    CHECK(!text && strstr(why, "nowhere0"), "%s", text ? text : why);
    CHECK(!text && strstr(why, "lo"), "it says which there are: %s", why);
}

static void hsn_needs_its_interface(void)
{
    struct if_nameindex *all = if_nameindex();
    const char *text;

    for (struct if_nameindex *at = all; at && at->if_name; at++)
        if (strncmp(at->if_name, "hsn", 3) == 0) check_skip("there is a hsn interface");
    if_freenameindex(all);
    text = choose("hsn", "", NULL);
    CHECK(!text && strstr(why, "hsn"), "%s", text ? text : why);
}

static void automatic(void)
{
    const char *text = choose("auto", "", NULL);

    need(text);
    CHECK(strstr(text, "ORIEL_FABRIC=auto"), "%s", text);
}

static void a_limit_is_named(void)
{
    const char *text = choose("tcp", "", "sockets");

    CHECK(!text && strstr(why, "FI_PROVIDER=sockets"), "%s", text ? text : why);
}

static void automatic_within_a_limit(void)
{
    const char *text = choose("auto", "", "sockets");

    need(text);
    CHECK(strncmp(text, "sockets", 7) == 0 && strstr(text, "FI_PROVIDER=sockets"), "%s",
          text);
}

static void an_unknown_name(void)
{
    const char *text = choose("carrier_pigeon", "", NULL);

    CHECK(!text && strstr(why, "carrier_pigeon"), "%s", text ? text : why);
}

static bool is_mapped(const char *name)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[600];
    bool found = false;

    REQUIRE(file, "maps");
    while (fgets(line, sizeof line, file))
        found = found || strstr(line, name);
    fclose(file);
    return found;
}

static void on_signal(int number)
{
    (void)number;
}

static void the_process_stays_as_it_was(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTERM, SIGINT};
    enum { N = sizeof signals / sizeof *signals };
    struct sigaction before[N], now;

    CHECK(!is_mapped("libfabric"), "libfabric is not loaded before the engine is");
    signal(SIGTERM, on_signal);
    for (int i = 0; i < N; i++)
        sigaction(signals[i], NULL, &before[i]);
    need(choose("tcp", "", NULL));
    CHECK(is_mapped("libfabric"), "and then it is");
    for (int i = 0; i < N; i++) {
        sigaction(signals[i], NULL, &now);
        CHECK(now.sa_handler == before[i].sa_handler,
              "the handler of signal %d is as before", signals[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct peer_case cases[] = {
        {"tcp names its interface", tcp_names_its_interface},
        {"loopback is the last resort", loopback_is_the_last_resort},
        {"loopback on request", loopback_on_request},
        {"no such interface", no_such_interface},
        {"hsn needs its interface", hsn_needs_its_interface},
        {"automatic", automatic},
        {"a limit is named", a_limit_is_named},
        {"automatic within a limit", automatic_within_a_limit},
        {"an unknown name", an_unknown_name},
        {"the process stays as it was", the_process_stays_as_it_was},
    };

    (void)argc;
    return peer_cases(argv, cases, sizeof cases / sizeof *cases);
}
