"""How busy the GPUs of a replica are, as NVIDIA's DCGM exporter reports it, in percent.

The exporter's own pod is in the label `pod`; where Prometheus scraped it, the pod at work is in `exported_pod`.
"""

from goodput.collect.metric import Metric, MetricDialect

GPU_METRICS = MetricDialect(
    "dcgm",
    (
        Metric(
            "DCGM_FI_DEV_GPU_UTIL",
            "gpu_utilisation_ratio",
            "gauge",
            scale=0.01,
            replica_labels=("exported_pod", "pod"),
        ),
    ),
)
