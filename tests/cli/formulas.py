# SPDX-License-Identifier: MIT
"""What the formulas of simulated machines share. `n(pmu, event, cpu=0)` is a count in one second."""


def total(n, pmus, *events):
    return sum(n(pmu, event) for pmu in pmus for event in events)


def clock(pmus, cycles="cycles"):
    """The mean of the clocks that were counted."""

    def mean(n):
        clocks = [n(pmu, cycles) for pmu in pmus if n(pmu, cycles)]
        return sum(clocks) / len(clocks)

    return mean


def latency(n, pmus, in_flight, requests, cycles="cycles"):
    """Little's law, with the mean of the clocks."""
    return total(n, pmus, *in_flight) / total(n, pmus, *requests) / clock(pmus, cycles)(n)


def doubted(formula):
    """The same, in rows that are suspect: the data file has a doubt about it."""

    def same(n):
        return formula(n)

    same.doubted = True
    return same


def msr(cpus):
    """Time-stamp counters: the mean of those counted. Interrupts of the system are too rare to come."""
    return {
        "clock.tsc.frequency": lambda n: max(n("msr", "tsc", cpu) for cpu in cpus),
        "interrupt.smi.rate": lambda n: sum(n("msr", "smi", cpu) for cpu in cpus),
    }
