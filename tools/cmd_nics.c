/*
 * cmd_nics.c - `oriel nics`: which CPUs read through which NIC.
 */
#define _GNU_SOURCE 1

#include "core/err.h"
#include "core/json.h"
#include "tools/nics.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: oriel nics [--json | --env | --gpu] [--allocated | --cpus LIST]\n"
    "                  [--ranks N]\n"
    "\n"
    "Show the network interfaces of this node, the CPUs that are near to each, and\n"
    "which one a process here would read through. Run it where the job runs. The\n"
    "exit code is 1 when there is none that can be used, or when ORIEL_NIC or\n"
    "ORIEL_NIC_MAP is not understood.\n"
    "\n"
    "options:\n"
    "  --env        the line that sets ORIEL_NIC_MAP, for the job's script:\n"
    "               eval \"$(oriel nics --env)\"\n"
    "  --json       all of it as JSON\n"
    "  --gpu        the GPUs, and the NIC that is nearest to each\n"
    "  --allocated  only the CPUs that this process may use\n"
    "  --cpus LIST  only these CPUs, as if a process were bound to them: 0-7,64-71\n"
    "  --ranks N    show which of N ranks of a node would use which NIC, each bound\n"
    "               to an equal share of the CPUs; without it the number that the\n"
    "               launcher tells\n"
    "  -h, --help   show this\n";

enum form { FORM_TEXT, FORM_JSON, FORM_ENV, FORM_GPU };

/* A list such as "0-7,64-71", or "-"; the caller frees it. */
static char *cpus_text(const struct oriel_cpus *cpus)
{
    size_t bytes = oriel_cpus_format(cpus, NULL, 0) + 2;
    char *text = oriel_text("%*s", (int)bytes, "");
    if (oriel_cpus_format(cpus, text, bytes) == 0) strcpy(text, "-");
    return text;
}

static char *near_text(const struct oriel_nics *nics, const struct oriel_nic *nic)
{
    const struct oriel_nic_entry *entry = oriel_nics_entry(nics, nic);
    return entry ? cpus_text(&entry->cpus) : oriel_text("-");
}

static char *numa_text(int numa)
{
    return numa < 0 ? oriel_text("-") : oriel_text("%d", numa);
}

/* Print rows of so many cells, each column as wide as its widest; frees the cells. */
static void put_table(struct oriel_words *cells, size_t columns)
{
    for (size_t i = 0; i < cells->n; i++) {
        size_t column = i % columns, width = 0;
        for (size_t k = column; k < cells->n; k += columns)
            if (strlen(cells->items[k]) > width) width = strlen(cells->items[k]);
        if (column + 1 < columns)
            printf("%-*s  ", (int)width, cells->items[i]);
        else
            printf("%s\n", cells->items[i]);
    }
    oriel_words_fini(cells);
}

static void add_cell(struct oriel_words *cells, char *text)
{
    oriel_words_add(cells, text);
    free(text);
}

static bool is_shown(const struct oriel_nics *nics, const struct oriel_nic *nic)
{
    return nic->kind != ORIEL_NIC_VIRTUAL || oriel_nics_entry(nics, nic);
}

static void put_text(const struct oriel_nics *nics)
{
    static const char *const titles[] = {"NIC",  "device", "kind",      "PCI address",
                                         "NUMA", "state",  "near CPUs", "ranks"};
    enum { COLUMNS = sizeof titles / sizeof titles[0] };
    struct oriel_words cells = {.n = 0};
    for (size_t i = 0; i < COLUMNS; i++)
        oriel_words_add(&cells, titles[i]);
    for (size_t i = 0; i < nics->node->nics_count; i++) {
        const struct oriel_nic *nic = &nics->node->nics[i];
        struct oriel_cpus ranks;
        if (!is_shown(nics, nic)) continue;
        oriel_nics_ranks(nics, nic, &ranks);
        oriel_words_add(&cells, oriel_nic_name(nic));
        oriel_words_add(&cells, nic->device[0] ? nic->device : "-");
        oriel_words_add(&cells, oriel_nic_kind_name(nic->kind));
        oriel_words_add(&cells, nic->at.pci[0] ? nic->at.pci : "-");
        add_cell(&cells, numa_text(nic->at.numa));
        oriel_words_add(&cells, oriel_nics_state(nics, nic));
        add_cell(&cells, near_text(nics, nic));
        add_cell(&cells, cpus_text(&ranks));
    }
    put_table(&cells, COLUMNS);
    if (nics->map.n > 0 && !nics->map.is_local)
        printf("\nWhere they are cannot be seen here%s.\n",
               nics->map.n > 1 ? ": ranks are spread over them" : "");
    if (nics->choice_rc)
        printf("\nA process here would not get a NIC: %s.\n", nics->choice.reason);
    else
        printf("\nA process here would use %s: %s.\n",
               nics->choice.name[0] ? nics->choice.name : "none of them",
               nics->choice.reason);
}

static void put_gpus(const struct oriel_nics *nics)
{
    static const char *const titles[] = {"GPU", "PCI address", "NUMA", "nearest NIC"};
    struct oriel_words cells = {.n = 0};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        oriel_words_add(&cells, titles[i]);
    for (size_t i = 0; i < nics->node->gpus_count; i++) {
        const struct oriel_locality *at = &nics->node->gpus[i].at;
        const char *nic = oriel_nics_of_gpu(nics, i);
        oriel_words_addf(&cells, "%zu", i);
        oriel_words_add(&cells, at->pci);
        add_cell(&cells, numa_text(at->numa));
        oriel_words_add(&cells, nic ? nic : "-");
    }
    put_table(&cells, sizeof titles / sizeof titles[0]);
}

static void put_json_numa(struct oriel_json *json, int numa)
{
    if (numa < 0)
        oriel_json_null(json, "numa");
    else
        oriel_json_count(json, "numa", (uint64_t)numa);
}

static void put_json_nic(struct oriel_json *json, const struct oriel_nics *nics,
                         const struct oriel_nic *nic)
{
    struct oriel_cpus ranks;
    oriel_nics_ranks(nics, nic, &ranks);
    char *cpus = cpus_text(&nic->at.cpus), *near = near_text(nics, nic);
    oriel_json_object(json, NULL);
    oriel_json_text(json, "name", oriel_nic_name(nic));
    oriel_json_text(json, "interface", nic->interface[0] ? nic->interface : NULL);
    oriel_json_text(json, "device", nic->device[0] ? nic->device : NULL);
    oriel_json_text(json, "kind", oriel_nic_kind_name(nic->kind));
    oriel_json_text(json, "pci", nic->at.pci[0] ? nic->at.pci : NULL);
    put_json_numa(json, nic->at.numa);
    oriel_json_count(json, "speed_mbps", nic->speed_mbps);
    oriel_json_text(json, "state", oriel_nics_state(nics, nic));
    oriel_json_flag(json, "candidate", oriel_nics_entry(nics, nic) != NULL);
    oriel_json_text(json, "local_cpus", *cpus == '-' ? NULL : cpus);
    oriel_json_text(json, "near_cpus", *near == '-' ? NULL : near);
    oriel_json_array(json, "ranks");
    for (long rank = oriel_cpus_next(&ranks, 0); rank >= 0;
         rank = oriel_cpus_next(&ranks, rank + 1))
        oriel_json_count(json, NULL, (uint64_t)rank);
    oriel_json_end(json);
    oriel_json_end(json);
    free(cpus);
    free(near);
}

/* The map as one text; the caller frees it. */
static char *map_text(const struct oriel_nic_map *map)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return oriel_text("%s", "");
    oriel_nic_map_print(map, file);
    fclose(file);
    return text ? text : oriel_text("%s", "");
}

static void put_json(const struct oriel_nics *nics)
{
    struct oriel_json json;
    char *map = map_text(&nics->map);
    oriel_json_begin(&json, stdout);
    oriel_json_object(&json, NULL);
    oriel_json_text(&json, "sysfs", nics->config->sysfs);
    oriel_json_flag(&json, "places_known", nics->map.is_local);
    oriel_json_flag(&json, "used_hwloc", nics->node->used_hwloc);
    oriel_json_text(&json, "map", map);
    oriel_json_array(&json, "nics");
    for (size_t i = 0; i < nics->node->nics_count; i++)
        put_json_nic(&json, nics, &nics->node->nics[i]);
    oriel_json_end(&json);
    oriel_json_array(&json, "gpus");
    for (size_t i = 0; i < nics->node->gpus_count; i++) {
        const struct oriel_locality *at = &nics->node->gpus[i].at;
        oriel_json_object(&json, NULL);
        oriel_json_count(&json, "index", i);
        oriel_json_text(&json, "pci", at->pci);
        put_json_numa(&json, at->numa);
        oriel_json_text(&json, "nic", oriel_nics_of_gpu(nics, i));
        oriel_json_end(&json);
    }
    oriel_json_end(&json);
    oriel_json_object(&json, "choice");
    oriel_json_text(&json, "name", nics->choice.name[0] ? nics->choice.name : NULL);
    oriel_json_text(&json, "interface",
                    nics->choice.interface[0] ? nics->choice.interface : NULL);
    oriel_json_text(&json, "device",
                    nics->choice.device[0] ? nics->choice.device : NULL);
    oriel_json_text(&json, "reason", nics->choice.reason);
    oriel_json_flag(&json, "valid", nics->choice_rc == 0);
    oriel_json_end(&json);
    oriel_json_end(&json);
    free(map);
}

static int put_env(const struct oriel_nics *nics)
{
    char *map = map_text(&nics->map);
    int rc = map[0] == '\0' ? ORIEL_EXIT_FAILED : 0;
    if (rc) {
        oriel_complain("no map: no NIC that is up is near to these CPUs; 'oriel nics' "
                       "shows what there is");
    } else {
        char *quoted = oriel_quoted(map);
        printf("export ORIEL_NIC_MAP=%s\n", quoted);
        free(quoted);
    }
    free(map);
    return rc;
}

/* Returns the exit code. */
static int show(enum form form, const struct oriel_nics *nics)
{
    int rc = nics->map.n == 0 || nics->choice_rc ? ORIEL_EXIT_FAILED : 0;
    switch (form) {
    case FORM_TEXT:
        put_text(nics);
        break;
    case FORM_JSON:
        put_json(nics);
        break;
    case FORM_GPU:
        put_gpus(nics);
        break;
    case FORM_ENV:
        rc = put_env(nics);
        break;
    }
    int failed = oriel_stdout_done();
    return failed ? failed : rc;
}

static int parse_cpus(const char *text, struct oriel_cpus *out)
{
    size_t bad = 0;
    int rc = oriel_cpus_parse(text, strlen(text), out, &bad);
    if (rc == 0 && oriel_cpus_count(out) > 0) return 0;
    if (rc == -ERANGE)
        return oriel_usage_error("nics", "--cpus: no CPU has a number above %d",
                                 ORIEL_CPUS_MAX - 1);
    return oriel_usage_error("nics",
                             "--cpus takes a list such as 0-7,64-71, not '%s' (at "
                             "character %zu)",
                             text, bad + 1);
}

static int parse_ranks(const char *text, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    if (errno || end == text || *end != '\0' || *out < 1 || *out > ORIEL_CPUS_MAX)
        return oriel_usage_error("nics",
                                 "--ranks takes a number from 1 to %d, not '%s'",
                                 ORIEL_CPUS_MAX, text);
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},       {"env", no_argument, NULL, 'e'},
        {"gpu", no_argument, NULL, 'g'},        {"allocated", no_argument, NULL, 'a'},
        {"cpus", required_argument, NULL, 'c'}, {"ranks", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    struct oriel_nics_request request = {.ranks = 0};
    struct oriel_cpus cpus;
    enum form form = FORM_TEXT;
    int rc = 0;
    opterr = 0;
    for (int option = 0; option != -1 && !rc;) {
        option = getopt_long(argc, argv, ":h", options, NULL);
        if (option == '?' || option == ':')
            return oriel_option_error("nics", option, argv[optind - 1], options);
        if (option == 'j') form = FORM_JSON;
        if (option == 'e') form = FORM_ENV;
        if (option == 'g') form = FORM_GPU;
        if (option == 'a') request.is_allocated = true;
        if (option == 'c') rc = parse_cpus(optarg, &cpus);
        if (option == 'c') request.cpus = &cpus;
        if (option == 'r') rc = parse_ranks(optarg, &request.ranks);
    }
    if (rc) return rc;
    if (optind < argc)
        return oriel_usage_error("nics", "'%s' is too much", argv[optind]);
    struct oriel_nics nics;
    rc = oriel_nics_read(&request, &nics);
    if (rc) oriel_complain("the topology: %s", oriel_strerror(rc));
    rc = rc ? ORIEL_EXIT_FAILED : show(form, &nics);
    oriel_nics_fini(&nics);
    return rc;
}

const struct oriel_command oriel_command_nics = {
    "nics", "show the network interfaces and the CPUs that are near to each", help,
    run};
