#!/usr/bin/env python3
"""Fortran programs under the layer: right bytes, and redirected reads or a line that
says why not.

    mpi_fortran.py mpich|openmpi

Compiles and runs mpi_fortran_*.f90 with that MPI's Fortran, natively and preloaded.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

MPI = sys.argv[1]
BUILD = os.environ["ORIEL_TEST_BUILD"]
SOURCE = os.environ["ORIEL_TEST_SOURCE"]
LAYER = f"{BUILD}/lib/liboriel-pmpi-{MPI}.so"


def compiler():
    """The Fortran wrapper beside the C one."""
    mpicc = os.environ.get(f"ORIEL_TEST_MPICC_{MPI}", f"mpicc.{MPI}")
    return shutil.which(mpicc.replace("mpicc", "mpifort"))


def run(program, preload, *settings):
    command = ["bash", f"{SOURCE}/ctest/mpirun.sh", "--mpi", MPI, "-n", "2"]
    if preload:
        command += ["--preload", LAYER]
    for setting in settings:
        command += ["-x", setting]
    done = subprocess.run(command + ["--", program], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout + done.stderr


def redirected(path):
    """Redirected reads of the report, 0 when there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["totals"]["redirected"]
    except OSError:
        return 0


def check_program(name, folder, fortran):
    source = f"{SOURCE}/ctest/mpi_fortran_{name}.f90"
    program = os.path.join(folder, name)
    # mpif.h has no interfaces, and compilers compare the calls of one function.
    loose = ["-fallow-argument-mismatch"] if name == "h" else []
    built = subprocess.run([fortran, "-O1", *loose, "-o", program, source], cwd=folder,
                           capture_output=True, text=True)
    if built.returncode:
        return f"{name} does not compile:\n{built.stderr}"
    code, output = run(program, False)
    if code or "wrong" not in output:
        return f"{name} fails natively:\n{output}"
    report = program + ".json"
    code, output = run(program, True, "ORIEL_WINDOWS=all", f"ORIEL_STATS=json:{report}")
    if code:
        return f"{name} fails under the layer:\n{output}"
    count = redirected(report)
    said = [line for line in output.splitlines() if "oriel" in line and "ortran" in line]
    print(f"{name}: {count} reads redirected {said}")
    if count == 0 and not said:
        return f"{name}: nothing was redirected, and no line says that Fortran passes by"
    code, output = run(program, True)
    if code or "oriel" in output:
        return f"{name}: without a wish to redirect, nothing is said:\n{output}"
    return None


def main():
    fortran = compiler()
    if not fortran:
        print(f"skipped: {MPI} has no Fortran compiler here")
        return 77
    faults = []
    with tempfile.TemporaryDirectory(prefix="oriel-test-") as folder:
        for name in ("h", "mod", "f08"):
            fault = check_program(name, folder, fortran)
            if fault:
                faults.append(fault)
    for fault in faults:
        print(f"not so: {fault}")
    return len(faults) != 0


sys.exit(main())
