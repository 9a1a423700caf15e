"""Who sends telemetry, as the resource of all that is sent says it. What is sent is for others to say."""

from collections.abc import Mapping

from opentelemetry.sdk.resources import OTELResourceDetector, Resource


def own_resource(identity: Mapping[str, str]) -> Resource:
    """Who sends: what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, and of the rest our own."""
    given = OTELResourceDetector().detect().attributes
    return Resource.create({name: value for name, value in identity.items() if name not in given})
