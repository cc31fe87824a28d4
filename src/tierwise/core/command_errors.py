"""Run the command that was typed, and report what went wrong in one line on standard error."""

import os
import re
import shutil
import sys
from typing import Any

import typer
from typer.exceptions import TyperException

from tierwise.core.errors import EXTRAS, InputError, MissingError, TierwiseError, extra_remedy, one_line, suggesting, with_remedy


def run_command(app: typer.Typer, name: str) -> None:
    """Run `app` as the program `name`, and end the process: with 2 for input that the reader can correct, with 1 for any other error."""
    try:
        sys.exit(app(prog_name=name, standalone_mode=False))
    except TyperException as error:  # without a message, the help was the answer
        if message := usage(error):
            print(f"{name}: {message}", file=sys.stderr)
        sys.exit(2)
    except typer.Abort:  # the reader answered no
        sys.exit(1)
    except TierwiseError as error:
        _report(name, error, str(error))
        sys.exit(2 if isinstance(error, InputError) else 1)
    except ModuleNotFoundError as error:
        extra = next((extra for extra, modules in EXTRAS.items() if (error.name or "").split(".")[0] in modules), None)
        if extra is None:
            raise
        why = f"it comes with the extra {extra}"
        _report(name, error, str(MissingError(f"the package {error.name}", why=why, remedy=extra_remedy(extra))))
        sys.exit(1)
    except (OSError, MemoryError) as error:  # a disk that is full, read-only or broken, a mount that is gone
        _report(name, error, with_remedy(_reason(error) or "out of memory"))
        sys.exit(1)


def usage(error: TyperException) -> str:
    """Return one line on a command, option or value that does not exist, or on all options that are missing."""
    message = one_line(error.format_message())
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if not message or context is None:
        return message
    example = f"Remedy: {context.command_path} --help shows an example"
    if type(error).__name__ == "MissingParameter":
        return f"{context.info_name} needs {', '.join(missing(context))}. {example}"
    if parameter is not None and (choice := re.search(r"'([^']*)' is not one of (.*?)\.?$", message)):
        known = re.findall(r"'([^']*)'", choice[2])
        rule, remedy = f"must be one of {', '.join(known)}", suggesting(choice[1], known)
        return str(InputError(_label(parameter), value=choice[1], rule=rule, remedy=remedy))
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} {example}"


def missing(context: Any) -> list[str]:
    """Return the names of all required parameters that were not given; those that were given are parsed first."""
    return [_label(each) for each in context.command.params if each.required and each.name not in context.params]


def _label(parameter: Any) -> str:
    name = str(parameter.opts[0])
    return name if name.startswith("-") else name.upper()


def _report(name: str, error: BaseException, message: str) -> None:
    if os.environ.get("TIERWISE_DEBUG"):
        raise error
    print(f"{name}: {message}", file=sys.stderr)


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        (_, _, why), *_ = error.args[0]
        return str(why)
    return str(error)
