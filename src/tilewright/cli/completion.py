"""``tilewright completion``: what a shell needs to complete commands, flags and values.

The script has everything in it, so that a key press starts no Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tilewright.cli.commands import COMMANDS, COMPLETION, SHELLS
from tilewright.cli.options import Command

_WRONG_INPUT = 2


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(each in ("-h", "--help") for each in arguments):
        sys.stdout.write(COMPLETION.help_text(program))
        return 0
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        sys.stderr.write(f"{program}: pass a shell: {', '.join(SHELLS)}\n")
        return _WRONG_INPUT
    sys.stdout.write(_SCRIPTS[arguments[0]]())
    return 0


def flags(command: Command) -> list[str]:
    """All flags of a command, as they are typed."""
    return [each.flag for each in command.options if each.name != "help"] + ["--help"]


_BASH = """\
# bash completion of tilewright: source this file.
_tilewright() {{
    local typed="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    # Without this, a value like cuda:sm_90a would be three parts.
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local cur prev
        _get_comp_words_by_ref -n : cur prev
        typed="$cur" before="$prev"
    fi
    # --flag=value is three words: the flag, =, and the value.
    if [ "$typed" = = ]; then
        typed=
    elif [ "$before" = = ]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$typed"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    if [ ${{#COMPREPLY[@]}} -eq 0 ] && [ "${{typed:0:1}}" = - ]; then
        case "${{COMP_WORDS[1]}}" in
{flags}
        esac
        return
    fi
    if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
        case "${{COMP_WORDS[1]}}" in
{names}
        esac
    fi
    if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
        compopt -o default 2>/dev/null
    elif declare -F __ltrim_colon_completions >/dev/null; then
        __ltrim_colon_completions "$typed"
    fi
}}
complete -F _tilewright tilewright
"""


def bash() -> str:
    """Completion of bash."""
    reply = 'COMPREPLY=($(compgen -W "{}" -- "$typed")) ;;'
    values = [
        f"    '{command.name} {option.flag}') {reply.format(' '.join(option.choices))}"
        for command in COMMANDS
        for option in command.options
        if option.choices
    ]
    return _BASH.format(
        commands=" ".join(each.name for each in COMMANDS),
        values="\n".join(values),
        flags="\n".join(
            f"        {each.name}) {reply.format(' '.join(flags(each)))}" for each in COMMANDS
        ),
        names="\n".join(
            f"        {each.name}) {reply.format(' '.join(each.names))}"
            for each in COMMANDS
            if each.names
        ),
    )


def zsh() -> str:
    """Completion of zsh, as a function of ``$fpath``."""
    listed = "\n".join(f"    {_quoted(f'{each.name}:{each.summary}')}" for each in COMMANDS)
    cases = "\n".join(f"    {each.name})\n{_zsh_arguments(each)}\n      ;;" for each in COMMANDS)
    return (
        "#compdef tilewright\n"
        "# zsh completion of tilewright: a file _tilewright in a directory of $fpath.\n"
        "_tilewright() {\n"
        "  local -a commands\n"
        f"  commands=(\n{listed}\n  )\n"
        "  if (( CURRENT == 2 )); then\n"
        "    _describe command commands\n"
        "    return\n"
        "  fi\n"
        "  shift words\n"
        "  (( CURRENT-- ))\n"
        f"  case $words[1] in\n{cases}\n  esac\n"
        "}\n"
        'if [ "$funcstack[1]" = _tilewright ]; then\n'
        '  _tilewright "$@"\n'
        "else\n"
        "  compdef _tilewright tilewright\n"
        "fi\n"
    )


def _zsh_arguments(command: Command) -> str:
    lines = ["      _arguments"]
    for option in command.options:
        if option.name == "help":
            continue
        about = _short(option.help).replace("[", "(").replace("]", ")").replace(":", r"\:")
        value = ""
        if option.value:
            choices = " ".join(each.replace(":", r"\:") for each in option.choices)
            action = f"({choices})" if choices else "_files"
            value = f":{option.value.replace(':', chr(92) + ':')}:{action}"
        both = "=" if option.value and len(option.name) > 1 else ""  # --flag value, --flag=value
        lines.append(_quoted(f"{option.flag}{both}[{about}]{value}"))
    lines.append(_quoted("--help[show the help]"))
    if command.names:
        lines.append(_quoted(f"1:what:({' '.join(command.names)})"))
    if command.takes_files:
        lines.append(_quoted("*:file:_files"))
    return " \\\n        ".join(lines)


def fish() -> str:
    """Completion of fish."""
    lines = ["# fish completion of tilewright."]
    for command in COMMANDS:
        lines.append(
            f"complete -c tilewright -n __fish_use_subcommand -f -a {command.name} "
            f"-d {_quoted(command.summary)}"
        )
    for command in COMMANDS:
        inside = f"complete -c tilewright -n '__fish_seen_subcommand_from {command.name}'"
        if not command.takes_files:
            lines.append(f"{inside} -f")
        if command.names:
            lines.append(f"{inside} -f -a '{' '.join(command.names)}'")
        for option in command.options:
            if option.name == "help":
                continue
            dash = "-s" if len(option.name) == 1 else "-l"
            value = ""
            if option.choices:
                value = f" -x -a '{' '.join(option.choices)}'"
            elif option.value:
                value = " -r"
            about = f" -d {_quoted(_short(option.help))}" if option.help else ""
            lines.append(f"{inside} {dash} {option.name}{value}{about}")
        lines.append(f"{inside} -l help -d 'show the help'")
    return "\n".join(lines) + "\n"


_LONGEST = 60


def _short(help: str) -> str:
    """The beginning of a help text, as a menu has space for."""
    first = help.partition("\n")[0].partition("; ")[0]
    return first if len(first) <= _LONGEST else first[:_LONGEST].rsplit(" ", 1)[0] + " ..."


def _quoted(text: str) -> str:
    """As one argument of a shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


_SCRIPTS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
