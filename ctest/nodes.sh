#!/usr/bin/env bash
# Run a program on n ranks of one MPI, spread over "nodes" of this machine: each has a
# network, host name, pids, processes and /dev/shm of its own, and a bridge joins them.
#
#   nodes.sh [--nodes N] --mpi mpich|openmpi -n RANKS [--preload FILE] [-x NAME=value]...
#            -- PROGRAM...
#
# Neighbouring ranks share a node. Exits as the ranks do: 77 when they skip, or when
# this user may not make namespaces. ORIEL_TEST_NODE tells a rank its node, from 1;
# ORIEL_TEST_FOLDER is a folder that all nodes see.
set -u

mpi= ranks=3 preload= vars=() nodes=3
while [ $# -gt 0 ]; do
    case $1 in
    --nodes) nodes=$2; shift 2 ;;
    --mpi) mpi=$2; shift 2 ;;
    -n) ranks=$2; shift 2 ;;
    --preload) preload=$2; shift 2 ;;
    -x) vars+=("$2"); shift 2 ;;
    --) shift; break ;;
    *) echo "nodes.sh: unknown option $1" >&2; exit 2 ;;
    esac
done

skip() {
    echo "skipped: $1"
    exit 77
}

[ "$(id -u)" -eq 0 ] || skip "making network namespaces takes root"
for tool in ip nsenter unshare; do
    command -v $tool >/dev/null || skip "there is no $tool (iproute2, util-linux)"
done

# ---- the nodes ----

name=oriel$$
subnet=10.$((100 + $$ % 100)).$(($$ / 100 % 250))
work=$(mktemp -d)
pids=()

cleanup() {
    local pid
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    ip netns del "$name-0" 2>/dev/null # takes the bridge and all links along
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ip netns add "$name-0" 2>/dev/null || skip "network namespaces are not permitted here"
head() { ip netns exec "$name-0" "$@"; }
head ip link add bridge type bridge 2>/dev/null || skip "the kernel has no bridges"
head ip addr add "$subnet.254/24" dev bridge
head ip link set bridge up
head ip link set lo up

# A process that holds a node's namespaces. Its own /proc and /dev/shm come first, since
# MPI libraries leave files there.
hold='mount -t tmpfs -o mode=1777 none /dev/shm; hostname "$1"; ip link set lo up
      echo up >"$2"; exec sleep 600'
for ((i = 1; i <= nodes; i++)); do
    unshare --net --uts --ipc --pid --mount --fork --mount-proc --kill-child \
        bash -c "$hold" hold "node$i" "$work/up$i" </dev/null >/dev/null 2>&1 &
    pids+=($!)
done
for ((i = 1; i <= nodes; i++)); do
    for ((tries = 0; tries < 100; tries++)); do
        [ -s "$work/up$i" ] && break
        sleep 0.05
    done
    [ -s "$work/up$i" ] || skip "a node's namespaces cannot be made here"
    # unshare forks: its child is the first process of the node.
    holder=$(cat "/proc/${pids[i - 1]}/task/${pids[i - 1]}/children")
    echo "${holder%% *}" >"$work/holder$i"
    head ip link add "port$i" type veth peer name eth0 netns "${holder%% *}"
    head ip link set "port$i" master bridge up
    nsenter -t "${holder%% *}" -n ip addr add "$subnet.$i/24" dev eth0
    nsenter -t "${holder%% *}" -n ip link set eth0 up
    # Another interface leads nowhere, with the same address on every node: reads
    # must go by the first one (field case E11).
    nsenter -t "${holder%% *}" -n ip link add dead0 type veth peer name dead1 &&
        nsenter -t "${holder%% *}" -n ip addr add 172.31.255.1/24 dev dead0 &&
        nsenter -t "${holder%% *}" -n ip link set dead0 up &&
        nsenter -t "${holder%% *}" -n ip link set dead1 up
done

# The launchers' remote shell: [options] host command...
cat >"$work/rsh" <<EOF
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
node=\${1##*.}
shift
exec nsenter -t "\$(cat $work/holder\$node)" -n -u -i -p -m \
    env ORIEL_TEST_NODE=\$node PATH="\$PATH" bash -c "\$*"
EOF
chmod +x "$work/rsh"

# ---- the job ----

launcher=ORIEL_TEST_MPIEXEC_$mpi
launcher=${!launcher:-mpiexec.$mpi}
if [ -n "${ORIEL_TEST_RUNTIME:-}" ]; then # a sanitizer's
    preload=$ORIEL_TEST_RUNTIME${preload:+:$preload}
fi
[ -n "$preload" ] && vars+=("LD_PRELOAD=$preload")
[ "${ORIEL_TEST_SANITIZE:-}" = address ] && vars+=("ASAN_OPTIONS=detect_leaks=0:intercept_send=0")
vars+=("ORIEL_TEST_FOLDER=$work")
each=$(((ranks + nodes - 1) / nodes))

hosts=()
for ((i = 1; i <= nodes; i++)); do hosts+=("$subnet.$i:$each"); done
hosts=$(IFS=,; echo "${hosts[*]}")
args=(-n "$ranks")
case $mpi in
openmpi)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    args+=(-H "$hosts" --oversubscribe --bind-to none --mca plm_rsh_agent "$work/rsh"
        --mca oob_tcp_if_include "$subnet.0/24" --mca btl_tcp_if_include "$subnet.0/24"
        --mca plm_rsh_no_tree_spawn 1 --mca mpi_yield_when_idle 1
        --mca pml ob1 --mca osc ^ucx)
    for pair in "${vars[@]}"; do args+=(-x "$pair"); done
    ;;
*)
    # UCX takes one kernel for one node, and would look there for shared memory, and for
    # the others on the loopback device.
    args+=(-hosts "$hosts" -localhost "$subnet.254" -launcher ssh
        -launcher-exec "$work/rsh" -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0)
    for pair in "${vars[@]}"; do args+=(-genv "${pair%%=*}" "${pair#*=}"); done
    ;;
esac
head "$launcher" "${args[@]}" "$@" </dev/null
