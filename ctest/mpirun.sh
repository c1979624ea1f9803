#!/usr/bin/env bash
# Run a program on n ranks of one MPI, with variables that only the ranks see.
#
#   mpirun.sh --mpi mpich|openmpi -n N [--preload FILE] [-x NAME=value]... -- PROGRAM...
#
# The launchers come from ORIEL_TEST_MPIEXEC_<mpi>. Exits as the ranks do: 77 when
# they skip.
set -u

mpi= ranks=1 preload= vars=()
while [ $# -gt 0 ]; do
    case $1 in
    --mpi) mpi=$2; shift 2 ;;
    -n) ranks=$2; shift 2 ;;
    --preload) preload=$2; shift 2 ;;
    -x) vars+=("$2"); shift 2 ;;
    --) shift; break ;;
    *) echo "mpirun.sh: unknown option $1" >&2; exit 2 ;;
    esac
done

launcher=ORIEL_TEST_MPIEXEC_$mpi
launcher=${!launcher:-mpiexec.$mpi}

# A sanitizer's runtime must come before the layer that needs it.
if [ -n "${ORIEL_TEST_RUNTIME:-}" ]; then
    preload=$ORIEL_TEST_RUNTIME${preload:+:$preload}
fi
[ -n "$preload" ] && vars+=("LD_PRELOAD=$preload")
case ${ORIEL_TEST_SANITIZE:-} in
address)
    # MPI libraries leak at exit by design; ours is checked by the unit tests.
    asan=detect_leaks=0
    # What a fabric sends is looked at after sendmsg returned: the reader may have it by
    # then, and the program have freed it.
    case " ${vars[*]-} " in
    *" ORIEL_ENGINES=ofi "* | *" ORIEL_ENGINES=ucx "*) asan+=:intercept_send=0 ;;
    esac
    vars+=("ASAN_OPTIONS=$asan")
    ;;
thread)
    # The MPI library is not instrumented, and UCX's hooks into madvise run in threads
    # that the sanitizer does not know yet.
    vars+=("TSAN_OPTIONS=halt_on_error=1 ignore_noninstrumented_modules=1"
        "UCX_MEM_EVENTS=no")
    ;;
esac

args=(-n "$ranks")
case $mpi in
openmpi)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    args+=(--oversubscribe --bind-to none)
    # With more ranks than cores, polling ranks must give way to each other.
    [ "$ranks" -gt 2 ] && args+=(--mca mpi_yield_when_idle 1)
    for pair in "${vars[@]}"; do args+=(-x "$pair"); done
    ;;
*)
    for pair in "${vars[@]}"; do args+=(-genv "${pair%%=*}" "${pair#*=}"); done
    ;;
esac
exec "$launcher" "${args[@]}" "$@" </dev/null
