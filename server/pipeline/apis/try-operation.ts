import type { SoldOperation } from '../../core/apis/api-routes'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer, readFigure } from '../../core/apis/prices/figure'
import { apiCharge, maximumOf } from '../../core/apis/prices/price'
import { wrongParameters } from '../../core/failure'
import type { Money } from '../../core/money'
import type { OutboundAnswer } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { ApiInputs } from './api-input'
import { ApiStreamMeter, streamUnits } from './api-stream'
import type { ApiDeps } from './api-work'
import { type ApiAnswer, type AskProblem, askApi, openApi } from './ask-api'
import { SecretGuard } from './secret-guard'
import { type UpstreamRequest, upstreamRequest, writtenBody } from './upstream-request'
import { withCredentials } from './with-credentials'

/** The most characters of an answer that a trial shows. */
const MAX_PREVIEW = 20_000

/** The outcome of a trial. `problem` says in words why a call like this would not be charged. */
export interface Trial {
  /** The upstream's status; null if it was not asked or did not answer. */
  readonly status: number | null
  readonly contentType: string | null
  readonly bytes: number
  /** The beginning of the answer, if it is text. */
  readonly preview: string | null
  /** The arithmetic of the price, such as `37 units, in blocks of 10`. */
  readonly units: string | null
  /** The maximum that is held for such a call. */
  readonly held: Money | null
  /** The price that it would have had. */
  readonly cost: Money | null
  readonly problem: string | null
}

const NOTHING: Trial = {
  status: null,
  contentType: null,
  bytes: 0,
  preview: null,
  units: null,
  held: null,
  cost: null,
  problem: null,
}

type TrialDeps = Pick<ApiDeps, 'fetch' | 'fetchStream' | 'secretsOf' | 'tokens'>

/**
 * Asks the upstream of an operation as a call would, for its operator, before it goes live: the real answer, the counted units and the price
 * it would have cost. Nothing is charged or kept. `values`: parameters by name, a body under `body`.
 */
export async function tryOperation(
  deps: TrialDeps,
  inputs: ApiInputs,
  sold: SoldOperation,
  values: Readonly<Record<string, unknown>>,
  requestId: string,
): Promise<Trial> {
  const { api, operation } = sold
  const input = inputs.readJson({ ...sold, values: {} }, values)
  if (!input.ok) return { ...NOTHING, problem: wrongParameters(input.error).message }
  const { numberOf, body } = input.value
  const held = maximumOf(operation.price, numberOf)
  const written = body && (await writtenBody(body))
  const result = await withCredentials(deps, sold, api.timeoutMs, async (credentials, timeoutMs) => {
    const request = upstreamRequest(sold, input.value, written, credentials, { requestId, hops: 0 })
    if (!request.ok) return err({ kind: 'error', reason: request.error, didNothing: true })
    return ask(deps, sold, request.value, timeoutMs)
  })
  if (!result.ok) {
    const { reason, passThrough, status = passThrough?.status ?? null } = result.error
    const preview = passThrough?.body.slice(0, MAX_PREVIEW) ?? null
    const hint = status === 401 || status === 403 ? ' Check how the API authenticates to its upstream.' : ''
    return { ...NOTHING, held, status, preview, problem: `The call failed: ${reason}.${hint}` }
  }
  const { answer } = result.value
  const read = new ReadAnswer(answer)
  const isText = /json|text|xml|csv|yaml/.test(answer.contentType)
  const shown = {
    status: answer.status,
    contentType: answer.contentType,
    bytes: answer.body.byteLength,
    held,
    preview: isText ? read.text.slice(0, MAX_PREVIEW) : null,
  }
  if (!isSuccess(operation.success, read))
    return { ...NOTHING, ...shown, problem: 'The answer does not meet the success rule.' }
  const figure = figureOf(sold, answer, read, numberOf)
  const charge = apiCharge({ price: operation.price, version: operation.priceVersion }, figure, numberOf)
  if (!charge.ok) return { ...NOTHING, ...shown, problem: 'The answer has no figure to charge by.' }
  const { charged, overrun } = charge.value
  return {
    ...NOTHING,
    ...shown,
    cost: charged.cost,
    units: charged.lines?.[0]?.item ?? '1 request',
    problem: overrun > 0 ? 'The upstream reported more than the maximum price.' : null,
  }
}

function figureOf(
  { operation: { price, answer: kind } }: SoldOperation,
  answer: OutboundAnswer,
  read: ReadAnswer,
  numberOf: (parameter: string) => number,
) {
  if (price.mode === 'fixed') return null
  if (kind === 'whole') return readFigure(price.figure, read)
  const units = streamUnits(price, answer.contentType)
  if (units === null) return null
  const meter = new ApiStreamMeter(units, price, numberOf)
  meter.push(answer.body)
  return decimalOf(meter.count)
}

/** The answer; of a stream, its beginning. */
async function ask(
  deps: TrialDeps,
  sold: SoldOperation,
  request: UpstreamRequest,
  timeoutMs: number,
): Promise<Result<ApiAnswer, AskProblem>> {
  const limits = { timeoutMs, signal: AbortSignal.timeout(timeoutMs) }
  if (sold.operation.answer === 'whole') return askApi(deps.fetch, sold, request, limits)
  const opened = await openApi(deps.fetchStream, sold, request, limits)
  if (!opened.ok) return opened
  const { status, contentType, headers, body, cancel } = opened.value
  const beginning = await beginningOf(body, new SecretGuard(request.secrets))
  cancel()
  return ok({ answer: { url: request.url, status, contentType, headers: new Headers(), body: beginning }, headers })
}

/** The beginning of a stream until there is enough to show, or its time is over. */
async function beginningOf(body: ReadableStream<Uint8Array>, guard: SecretGuard): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      const passes = guard.pass(chunk)
      chunks.push(passes)
      length += passes.length
      if (length >= MAX_PREVIEW || guard.isOver) return Buffer.concat(chunks)
    }
    chunks.push(guard.end())
  } catch {
    // It was cut: the trial shows what came.
  }
  return Buffer.concat(chunks)
}
