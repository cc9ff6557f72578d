"""A session of IPython without a kernel: what a cell shows comes back as outputs of a notebook.

Nothing is sent anywhere: what a kernel would put into messages is gathered in a list, in the order
in which it was shown.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

# A thread that writes a history would be lost in a fork.
SETTINGS = Config({"HistoryManager": {"enabled": False}})
Output = dict[str, Any]


class Stream(io.TextIOBase):
    """Standard output or standard error of a cell."""

    def __init__(self, name: str, show: Callable[[Output], None]) -> None:
        """Show what is written under a name."""
        super().__init__()
        self.name = name
        self.show = show

    def writable(self) -> bool:
        """Say that this can be written to."""
        return True

    def write(self, text: str) -> int:
        """Show a text, joined to the one before if nothing came between."""
        self.show({"output_type": "stream", "name": self.name, "text": text})
        return len(text)


class Publisher(DisplayPublisher):
    """What ``display`` calls."""

    shell: Any

    def publish(self, data: Any, metadata: Any = None, *_: Any, **__: Any) -> None:
        """Show a bundle."""
        self.shell.show({"output_type": "display_data", "data": data, "metadata": metadata or {}})

    def clear_output(self, wait: bool = False) -> None:
        """Take back what the cell has shown."""
        self.shell.outputs.clear()


class Result(DisplayHook):
    """What shows the value of a cell's last line."""

    shell: Any

    def write_output_prompt(self) -> None:
        """Print nothing: the number stands in the output."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        """Show the value's bundle."""
        self.shell.show(
            {
                "output_type": "execute_result",
                "data": format_dict,
                "metadata": md_dict or {},
                "execution_count": self.prompt_count,
            }
        )

    def finish_displayhook(self) -> None:
        """Print nothing: the output is whole."""


class Shell(InteractiveShell):
    """A session that gathers what its cells show."""

    displayhook_class = Type(Result)
    display_pub_class = Type(Publisher)

    def init_environment(self) -> None:
        """Leave the environment alone."""

    def init_virtualenv(self) -> None:
        """Leave the path alone."""

    def enable_gui(self, gui: Any = None) -> None:
        """Have no windows."""

    def show(self, output: Output) -> None:
        """Keep an output; a stream goes on where it was."""
        last = self.outputs[-1] if self.outputs else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            self.outputs.append(output)

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        self.show(
            {
                "output_type": "error",
                "ename": str(etype.__name__),
                "evalue": str(evalue),
                "traceback": stb,
            }
        )

    def outputs_of(self, source: str) -> tuple[int, list[Output], bool]:
        """Run a cell; return its number, what it showed, and whether it went well."""
        self.outputs: list[Output] = []
        number = self.execution_count
        run: Any = self.run_cell  # it has no types
        with streams_to(self.show):
            result = run(source, store_history=True)
        return number, self.outputs, bool(result.success)


@contextmanager
def streams_to(show: Callable[[Output], None]) -> Iterator[None]:
    """Show what is printed."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Stream("stdout", show), Stream("stderr", show)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def new_shell() -> Shell:
    """Return the session of this process; a fork has one of its own."""
    shell: Shell = Shell.instance(config=SETTINGS)
    return shell
