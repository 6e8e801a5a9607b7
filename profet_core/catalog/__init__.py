"""GPUs, their hosts, instances and dated prices."""

from profet_core.catalog.collection import HOME_REGION, Catalog
from profet_core.catalog.custom_instances import (
    CUSTOM_SKIPPED,
    custom_path,
    load_catalog,
    load_catalog_with_custom,
    load_served_catalog,
    load_shipped,
)
from profet_core.catalog.gpus import Gpu, Gpus, gpu_model, load_gpus
from profet_core.catalog.instance import MARKETS, STATUSES, Instance

__all__ = [
    "CUSTOM_SKIPPED",
    "HOME_REGION",
    "MARKETS",
    "STATUSES",
    "Catalog",
    "Gpu",
    "Gpus",
    "Instance",
    "custom_path",
    "gpu_model",
    "load_catalog",
    "load_catalog_with_custom",
    "load_gpus",
    "load_served_catalog",
    "load_shipped",
]
