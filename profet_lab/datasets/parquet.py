"""Read an untrusted Parquet file under caps, with clear errors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from profet_lab.measurements.tables import DataError


def file_bytes(path: Path, *, most_bytes: int, remedy: str) -> bytes:
    """The content of a file of at most so many bytes.

    Parameters
    ----------
    remedy : what to do where there is none.

    Raises
    ------
    DataError : it isn't there, can't be read, with the system's reason, or is larger.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise DataError(f"{path} has more than {most_bytes // 2**20} MB: keep to fewer measurements.")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"No {path.name} in {path.parent}: {remedy}.") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or type(error).__name__}.") from None


def parquet_table(data: bytes, path: Path, *, most_rows: int, remedy: str, schema: pa.Schema | None = None) -> pa.Table:
    """The table in a Parquet file's content.

    Parameters
    ----------
    path : what errors name. remedy : what to do about a damaged file.
    schema : what its columns must be; None for any.

    Raises
    ------
    DataError : it is damaged, no Parquet, of more rows, or of other columns.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        if file.metadata.num_rows > most_rows:
            raise DataError(f"{path} has more than {most_rows:,} rows: keep to fewer measurements.")
        if schema is not None and not file.schema_arrow.equals(schema):
            raise DataError(f"{path} has other columns than docs/DATA.md lists: {remedy}.")
        table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError):
        # The content is in memory: an OSError is Arrow's word for what doesn't decode.
        raise DataError(f"{path} is damaged, or not Parquet: {remedy}.") from None
    return table
