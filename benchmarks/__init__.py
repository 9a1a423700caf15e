"""How fast Goodput is, each figure as a ratio to a baseline that runs beside it: `python -m benchmarks`."""
