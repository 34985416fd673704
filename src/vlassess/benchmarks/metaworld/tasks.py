"""The fifty tasks: what each asks for in words, and how long its expert takes."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """One task.

    Attributes:
        name: As upstream has it, without its version.
        instruction: What the robot is told to do. Upstream has no texts; these are vlassess's.
        expected_steps: Steps that the expert took in the median of five starts, for hand-out order.
    """

    name: str
    instruction: str
    expected_steps: int

    @property
    def environment(self) -> str:
        """Upstream's name."""
        return f"{self.name}-v3"


TASKS: tuple[Task, ...] = (
    Task("assembly", "pick up the wrench by its handle and put its ring onto the peg", 90),
    Task("basketball", "pick up the basketball and drop it into the hoop", 96),
    Task("bin-picking", "pick up the block from one bin and put it into the other bin", 132),
    Task("box-close", "pick up the lid and close the box with it", 109),
    Task("button-press-topdown", "press the button down from above", 60),
    Task("button-press-topdown-wall", "reach over the wall and press the button down from above", 53),
    Task("button-press", "press the button on the front of the box", 58),
    Task("button-press-wall", "reach around the wall and press the button on the front of the box", 65),
    Task("coffee-button", "press the button of the coffee machine", 32),
    Task("coffee-pull", "pull the mug away from the coffee machine to the goal", 73),
    Task("coffee-push", "push the mug under the coffee machine", 53),
    Task("dial-turn", "turn the dial by half a turn", 66),
    Task("disassemble", "take the wrench's ring off the peg", 120),
    Task("door-close", "close the door of the safe", 53),
    Task("door-lock", "lock the door by turning its lock down", 58),
    Task("door-open", "open the door of the safe by its handle", 84),
    Task("door-unlock", "unlock the door by turning its lock up", 48),
    Task("hand-insert", "put the gripper into the hole in the table", 64),
    Task("drawer-close", "push the drawer closed", 78),
    Task("drawer-open", "pull the drawer open by its handle", 89),
    Task("faucet-open", "turn the faucet's handle counter-clockwise", 63),
    Task("faucet-close", "turn the faucet's handle clockwise", 63),
    Task("hammer", "pick up the hammer and drive the nail into the box", 74),
    Task("handle-press-side", "press the handle down from the side", 41),
    Task("handle-press", "press the handle down", 41),
    Task("handle-pull-side", "pull the handle up from the side", 86),
    Task("handle-pull", "pull the handle up", 104),
    Task("lever-pull", "pull the lever up by a quarter turn", 66),
    Task("peg-insert-side", "pick up the peg and insert it into the hole in the side of the block", 86),
    Task("pick-place-wall", "pick up the puck, lift it over the wall and hold it at the goal", 92),
    Task("pick-out-of-hole", "pick the puck out of the hole and hold it at the goal", 112),
    Task("reach", "move the gripper to the goal", 41),
    Task("push-back", "push the puck back towards the robot to the goal", 74),
    Task("push", "push the puck to the goal", 65),
    Task("pick-place", "pick up the puck and hold it at the goal", 54),
    Task("plate-slide", "slide the plate into the cabinet", 51),
    Task("plate-slide-side", "slide the plate sideways into the cabinet", 45),
    Task("plate-slide-back", "slide the plate out of the cabinet", 43),
    Task("plate-slide-back-side", "slide the plate sideways out of the cabinet", 54),
    Task("peg-unplug-side", "pull the peg out of the hole to the side", 121),
    Task("soccer", "kick the ball into the goal", 45),
    Task("stick-push", "pick up the stick and push the thermos to the goal with it", 68),
    Task("stick-pull", "pick up the stick and pull the thermos to the goal by its handle", 101),
    Task("push-wall", "push the puck around the wall to the goal", 86),
    Task("reach-wall", "reach around the wall and move the gripper to the goal", 47),
    Task("shelf-place", "pick up the puck and put it onto the shelf", 110),
    Task("sweep-into", "sweep the puck into the hole", 59),
    Task("sweep", "sweep the puck off the table", 91),
    Task("window-open", "slide the window open", 82),
    Task("window-close", "slide the window closed", 77),
)
