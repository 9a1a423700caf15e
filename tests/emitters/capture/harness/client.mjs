// What every capture of a Node emitter does: OpenTelemetry to the receiver, and each planned call one after another.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

export const plan = JSON.parse(readFileSync("plan.json", "utf8"));

const exporter = new OTLPTraceExporter({ url: `${plan.otlp_url}/v1/traces` });
export const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "chat-app" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
provider.register();

const MICROSECONDS = 1000;
// Kept as text: a number of nanoseconds since 1970 does not fit into a double.
export const now = () => `${Math.round((performance.timeOrigin + performance.now()) * MICROSECONDS)}000`;

// `emit(call, seen)` makes one call and sets `seen.first` at the first content of a stream, `seen.left` where it leaves.
export async function run(emit) {
  for (const call of plan.calls) {
    await sleep(200);
    const seen = { first: null, left: false };
    const start = now();
    let error = null;
    try {
      await emit(call, seen);
    } catch (caught) {
      error = caught;
    }
    const names = chain(error).map((found) => found.name);
    const outcome = seen.left ? "cancelled" : !error ? "ok" : names.some((n) => /timeout|abort/i.test(n)) ? "timeout" : "error";
    const name = error && !seen.left ? JSON.stringify(names[0]) : "null";
    console.log(
      `{"rid":"${call.rid}","start_ns":${start},"first_ns":${seen.first},"end_ns":${now()},` +
        `"outcome":"${outcome}","error":${name}}`,
    );
  }
  await provider.forceFlush();
  process.exit(0);
}

function chain(error) {
  const found = [];
  for (let next = error; next && !found.includes(next); next = next.cause ?? next.lastError) found.push(next);
  return found;
}
