"""Training a sentiment classifier on SST-2, for Table 3 of the paper."""

from attnflow.paper.sentiment._accuracy import sentiment_accuracy
from attnflow.paper.sentiment._recipe import SentimentRecipe
from attnflow.paper.sentiment._train import SentimentResult, train_sentiment

__all__ = ["SentimentRecipe", "SentimentResult", "sentiment_accuracy", "train_sentiment"]
