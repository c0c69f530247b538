"""The steps that are only told or kept, as methods of the context: for the flows that still yield them."""

from __future__ import annotations

from typing import Any

from uploader.services.base import (
    Context,
    Digest,
    Discarded,
    ForgetUploads,
    Identified,
    Note,
    Publish,
    Recall,
    Remember,
    Reused,
    Show,
    Step,
    Time,
    Write,
)


def tell(step: Step, context: Context) -> Any:  # noqa: C901, PLR0911  # one case for each step
    """What the context has to say to a step that needs no network and no wait."""
    match step:
        case Note():
            return context.warning(step.text) if step.level == "warning" else context.info(step.text)
        case Show():
            return context.show(step.title, step.lines, step.sections)
        case Publish():
            return context.publish(step.outputs, step.ids)
        case Remember():
            return context.remember(step.name, step.value)
        case Recall():
            return context.recall(step.name)
        case ForgetUploads():
            return context.forget_uploads(step.upload_path)
        case Reused():
            return context.reused(step.result)
        case Identified():
            return context.identified(step.result)
        case Discarded():
            return context.discarded(step.why, step.files, step.outputs)
        case Time():
            return context.now()
        case Digest():
            return context.sha256(step.artifact)
        case Write():
            return context.write(step.destination, step.data)
    raise TypeError(type(step))
