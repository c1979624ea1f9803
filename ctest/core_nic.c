/* core.nic: which CPU is near to which NIC, and which NIC a process takes, on trees
 * that look like the sysfs of known machines.
 *
 *   test_core_nic make NAME FOLDER    builds one of the trees, for cli.nics
 */
#define _GNU_SOURCE 1

#include "core/nic.h"
#include "core/nic_map.h"

#include "nic_tree.h"

static struct oriel_config config;
static struct oriel_nic_choice choice;

static void use_tree(const char *name)
{
    char root[200];
    static int count;
    snprintf(root, sizeof root, "%s/%d-%s", tree_top, count++, name);
    tree_make(name, root);
    memset(&config, 0, sizeof config);
    config.nic = config.nic_map = "";
    config.sysfs = tree_root;
}

static struct oriel_nic_place place_on(const char *cpus, int rank)
{
    struct oriel_nic_place place = {
        .cpu = -1, .local_rank = rank, .local_size = -1, .gpu = -1};
    REQUIRE(oriel_cpus_parse(cpus, strlen(cpus), &place.cpus, NULL) == 0,
            "%s is a list", cpus);
    return place;
}

/* The name that a process on these CPUs takes. */
static const char *name_on(const char *cpus, int rank)
{
    struct oriel_nic_place place = place_on(cpus, rank);
    memset(&choice, 0, sizeof choice);
    int rc = oriel_nic_choose(&config, &place, &choice);
    CHECK(rc == 0 && choice.reason[0],
          "a NIC is chosen for CPUs %s, with a reason (%d)", cpus, rc);
    return choice.name;
}

static void check_map(enum oriel_nic_use use, const char *expected)
{
    struct oriel_node *node;
    struct oriel_nic_map map;
    char text[1000] = "";
    struct oriel_nic_place place = place_on("", -1);
    place.use = use;
    REQUIRE(oriel_node_read(tree_root, &node) == 0, "the tree is read");
    REQUIRE(oriel_nic_map_of(node, &place, &map) == 0, "there is a map");
    FILE *file = fmemopen(text, sizeof text, "w");
    oriel_nic_map_print(&map, file);
    fclose(file);
    CHECK(strcmp(text, expected) == 0, "the map is %s, not %s", expected, text);
    oriel_nic_map_fini(&map);
    oriel_node_destroy(node);
}

/* How many of the ranks take each of the NICs hsn0 to hsn3. */
static int taken[4];
static void count_taken(const char *name)
{
    bool is_hsn = strncmp(name, "hsn", 3) == 0 && name[3] >= '0' && name[3] <= '3' &&
                  name[4] == '\0';
    CHECK(is_hsn, "%s is one of the Slingshot NICs", name);
    if (is_hsn) taken[name[3] - '0']++;
}
static void check_taken(int each, const char *sentence)
{
    CHECK(taken[0] == each && taken[1] == each && taken[2] == each && taken[3] == each,
          "%s: %d, %d, %d, %d ranks, not %d each", sentence, taken[0], taken[1],
          taken[2], taken[3], each);
    memset(taken, 0, sizeof taken);
}

static void test_frontier(void)
{
    static const char *const near[] = {"hsn2", "hsn2", "hsn1", "hsn1",
                                       "hsn3", "hsn3", "hsn0", "hsn0"};
    use_tree("frontier");
    check_map(ORIEL_NIC_USE_ANY, "48-63,112-127=hsn0;16-31,80-95=hsn1;"
                                 "0-15,64-79=hsn2;32-47,96-111=hsn3");
    check_map(ORIEL_NIC_USE_DEVICE, "48-63,112-127=hsn0;16-31,80-95=hsn1;"
                                    "0-15,64-79=hsn2;32-47,96-111=hsn3");
    for (int cpu = 0; cpu < 128; cpu++) {
        char cpus[16];
        snprintf(cpus, sizeof cpus, "%d", cpu);
        const char *name = name_on(cpus, cpu % 5);
        CHECK(strcmp(name, near[cpu % 64 / 8]) == 0, "CPU %d: %s", cpu, name);
    }
    for (int rank = 0; rank < 8;
         rank++) { /* an L3 group each, its first core kept free */
        char cpus[32];
        snprintf(cpus, sizeof cpus, "%d-%d,%d-%d", 8 * rank + 1, 8 * rank + 7,
                 8 * rank + 65, 8 * rank + 71);
        CHECK(strcmp(name_on(cpus, rank), near[rank]) == 0, "rank %d", rank);
        count_taken(choice.name);
        CHECK(choice.kind == ORIEL_NIC_CXI &&
                  strcmp(choice.interface, choice.name) == 0,
              "it is a Slingshot interface");
        CHECK(strncmp(choice.device, "cxi", 3) == 0 &&
                  strcmp(choice.device + 3, choice.name + 3) == 0,
              "%s is %s", choice.name, choice.device);
    }
    check_taken(2, "8 bound ranks");
    for (int rank = 0; rank < 8; rank++)
        count_taken(name_on("0-127", rank));
    check_taken(2, "8 ranks that are not bound");
    CHECK(strstr(choice.reason, "local rank 7") && strstr(choice.reason, "of 4"),
          "the reason says how: %s", choice.reason);
    for (int rank = 0; rank < 4; rank++)
        count_taken(name_on(rank < 2 ? "0-31" : "32-63", rank));
    check_taken(1, "4 ranks bound to half a node");
    CHECK(strcmp(name_on("0-15,16", 3), "hsn2") == 0, "one stray CPU changes nothing");
}

static void test_unknown_rank(void)
{
    use_tree("frontier");
    for (int cpu = 0; cpu < 64; cpu += 16) {
        struct oriel_nic_place place = place_on("0-127", -1);
        place.cpu = cpu + 3;
        CHECK(oriel_nic_choose(&config, &place, &choice) == 0, "a NIC is chosen");
        count_taken(choice.name);
    }
    check_taken(1, "processes without a rank stay near their CPU");
    CHECK(strcmp(name_on("0-127", -1), "hsn0") == 0, "nothing known: the first");
}

static void test_perlmutter(void)
{
    use_tree("perlmutter-gpu");
    check_map(ORIEL_NIC_USE_ANY, "48-63,112-127=hsn0;32-47,96-111=hsn1;"
                                 "16-31,80-95=hsn2;0-15,64-79=hsn3");
    for (int rank = 0; rank < 4; rank++) {
        char cpus[32];
        snprintf(cpus, sizeof cpus, "%d-%d", 16 * rank, 16 * rank + 15);
        count_taken(name_on(cpus, rank));
    }
    check_taken(1, "4 ranks on a GPU node");
    use_tree("perlmutter-cpu");
    check_map(ORIEL_NIC_USE_ANY, "0-255=hsn0");
    CHECK(strcmp(name_on("127", 127), "hsn0") == 0, "one NIC is everybody's");
}

/* Ranks bound to one of two NUMA nodes with two NICs each, however they are dealt out.
 */
static void test_pairs(void)
{
    use_tree("pairs");
    check_map(ORIEL_NIC_USE_ANY, "0-15=hsn0+hsn1;16-31=hsn2+hsn3");
    for (int n = 4; n <= 16; n *= 2) {
        for (int rank = 0; rank < n; rank++)
            count_taken(name_on(rank < n / 2 ? "0-15" : "16-31", rank));
        check_taken(n / 4, "in blocks");
        for (int rank = 0; rank < n; rank++)
            count_taken(name_on(rank % 2 ? "16-31" : "0-15", rank));
        check_taken(n / 4, "in turn");
        for (int rank = 0; rank < n; rank++)
            count_taken(name_on("0-31", rank));
        check_taken(n / 4, "not bound");
    }
    config.nic_map = "0-15=hsn0+hsn1;16-31=hsn2+hsn3";
    for (int rank = 0; rank < 8; rank++)
        count_taken(name_on(rank % 2 ? "20" : "3", rank));
    check_taken(2, "by a map, bound to one CPU");
}

static void test_infiniband(void)
{
    use_tree("infiniband");
    check_map(ORIEL_NIC_USE_ANY, "0-15=ib0");
    CHECK(strcmp(name_on("12", 0), "ib0") == 0 &&
              strcmp(choice.device, "mlx5_0") == 0 &&
              choice.kind == ORIEL_NIC_INFINIBAND,
          "the HCA that is up, with its device %s", choice.device);
    check_map(ORIEL_NIC_USE_INTERFACE, "0-15=eno1");
    tree_file("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE");
    tree_file("class/infiniband/mlx5_1/ports/1/rate", "200 Gb/sec (4X HDR)");
    check_map(ORIEL_NIC_USE_DEVICE, "0-7=ib0;8-15=ib1");
    tree_file("class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet");
    check_map(ORIEL_NIC_USE_DEVICE, "0-15=ib0");
    tree_remove("class/net");
    check_map(ORIEL_NIC_USE_ANY, "0-15=mlx5_0");
}

static void test_states(void)
{
    use_tree("frontier");
    tree_file("class/net/hsn2/operstate", "down");
    /* CPUs 0-15 are as far from each of the others. */
    check_map(ORIEL_NIC_USE_ANY, "0-15,48-79,112-127=hsn0;0-31,64-95=hsn1;"
                                 "0-15,32-47,64-79,96-111=hsn3");
    struct oriel_nic_place place = place_on("32-47", 0);
    place.devices = "cxi0,cxi1";
    CHECK(
        oriel_nic_choose(&config, &place, &choice) == 0 &&
            (strcmp(choice.device, "cxi0") == 0 || strcmp(choice.device, "cxi1") == 0),
        "only what the step was given: %s", choice.device);
    tree_file("class/net/hsn1/speed", "1000");
    CHECK(strcmp(name_on("16-31", 0), "hsn1") != 0, "a slow one is left out");
}

static void test_single(void)
{
    use_tree("single");
    check_map(ORIEL_NIC_USE_ANY, "0-3=eth0");
    tree_file("class/net/eth0/operstate", "down");
    CHECK(strcmp(name_on("0", 0), "docker0") == 0,
          "a virtual one when there is nothing else: %s", choice.name);
    tree_remove("class/net/docker0");
    tree_remove("class/net/veth12ab");
    CHECK(name_on("0", 0)[0] == '\0' && strstr(choice.reason, "fabric library"),
          "never lo: %s", choice.reason);
    config.nic = "lo";
    CHECK(strcmp(name_on("0", 0), "lo") == 0, "unless it is forced");
}

/* A bond has the place of its ports, which have no addresses of their own. */
static void test_bond(void)
{
    use_tree("infiniband");
    tree_interface("bond0", NULL, "up", 1000);
    tree_link("devices/virtual/net/bond0/lower_eno1", "class/net/eno1");
    tree_file("devices/virtual/net/bond0/bonding/slaves", "eno1");
    tree_link("class/net/eno1/master", "devices/virtual/net/bond0");
    check_map(ORIEL_NIC_USE_INTERFACE, "0-15=bond0");
}

static void test_forced(void)
{
    struct oriel_nic_place place;
    use_tree("frontier");
    place = place_on("0", 0);
    config.nic = "hsn3";
    CHECK(strcmp(name_on("0", 0), "hsn3") == 0, "by the interface");
    config.nic = "cxi1";
    CHECK(strcmp(name_on("0", 0), "hsn1") == 0 && strcmp(choice.device, "cxi1") == 0,
          "by the device");
    config.nic = "nmn0";
    CHECK(strcmp(name_on("0", 0), "nmn0") == 0, "also one that nobody would choose");
    config.nic_map = "garbage";
    CHECK(strcmp(name_on("0", 0), "nmn0") == 0, "a forced one needs no map");
    tree_file("class/net/nmn0/operstate", "down");
    CHECK(strstr((name_on("0", 0), choice.reason), "down"), "%s", choice.reason);
    config.nic = "hns0";
    strcpy(choice.name, "kept");
    CHECK(oriel_nic_choose(&config, &place, &choice) == -ENODEV &&
              strstr(choice.reason, "did you mean hsn0?") &&
              strstr(choice.reason, "hsn1 or cxi1") && strcmp(choice.name, "kept") == 0,
          "a wrong name is an error that helps: %s", choice.reason);
}

static void test_gpu(void)
{
    struct oriel_nic_place place;
    use_tree("frontier");
    config.nic = "gpu";
    place = place_on("0-127", 0);
    /* In the order of PCI addresses: buses 60, 80, a0, c0, two each. */
    static const char *const nearest[] = {"hsn0", "hsn0", "hsn3", "hsn3",
                                          "hsn1", "hsn1", "hsn2", "hsn2"};
    for (int gpu = 0; gpu < 8; gpu++) {
        place.gpu = gpu;
        CHECK(oriel_nic_choose(&config, &place, &choice) == 0 &&
                  strcmp(choice.name, nearest[gpu]) == 0,
              "GPU %d: %s, not %s", gpu, choice.name, nearest[gpu]);
        CHECK(strcmp(name_on("0", gpu + 8), nearest[gpu]) == 0,
              "without a visible device by the local rank: %s", choice.name);
    }
    config.nic = "gpu:0000:c2:00.0";
    CHECK(strcmp(name_on("60", 0), "hsn2") == 0, "by its address: %s", choice.name);
    config.nic = "gpu:61:00.0";
    CHECK(strcmp(name_on("0", 0), "hsn0") == 0, "also without the domain");
    config.nic = "gpu:2";
    CHECK(strcmp(name_on("0", 0), "hsn3") == 0, "by its number");
    config.nic = "gpu:8";
    CHECK(oriel_nic_choose(&config, &place, &choice) == -ENODEV &&
              strstr(choice.reason, "sysfs shows 8"),
          "%s", choice.reason);
    config.nic = "gpu:x";
    CHECK(oriel_nic_choose(&config, &place, &choice) == -EINVAL, "%s", choice.reason);
    use_tree("perlmutter-gpu"); /* no bridge in common: by NUMA node */
    config.nic = "gpu:0";
    CHECK(strcmp(name_on("0", 0), "hsn0") == 0, "by NUMA node: %s", choice.name);
}

static void test_place(void)
{
    struct oriel_nic_place place;
    setenv("SLURM_LOCALID", "0", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "5", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "8(x2),4", 1);
    setenv("ROCR_VISIBLE_DEVICES", "3,4", 1);
    setenv("SLINGSHOT_DEVICES", "cxi0", 1);
    oriel_nic_place_own(&place);
    CHECK(oriel_cpus_count(&place.cpus) > 0 && place.cpu >= 0, "CPUs are known");
    CHECK(place.local_rank == 5, "mpirun's rank wins over the batch script's (%d)",
          place.local_rank);
    CHECK(place.local_size == 8 && place.gpu == 3 && place.devices,
          "so are the others");
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "x", 1);
    setenv("ROCR_VISIBLE_DEVICES", "GPU-1234", 1);
    oriel_nic_place_own(&place);
    CHECK(place.local_rank == 0 && place.gpu == -1, "what is no number is not known");
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        tree_make(argv[2], argv[3]);
        return 0;
    }
    tree_top_make();
    test_frontier();
    test_unknown_rank();
    test_perlmutter();
    test_pairs();
    test_infiniband();
    test_states();
    test_single();
    test_bond();
    test_forced();
    test_gpu();
    test_place();
    tree_top_remove();
    return check_done();
}
