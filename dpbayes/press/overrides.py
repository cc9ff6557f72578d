"""The file ``parameters.yml``: values of the next build that differ from the notebooks' defaults.

It is read by the rules of YAML 1.2: ``12:30`` is a text, ``010`` is ten, ``yes`` is a text, and a
key that stands twice is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

SCALARS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+0123456789."),
    ),
}


class Yaml12(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2's core schema."""

    def whole(self, node: yaml.ScalarNode) -> int:
        """Return an integer; zeros in front mean nothing."""
        text = node.value
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    def mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        """Return a mapping, or raise for a key that stands twice."""
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in found:
                problem = f"{key!r} stands twice" if isinstance(key, str) else f"{key!r} is no name"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            found[key] = self.construct_object(value_node, deep=True)
        return found


Yaml12.yaml_implicit_resolvers = {}
for _kind, (_pattern, _first) in SCALARS.items():
    Yaml12.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), _first
    )
Yaml12.add_constructor("tag:yaml.org,2002:int", Yaml12.whole)
Yaml12.add_constructor("tag:yaml.org,2002:map", Yaml12.mapping)


def read_overrides(path: Path) -> dict[str, dict[str, Any]]:
    """Return the values by notebook and parameter; no file and an empty file change nothing.

    Raises ValueError of one line that names the file and the place.
    """
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        content = yaml.load(text, Yaml12)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"{path.name}{place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        first = str(error).splitlines()[0]
        raise ValueError(f"{path.name} cannot be read: {first}") from error
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(
        values is None or isinstance(values, dict) for values in content.values()
    ):
        raise ValueError(f"{path.name} must map notebook names to 'parameter: value' lines")
    return {name: values or {} for name, values in content.items()}
