"""Do all builds, thread counts and devices give the same numbers, and how far are they from float64?"""

from __future__ import annotations

from dataclasses import replace

from measure.experiment import Case, Experiment, PythonProgram
from measure.experiments.accelerator_matmul import burn_gpu, torch_gpu
from measure.experiments.cpu_timing import rust, thread_counts
from measure.record import Machine

TORCH = PythonProgram("agree", packages=("torch", "numpy"))


def cases(machine: Machine) -> tuple[Case, ...]:
    """The same stored inputs for all. Results are no samples: a second round only shows that a run repeats itself."""
    threads = thread_counts(machine)
    gpu = torch_gpu(machine, "agree")
    return (
        *(Case("torch", TORCH, args=("--threads", str(n)), params={"threads": name}, threads=n) for name, n in threads.items()),
        replace(gpu, program=TORCH, args=gpu.args[1:]),
        *rust("agree", threads, unset=False),
        burn_gpu(machine, "agree"),
    )


EXPERIMENT = Experiment(
    id="numeric-agreement",
    question="换构建、换线程数、换设备，算出的数一样吗？",
    cases=cases,
    rounds=2,
    timeout=180.0,
    estimate=40.0,
    data=("measure/programs/inputs/agree-a.f32", "measure/programs/inputs/agree-b.f32"),
)
