// The Vercel AI SDK over an OpenAI-compatible provider, with its telemetry on; the session is metadata of ours.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as ai from "ai";
import { now, plan, run } from "./client.mjs";

if (ai.registerTelemetry) {
  const { OpenTelemetry } = await import("@ai-sdk/otel");
  ai.registerTelemetry(new OpenTelemetry());
}
const model = createOpenAICompatible({ name: "mock", baseURL: plan.model_url, apiKey: "key", includeUsage: true })(plan.model);

await run(async (call, seen) => {
  const metadata = call.session ? { sessionId: call.session } : {};
  const leaving = new AbortController();
  const asked = {
    model,
    prompt: call.prompt,
    maxRetries: plan.retries,
    abortSignal: AbortSignal.any([AbortSignal.timeout(plan.timeout_ms * 1.5), leaving.signal]),
    experimental_telemetry: { isEnabled: true, functionId: "chat", metadata },
  };
  if (!call.stream) {
    await ai.generateText(asked);
    return;
  }
  let failure = null;
  let chunks = 0;
  for await (const part of ai.streamText({ ...asked, onError: () => {} }).fullStream) {
    if (part.type === "error") failure = part.error;
    if (part.type === "abort" && !seen.left) failure = new DOMException("", "TimeoutError");
    if (part.type !== "text-delta") continue;
    seen.first ??= now();
    chunks += 1;
    if (call.kind === "leave" && chunks === 3) {
      seen.left = true;
      leaving.abort();
    }
  }
  if (failure) throw failure;
});
