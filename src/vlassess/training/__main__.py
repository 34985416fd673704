"""``python -m vlassess.training``: one command for each kind of policy that can be trained."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from vlassess.training.places import WEIGHTS
from vlassess_link.errors import ContractError, VlassessError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; what people can mend is one sentence."""
    options = parser().parse_args(arguments)
    try:
        options.command(options)
    except VlassessError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command goes on\n")
        return 130
    return 0


def _train(options: argparse.Namespace) -> None:
    _need_torch()
    from vlassess.grounding.suites import suite_of
    from vlassess.training.controls import measure_controls
    from vlassess.training.course import Course
    from vlassess.training.evaluation import measure, sentence
    from vlassess.training.progress import Reporter
    from vlassess.training.recipe import RECIPES

    if options.recipe not in RECIPES:
        raise ContractError(f"no recipe is called {options.recipe!r}; there are {', '.join(RECIPES)}")
    recipe, reporter = RECIPES[options.recipe], Reporter()
    folder = options.folder or Path("runs") / "training" / recipe.name
    weights = Course(recipe, folder, options.processes, reporter).run()
    reporter.say(f"weights: {weights}")
    if options.evaluate and suite_of(recipe.suites[0]) is not None:
        measure_controls(weights, recipe.suites[0], recipe.measured, folder / "runs", reporter)
    elif options.evaluate:
        reporter.say(sentence(measure(weights, recipe.suites, recipe.measured, folder / "runs")))


def _few_shot(options: argparse.Namespace) -> None:
    _need_torch()
    from vlassess.training.fewshot import FewShot, teach
    from vlassess.training.progress import Reporter

    reporter = Reporter()
    axis, _, level = options.factor.partition("=")
    wanted = FewShot({axis: level}, options.shots, options.method, tuple(options.suite), seed=options.seed)
    reporter.say(f"weights: {teach(options.weights, wanted, options.out, reporter)}")


def _curve(options: argparse.Namespace) -> None:
    _need_torch()
    from vlassess.training.curve import course_of, train_curve
    from vlassess.training.progress import Reporter

    reporter = Reporter()
    checkpoints = train_curve(course_of(options.study, options.set, reporter.say), reporter)
    reporter.say(f"{len(checkpoints)} checkpoints are in {checkpoints[0].parent}")


def _need_torch() -> None:
    missing = [name for name in ("torch", "onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise ContractError(
            f"training needs {' and '.join(missing)}: use `make train`, or install `vlassess[sim,train]`"
        )


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    whole = argparse.ArgumentParser(prog="python -m vlassess.training", description=__doc__)
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    train = commands.add_parser("train", help="collect, learn, export, evaluate; started again, go on")
    train.set_defaults(command=_train)
    train.add_argument("recipe", help="mini-vla, mini-vla-weak, mini-vla-rsb, or smoke (two minutes, learns little)")
    train.add_argument("--folder", type=Path, help="where everything is kept (default: runs/training/RECIPE)")
    train.add_argument("--processes", type=int, default=1, help="how many collect at once, and threads that learn")
    train.add_argument("--no-evaluate", dest="evaluate", action="store_false", help="leave the evaluation out")
    few = commands.add_parser(
        "few-shot", help="teach a trained policy one level of one factor, as object_category=card"
    )
    few.set_defaults(command=_few_shot)
    few.add_argument("factor", metavar="AXIS=LEVEL", help="what every demonstration is varied by")
    few.add_argument("shots", type=int, help="demonstrations: 2, 5, 10, 20, 50")
    few.add_argument("--method", default="full", help="full, head or replay")
    few.add_argument("--suite", nargs="+", default=["pick"], help="whose tasks are demonstrated")
    few.add_argument("--weights", type=Path, default=WEIGHTS, help="what to start from (default: mini-vla's own)")
    few.add_argument("--out", type=Path, required=True, help="ONNX file to write")
    few.add_argument("--seed", type=int, default=0, help="other seeds are other demonstrations")
    curve = commands.add_parser("curve", help="teach every checkpoint of a transfer study; started again, go on")
    curve.set_defaults(command=_curve)
    curve.add_argument("study", help="a study with few_shot, or the name of a bundled one: tabletop")
    curve.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="override one place of it")
    return whole


if __name__ == "__main__":
    sys.exit(main())
