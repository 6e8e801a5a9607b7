"""GPUs, instances and dated prices."""

from profet_core.catalog.collection import HOME_REGION, Catalog
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model, load_gpus
from profet_core.catalog.instance import MARKETS, STATUSES, Instance
from profet_core.catalog.own import (
    OWN_LEFT_OUT,
    load_catalog,
    load_catalog_with_own,
    load_served_catalog,
    load_shipped,
    own_path,
)

__all__ = [
    "HOME_REGION",
    "MARKETS",
    "OWN_LEFT_OUT",
    "STATUSES",
    "Catalog",
    "Gpu",
    "Gpus",
    "Instance",
    "gpu_model",
    "load_catalog",
    "load_catalog_with_own",
    "load_gpus",
    "load_served_catalog",
    "load_shipped",
    "own_path",
]
