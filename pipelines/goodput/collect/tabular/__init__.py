"""Serving logs and label files that need no code: CSV, JSON lines and Parquet, mapped by settings alone."""

from goodput.collect.tabular.reading import read_table

__all__ = ["read_table"]
