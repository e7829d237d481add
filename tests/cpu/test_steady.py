"""Deterministic calls on this processor: a row has the same bits however many rows and products come with it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
from tests import marks
from tests.arrays import randoms
from tilewright.planning import dispatch, steady
from tilewright.targets.cuda.capability import named

pytestmark = marks.CPU
