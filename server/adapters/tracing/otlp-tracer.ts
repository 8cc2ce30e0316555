import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { EndedCall } from '../../core/telemetry/ended-call'
import type { CallTrace, Tracer as CallTracer, TraceStep } from '../../core/telemetry/trace'

export interface TracerOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: string
  readonly ratio: number
  readonly maxQueue: number
  readonly maxBatch: number
  readonly delayMs: number
  readonly toUpstreams: boolean
  readonly onTrouble: (reason: string) => void
}

/** Exports at once. Together with the queue it bounds the memory that a collector takes that does not answer. */
const MAX_EXPORTS = 4
/** How long a stop waits for the last spans. */
const CLOSE_MS = 2_000
/** Traces per second that callers may have sampled by their own `traceparent`. Above it, a call is sampled like one without. */
const MAX_SAMPLED_BY_CALLERS = 20
const MAX_REASON = 200

/**
 * Traces calls with OpenTelemetry, to a collector by OTLP over HTTP. Spans have the names of steps and operations, codes and the request id:
 * no header, URL, address, account, input or answer.
 */
export class OtlpTracer implements CallTracer {
  private readonly provider: TracerProvider
  private readonly tracer: Tracer
  private readonly toUpstreams: boolean
  private readonly isParentBased: boolean
  private readonly rule: string
  private readonly ratio: number
  private readonly byTraceId: TraceIdRatioBasedSampler
  private budget = { second: 0, left: 0 }

  constructor(options: TracerOptions) {
    const { url, headers, timeoutMs, resource, maxQueue, maxBatch, delayMs } = options
    const otlp = new OTLPTraceExporter({
      url,
      headers: { ...headers },
      timeoutMillis: timeoutMs,
      concurrencyLimit: MAX_EXPORTS,
    })
    const batches = new BatchSpanProcessor({
      exporter: reporting(otlp, options.onTrouble),
      maxQueueSize: maxQueue,
      maxExportBatchSize: maxBatch,
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: timeoutMs * 2,
    })
    this.provider = new TracerProvider({
      // `begin` has decided for the whole call.
      sampler: new AlwaysOnSampler(),
      resource: resourceFromAttributes({ ...resource }),
      spanProcessors: [batches],
    })
    this.tracer = this.provider.getTracer('gateway')
    this.toUpstreams = options.toUpstreams
    this.isParentBased = options.sampler.startsWith('parentbased_')
    this.rule = options.sampler.replace('parentbased_', '')
    this.ratio = options.ratio
    this.byTraceId = new TraceIdRatioBasedSampler(options.ratio)
  }

  begin(parent: string | null): CallTrace | null {
    const sent = parent === null ? null : parseTraceparent(parent)
    // Traces that a caller asked for beyond its budget are sampled like calls without one.
    const isSampled = sent !== null && this.samplesWithin(sent)
    const remote = isSampled && this.rule !== 'always_on' && !this.mayCallerSample() ? null : sent
    if (!(remote ? isSampled : this.samples())) return null
    return begun(this.tracer, remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT, this.toUpstreams)
  }

  /** Sends what is left, for a moment. */
  async close(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, CLOSE_MS)
    await Promise.race([this.provider.shutdown().catch(() => undefined), late.promise])
    clearTimeout(timer)
  }

  /** Decides before anything is allocated, since few calls are sampled. */
  private samples(): boolean {
    return this.rule === 'traceidratio' ? Math.random() < this.ratio : this.rule === 'always_on'
  }

  private samplesWithin({ traceId, traceFlags }: SpanContext): boolean {
    if (this.isParentBased) return traceFlags === 1
    if (this.rule !== 'traceidratio') return this.samples()
    return this.byTraceId.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
  }

  private mayCallerSample(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (this.budget.second !== second) this.budget = { second, left: MAX_SAMPLED_BY_CALLERS }
    return this.budget.left-- > 0
  }
}

/** The trace of a sampled call at its first step. */
function begun(tracer: Tracer, parent: Context, toUpstreams: boolean): CallTrace {
  const root = tracer.startSpan('call', { kind: SpanKind.SERVER }, parent)
  return new OtlpTrace(tracer, root, toUpstreams)
}

class OtlpTrace implements CallTrace {
  private readonly tracer: Tracer
  private readonly root: Span
  private readonly context: Context
  private readonly toUpstreams: boolean
  private current: Span | null = null
  private name: TraceStep | null = null
  private isEnded = false

  constructor(tracer: Tracer, root: Span, toUpstreams: boolean) {
    this.tracer = tracer
    this.root = root
    this.context = trace.setSpan(ROOT_CONTEXT, root)
    this.toUpstreams = toUpstreams
    this.step('authenticate')
  }

  step(name: TraceStep): void {
    if (this.isEnded || this.name === name) return
    this.current?.end()
    this.name = name
    const kind = name === 'upstream' ? SpanKind.CLIENT : SpanKind.INTERNAL
    this.current = this.tracer.startSpan(name, { kind }, this.context)
  }

  get handedOn(): string | null {
    return this.toUpstreams && this.current ? traceparentOf(this.current.spanContext()) : null
  }

  within(): CallTrace {
    return begun(this.tracer, this.context, this.toUpstreams)
  }

  end({ id, operation, status, code, upstream }: EndedCall): void {
    if (this.isEnded) return
    this.isEnded = true
    this.current?.end()
    this.root.updateName(operation)
    // A worker learns it from its primary.
    this.root.setAttribute('gateway.request_id', id)
    this.root.setAttribute('gateway.operation', operation)
    this.root.setAttribute('http.response.status_code', status)
    if (upstream !== null) this.root.setAttribute('gateway.upstream', upstream)
    if (code !== null) this.root.setAttribute('error.type', code)
    if (status >= 500) this.root.setStatus({ code: SpanStatusCode.ERROR })
    this.root.end()
  }
}

/** The exporter, with its failures in the log. Its own log is off, since it could contain headers. */
function reporting(exporter: SpanExporter, onTrouble: (reason: string) => void): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error) onTrouble(reasonOf(result.error))
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

function reasonOf(error: Error): string {
  const code = 'code' in error ? ` ${String(error.code)}` : ''
  return `${error.name}${code}: ${error.message}`.slice(0, MAX_REASON)
}

/** The longest header that is read. Versions after 00 may append parts, which are ignored. */
const MAX_LENGTH = 256
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/

/** Reads a `traceparent` (W3C Trace Context). Null for one that is not valid. */
export function parseTraceparent(text: string | null): SpanContext | null {
  if (text === null || text.length > MAX_LENGTH) return null
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}
