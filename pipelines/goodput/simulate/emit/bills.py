"""The cloud's bill for the GPU nodes, as a FOCUS 1.2 cost and usage export: a row per node and hour."""

import csv
import io
import json
from typing import Final

from goodput.simulate.emit.clock import Clock
from goodput.simulate.fleet.fleet import Served
from goodput.simulate.story import NODE_DISCOUNT_RATIO, NODE_GPUS, NODE_USD_PER_H

_HOUR_S: Final = 3600.0
_ACCOUNT: Final = {
    "BillingAccountId": "4471-8820",
    "BillingAccountName": "serving",
    "BillingCurrency": "USD",
    "ChargeCategory": "Usage",
    "ChargeClass": "",
    "InvoiceIssuerName": "Example Cloud",
    "ProviderName": "Example Cloud",
    "PublisherName": "Example Cloud",
    "ServiceCategory": "Compute",
    "ServiceName": "GPU Instances",
    "PricingUnit": "Hours",
    "ConsumedUnit": "Hours",
    "ResourceType": "Virtual Machine",
    "RegionId": "eu-1",
}
_COLUMNS: Final = (
    *_ACCOUNT,
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ChargeDescription",
    "BilledCost",
    "ContractedCost",
    "EffectiveCost",
    "ListCost",
    "PricingQuantity",
    "ConsumedQuantity",
    "ResourceId",
    "ResourceName",
    "SkuPriceDetails",
    "Tags",
)


def focus_csv(clock: Clock, served: Served, span_s: float) -> bytes:
    """Return the bill of the span: a node costs from its replica's first start on, whether it serves or restarts."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for replica, pool, since_s in nodes(served):
        begin_s = since_s
        while begin_s < span_s:
            end_s = min(span_s, (begin_s // _HOUR_S + 1) * _HOUR_S)
            writer.writerow(_row(clock, replica, pool, begin_s, end_s))
            begin_s = end_s
    return out.getvalue().encode()


def nodes(served: Served) -> list[tuple[str, str, float]]:
    """Return every node by its replica's name, its pool, and since when it is paid for."""
    return [(one.replica, one.pool, one.started_s) for one in served.incarnations if one.number == 0]


def _row(clock: Clock, replica: str, pool: str, begin_s: float, end_s: float) -> dict[str, object]:
    hours, month = (end_s - begin_s) / _HOUR_S, clock.at(begin_s).replace(day=1)
    cost_usd = hours * NODE_USD_PER_H[pool]
    return _ACCOUNT | {
        "BillingPeriodStart": month.strftime("%Y-%m-01T00:00:00Z"),
        "BillingPeriodEnd": f"{month.year + month.month // 12}-{month.month % 12 + 1:02d}-01T00:00:00Z",
        "ChargePeriodStart": clock.iso(begin_s),
        "ChargePeriodEnd": clock.iso(end_s),
        "ChargeDescription": f"GPU node of pool {pool}",
        "BilledCost": round(cost_usd, 10),
        "ContractedCost": round(cost_usd, 10),
        "EffectiveCost": round(cost_usd, 10),
        "ListCost": round(cost_usd / (1.0 - NODE_DISCOUNT_RATIO), 10),
        "PricingQuantity": round(hours, 10),
        "ConsumedQuantity": round(hours, 10),
        "ResourceId": f"gpu-node-{replica}",
        "ResourceName": replica,
        "SkuPriceDetails": json.dumps({"GpuCount": NODE_GPUS[pool]}),
        "Tags": json.dumps({"pool": pool, "k8s.pod.name": replica}),
    }
