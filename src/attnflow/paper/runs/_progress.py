"""The records of a run's progress."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepLog:
    """The progress after an optimizer step.

    Loss and accuracy are means over the epoch so far, on sentences as they are trained on: with
    dropout, and for the verb-number model augmented and masked. The accuracy is therefore below
    that on the sentences themselves. `teacher` says whether it is the teacher that is trained.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    accuracy: float
    teacher: bool = False


@dataclass(frozen=True, slots=True)
class EpochLog:
    """The training loss of an epoch, and the accuracy and loss on the validation split after it.

    `attractor_accuracy` is that on sentences with attractors, of the verb-number model.
    """

    epoch: int
    loss: float
    validation_accuracy: float
    validation_loss: float
    attractor_accuracy: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """The steps done in the current epoch, and sums over their sentences."""

    steps: int = 0
    loss_sum: float = 0.0
    correct: int = 0
    sentences: int = 0
    seconds: float = 0.0

    def after(self, loss: float, correct: int, sentences: int) -> "EpochProgress":
        """Return the progress after one more step, with the mean loss of its sentences."""
        return EpochProgress(
            self.steps + 1,
            self.loss_sum + loss * sentences,
            self.correct + correct,
            self.sentences + sentences,
            self.seconds,
        )

    def log(self, epoch: int, epochs: int, steps: int) -> StepLog:
        """Return the record of the last step."""
        mean_loss, accuracy = self.loss_sum / self.sentences, self.correct / self.sentences
        return StepLog(epoch, epochs, self.steps, steps, mean_loss, accuracy)
