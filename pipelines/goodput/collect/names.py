"""Which names of files and objects are left alone: hidden ones, and those that writers give what is not finished."""

UNFINISHED = (".tmp", ".partial", "~")


def is_left_alone(path: str) -> bool:
    """Whether a path below a landing zone has a hidden folder or name, or an unfinished one."""
    *folders, name = path.split("/")
    return name.endswith(UNFINISHED) or any(part.startswith(".") for part in (*folders, name))
