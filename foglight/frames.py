"""Results as tables of other libraries: a data frame of pandas, or a table of Arrow, where one is asked for.

A result that is `Framed` says itself what its rows are, as plain data, and of which kind each column is. So a column
has the same type in every table, even where nothing is known and all its values are None.
"""

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from foglight.names import BadInput

# Kinds of columns: text, a whole number, a number, yes or no, several texts, several whole numbers.
_PANDAS = {"text": "str", "whole": "int64", "number": "float64", "yes": "bool"}
_UNKNOWN = {"whole": "Int64", "yes": "boolean"}  # types of pandas that know a missing value


class Framed:
    """A result with rows that pandas and Arrow can take over, such as a belief, a match or a policy in words."""

    columns_of_table: ClassVar[Mapping[str, str]]  # their names and kinds

    def table(self) -> Iterable[Mapping[str, Any]]:
        """The rows as plain data."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The rows of `table` as a data frame of pandas; needs `foglight[tables]`."""
        pandas = needed("pandas", "tables")
        rows, kinds = list(self.table()), self.columns_of_table
        frame = pandas.DataFrame(rows, columns=list(kinds))
        types = {}
        for name, kind in kinds.items():
            missing = kind in ("text", "whole", "yes") and any(row[name] is None for row in rows)
            if kind in (_UNKNOWN if missing else _PANDAS):
                types[name] = (_UNKNOWN if missing else _PANDAS)[kind]
        return frame.astype(types)

    def to_arrow(self) -> Any:
        """The rows of `table` as a table of Arrow, which Polars, DuckDB and others read; needs `foglight[tables]`."""
        arrow = needed("pyarrow", "tables")
        return arrow.Table.from_pylist(list(self.table()), arrow_schema(self.columns_of_table))


def needed(package: str, extra: str) -> Any:
    """The package, or a BadInput that says which extra has it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise BadInput(f"this needs {package}; install it with: pip install 'foglight[{extra}]'") from None


def arrow_schema(columns: Mapping[str, str]) -> Any:
    """The types of Arrow for columns of these kinds."""
    arrow = importlib.import_module("pyarrow")
    kinds = {
        "text": arrow.string(),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "yes": arrow.bool_(),
        "texts": arrow.list_(arrow.string()),
        "wholes": arrow.list_(arrow.int64()),
    }
    return arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
