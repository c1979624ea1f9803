#!/usr/bin/env bash
# Layers preloaded into processes that have nothing to do with MPI: shells, small
# tools, Python. No output, no threads, no files, no libmpi.
. "$(dirname "$0")/place_lib.sh"
need_plain_build
preload=
for mpi in mpich openmpi; do
    has_mpi "$mpi" && preload=$preload${preload:+:}$(layer_file "$mpi")
done
[ -n "$preload" ] || skip "no layer was built"
export ORIEL_WINDOWS=all ORIEL_STATS=text

mkdir "$work/tmp" "$work/home" "$work/cwd"
export TMPDIR=$work/tmp HOME=$work/home
cd "$work/cwd" || exit 1

# The same commands with and without the preload must say the same.
run_shell() {
    env "$@" bash -c '
        for i in 1 2 3; do true; done
        ls /usr | head -n 3
        echo text | sed s/e/E/ | cat
        (exit 3); echo "subshell $?"
        sleep 0 & wait; echo "background $?"
        ls /proc/self/task | wc -l
        ls /proc/self/fd | wc -l
        exit 4' >"$work/out" 2>"$work/err"
    echo "exit $?" >>"$work/out"
}
run_shell X=1
mv "$work/out" "$work/expected"
run_shell "LD_PRELOAD=$preload"
check "a shell and its tools say the same" same_text "$work/out" "$work/expected"
check "and nothing else" is_empty "$work/err"
show "$work/err"

LD_PRELOAD=$preload bash -c 'cat /proc/$$/maps' >"$work/maps"
check "the layer is in the shell" has "$work/maps" liboriel-pmpi
check "no MPI library is in the shell" lacks "$work/maps" 'libmpi|libmpich'
check "nor one of the fabrics'" lacks "$work/maps" 'libucp|libfabric|libhwloc'

# Reported, not asserted: what the preload costs a process, in processor time.
count=200
cpu_us() { # of the children of this shell so far
    local children
    children=$(awk '{print $16 + $17}' "/proc/$$/stat")
    echo $((children * 1000000 / $(getconf CLK_TCK)))
}
start=$(cpu_us)
for ((i = 0; i < count; i++)); do /bin/true; done
plain=$(($(cpu_us) - start))
export LD_PRELOAD=$preload
for ((i = 0; i < count; i++)); do
    /bin/true || echo "true is false"
done >"$work/out" 2>&1
unset LD_PRELOAD
loaded=$(($(cpu_us) - start - plain))
check "$count times /bin/true say nothing" is_empty "$work/out"
echo "/bin/true: $((plain / count)) us of processor time, under the preload of" \
    "$(tr : '\n' <<<"$preload" | wc -l) layers $((loaded / count)) us"

LD_PRELOAD=$preload python3 -c '
import subprocess, threading, os
print(subprocess.check_output(["echo", "child"]).decode(), end="")
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
if os.fork() == 0: os._exit(0)
print("status", os.wait()[1], "tasks", len(os.listdir("/proc/self/task")))
' >"$work/out" 2>"$work/err"
check "python: says its own" equal "$(tr '\n' ' ' <"$work/out")" \
    "child thread status 0 tasks 1 "
check "python: and nothing else" is_empty "$work/err"
show "$work/out" "$work/err"

# What the process does beyond loading the libraries.
if strace -f -o "$work/trace" /bin/true 2>/dev/null; then
    LD_PRELOAD=$preload strace -f -E LD_PRELOAD="$preload" -o "$work/trace" /bin/true
    check "no thread or process is made" lacks "$work/trace" '(clone|clone3|fork)\('
    check "no file is made" lacks "$work/trace" 'O_CREAT|memfd_create|mkdir|unlink'
    check "no socket is made" lacks "$work/trace" 'socket\('
    check "nothing is written" lacks "$work/trace" 'write\('
else
    echo "no strace here: system calls were not looked at"
fi
check "no file was left" [ -z "$(ls -A "$work/tmp" "$work/home" "$work/cwd" |
    grep -v ':$')" ]
finish
