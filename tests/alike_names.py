"""Names that DuckDB's hash() takes for the same, which what reads them must not."""

from goodput.plumbing.sql_files import connect


def alike_names(count: int) -> list[str]:
    """Names that count up, of which two that follow each other have one hash()."""
    names = "SELECT format('{:08d}-{:07d}', i // 1000, i % 1000) AS name FROM range(1_000_000) AS r(i)"
    paired = "QUALIFY count(*) OVER (PARTITION BY hash(name)) > 1 ORDER BY hash(name), name"
    with connect() as connection:
        found = [name for (name,) in connection.sql(f"{names} {paired} LIMIT {count}").fetchall()]
        hashes = f"SELECT count(DISTINCT hash(name)) FROM (SELECT unnest({found}) AS name)"
        ((different,),) = connection.sql(hashes).fetchall()
    assert len(set(found)) == count
    assert different <= count // 2
    return found
