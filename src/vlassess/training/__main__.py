"""``python -m vlassess.training``: one command for each policy that can be trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vlassess_link.errors import VlassessError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

Processes = Annotated[int, typer.Option("--processes", "-p", min=1, help="Collectors and threads.")]


@app.callback()
def training() -> None:
    """Train mini-vla and its siblings on the embedded benchmark."""


@app.command()
def train(
    recipe: Annotated[str, typer.Argument(help="mini-vla, mini-vla-weak, or smoke (minutes, learns nothing).")],
    folder: Annotated[Path | None, typer.Option(help="Where everything is kept; runs/training/RECIPE.")] = None,
    processes: Processes = 1,
    evaluate: Annotated[bool, typer.Option(help="Measure the finished policy with ordinary runs.")] = True,
) -> None:
    """Collect, learn, export and evaluate; started again with the same folder, go on."""
    from vlassess.training.course import Course
    from vlassess.training.evaluation import measure, sentence
    from vlassess.training.progress import Reporter
    from vlassess.training.recipe import RECIPES

    if recipe not in RECIPES:
        raise typer.BadParameter(f"no recipe is called {recipe!r}; there are {', '.join(RECIPES)}")
    chosen, reporter = RECIPES[recipe], Reporter()
    place = folder or Path("runs") / "training" / recipe
    weights = Course(chosen, place, processes, reporter).run()
    reporter.say(f"weights: {weights}")
    if evaluate:
        reporter.say(sentence(measure(weights, chosen.suites, chosen.measured, place / "runs")))


def main() -> None:
    """Run the command line; what people can mend is one sentence."""
    try:
        app(prog_name="python -m vlassess.training")
    except VlassessError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
