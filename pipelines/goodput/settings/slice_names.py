"""What slices by tenant or attribute are called: as what cuts them, after `workload_` where a workload cuts too."""

WITHIN_WORKLOAD = "workload_"


def cut_by(name: str) -> str:
    """The tenant or attribute that a slice by one is cut by, within workloads or not."""
    return name.removeprefix(WITHIN_WORKLOAD)
