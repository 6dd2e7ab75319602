"""Messages between page and server: JSON objects. Whatever comes in is checked."""

import json
from typing import Any

from foglight.names import BadInput


def message(content: Any) -> str:
    """A message to the page."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def order(text: str | bytes) -> dict[str, Any]:
    """What the page orders: a JSON object."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput("this is not JSON") from None
    if not isinstance(content, dict):
        raise BadInput("this is not a JSON object")
    return content


def whole(order: dict[str, Any], key: str, below: int) -> int:
    """A whole number in an order."""
    value = order.get(key)
    if type(value) is not int or not 0 <= value < below:
        raise BadInput(f"{key} must be a whole number of at least 0")
    return value
