"""What a server answers everyone from: its models, and its catalogue and GPUs of its own where it shows them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from profet_core.answers.questions import Knowledge
from profet_core.artifacts.models import load_models
from profet_core.catalog import OWN_LEFT_OUT, load_gpus, load_served_catalog
from profet_core.catalog.own_gpus import read_own_gpus, served_own_gpus_path
from profet_core.errors import CatalogError, InputError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """What everyone is answered from.

    Attributes
    ----------
    own_left_out : the server's own list of instances or of GPUs can't be read and is left out; its log says so.
    """

    knowledge: Knowledge
    own_left_out: bool


def load_served() -> Served:
    """Models, checked file by file, with the catalogue and the GPUs that `$PROFET_HOME` or `$PROFET_APP_INSTANCES` add.

    Raises
    ------
    ArtifactError : a model is missing, damaged or changed.
    """
    models = load_models()
    models.verify()
    catalog, problem = load_served_catalog()
    knowledge, left_out = Knowledge(models, catalog, load_gpus()), problem is not None
    try:
        knowledge = knowledge.with_own_gpus(read_own_gpus(served_own_gpus_path(), load_gpus()))
    except (CatalogError, InputError):
        left_out = True
    if left_out:
        _LOG.warning(OWN_LEFT_OUT)
    return Served(knowledge, left_out)
