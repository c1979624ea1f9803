"""apps.nwchem: NWChem finds the energy of water under Oriel, on two ranks.

Global Arrays on ARMCI-MPI: hundreds of small MPI_Win_allocate windows. MPICH 4.0.2
returns wrong bytes for those whose memory is not 16-byte aligned, and the native run
does not converge; with Oriel's memory it does. ARMCI-MPI reads by MPI_Get_accumulate
unless told ARMCI_RMA_ATOMICITY=0, when it reads by MPI_Get: both ways must find the
energy, and the second must have its reads redirected.

    apps_nwchem.py [--build DIR] [--native] [--limit SECONDS]
"""

import argparse
import os
import re
import shutil
import sys
import tempfile

from apps_common import TOP, Mpi, report_faults, skip, tail

HARTREE, TOLERANCE = -75.983974, 1e-6
READS = 500  # the program makes over 2000
# 200 MiB a rank; NWChem takes a share of the machine's memory if not told.
INPUT = """start water
memory total 200 mb
geometry units angstroms
  O 0.0  0.0000  0.1173
  H 0.0  0.7572 -0.4692
  H 0.0 -0.7572 -0.4692
end
basis
  * library 6-31g
end
task scf energy
"""


def run(mpi, program, limit, oriel, atomic=True):
    """One run in a folder of its own. Returns (Result, energy or None, report)."""
    with tempfile.TemporaryDirectory(prefix="oriel-nwchem-") as folder:
        with open(os.path.join(folder, "water.nw"), "w", encoding="utf-8") as file:
            file.write(INPUT)
        variables = {} if atomic else {"ARMCI_RMA_ATOMICITY": "0"}
        start = mpi.run_oriel if oriel else mpi.run
        result = start(2, [program, "water.nw"], limit, folder, variables)
    result, report = result if oriel else (result, None)
    found = re.search(r"Total SCF energy\s*=\s*(-?[\d.]+)", result.output)
    return result, float(found[1]) if found else None, report


def show(name, result, energy):
    """One line about a run."""
    end = f"stopped after {result.seconds:.0f} s" if result.code is None else \
        f"exit {result.code}, {result.seconds:.1f} s"
    said = f"{energy:.6f}" if energy is not None else "no energy (does not converge)"
    print(f"{name:34} {said}, {end}", flush=True)


def check(result, energy, report, must_read):
    """Sentences about what is wrong with a run under Oriel."""
    if energy is None or result.code != 0:
        print(tail(result.output, 12))
    if energy is None:
        yield "no energy under Oriel"
    elif abs(energy - HARTREE) > TOLERANCE:
        yield f"the energy is {energy}, and should be {HARTREE}"
    if result.code != 0:
        yield f"NWChem ended with {result.code}"
    if report is None:
        yield "Oriel wrote no report"
        return
    yield from report_faults(report)
    totals = report["totals"]
    print(f"{'':34} {len(report['windows'])} windows, {totals['gets']} Gets, "
          f"{totals['redirected']} redirected")
    taken = sum(window["kind"] == "allocate" for window in report["windows"])
    if not taken:
        yield "no MPI_Win_allocate window was served"
    if must_read and totals["redirected"] < READS:
        yield f"{totals['redirected']} reads redirected, at least {READS} should be"


def main():
    """Natively for comparison, then under Oriel, judged."""
    parser = argparse.ArgumentParser(description="NWChem under Oriel")
    parser.add_argument("--build", default=os.environ.get(
        "ORIEL_TEST_BUILD", os.path.join(TOP, "build")))
    parser.add_argument("--native", action="store_true", help="natively too")
    parser.add_argument("--limit", type=float, default=240, help="seconds a run")
    options = parser.parse_args()
    mpi, program = Mpi("mpich", options.build), shutil.which("nwchem.mpich")
    if mpi.missing() or not program:
        skip(f"no {mpi.missing() or 'nwchem.mpich'}")
    if options.native:
        show("natively", *run(mpi, program, options.limit, False)[:2])
    faults = []
    for name, atomic in (("Oriel", True), ("Oriel, ARMCI_RMA_ATOMICITY=0", False)):
        result, energy, report = run(mpi, program, options.limit, True, atomic)
        show(name, result, energy)
        faults += [f"{name}: {text}"
                   for text in check(result, energy, report, not atomic)]
    print("\n".join(f"FAILED: {text}" for text in faults) or "all is well")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
