import { type Failure, type FailureCode, failure, type PaymentOffers } from '../../core/failure'
import { type Money, ZERO } from '../../core/money'
import { FAILURES, failureBody, problemBody, SESSION_FAILURES, WAIT } from '../middleware/response/failures'
import { ERROR_FORMATS, type ErrorFormat } from './error-format'
import { FAILURE_MEANINGS } from './failure-meanings'
import { ref } from './json-schema'
import type { OpenApiDocument, OpenApiExample, OpenApiReference, OpenApiResponse } from './open-api'
import { headerRefs, type ResponseHeader } from './response-headers'

const REASONS: Readonly<Record<number, string>> = {
  400: 'Invalid input',
  401: 'The credential is missing or invalid',
  402: 'Payment required',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  409: 'Conflict with the current state',
  412: 'Above the maximum price',
  413: 'Body too large',
  415: 'Not JSON',
  422: 'Cannot be processed',
  429: 'Too many requests',
  500: 'Gateway error',
  502: 'The upstream provider failed',
  503: 'Temporarily unavailable',
  504: 'The upstream provider was too slow',
}

export interface FailureContext {
  /** Sent with every response of the route. */
  readonly headers: readonly ResponseHeader[]
  /** For a priced route: the price that a 402 names. */
  readonly price?: Money
  /** `gateway` if absent. */
  readonly format?: ErrorFormat
  /** By status, where it is not `format`. */
  readonly formats?: Readonly<Record<number, ErrorFormat>>
  /** Codes of the sign-in library by status; they are not in the table of failures. */
  readonly libraryCodes?: Readonly<Record<number, readonly string[]>>
}

/** One response per status of these codes, from the same table that produces the real ones. */
export function failureResponses(
  codes: readonly FailureCode[],
  context: FailureContext,
): Readonly<Record<string, OpenApiResponse | OpenApiReference>> {
  const library = context.libraryCodes ?? {}
  const statuses = new Set([...codes.map((code) => FAILURES[code].status), ...Object.keys(library).map(Number)])
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => {
        const own = codes.filter((code) => FAILURES[code].status === status)
        const format = context.formats?.[status] ?? context.format ?? 'gateway'
        return [String(status), sharedResponse(status, own, library[status] ?? [], { ...context, format })]
      }),
  )
}

/** Each way to fail that a document has referred to, by name: most routes fail in the same few ways. */
const shared = new Map<string, OpenApiResponse>()

/** The responses of these paths, for `components.responses`. */
export function failureComponents(paths: OpenApiDocument['paths']): Readonly<Record<string, OpenApiResponse>> {
  const responses = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap((operation) => Object.values(operation.responses)),
  )
  const names = new Set(
    responses.flatMap((response) => ('$ref' in response ? [response.$ref.slice(COMPONENTS.length)] : [])),
  )
  return Object.fromEntries([...shared].filter(([name]) => names.has(name)))
}

const COMPONENTS = '#/components/responses/'

function sharedResponse(...parts: Parameters<typeof failureResponse>): OpenApiResponse | OpenApiReference {
  const [status, codes, libraryCodes, { headers, format }] = parts
  // A 402 names the price, and prices change.
  if (status === 402) return failureResponse(...parts)
  // By its content, so that it is the same in every release and on every node.
  const content = JSON.stringify([codes, libraryCodes, headers, format])
  const name = `Error${status}_${new Bun.CryptoHasher('sha256').update(content).digest('hex').slice(0, 12)}`
  shared.set(name, shared.get(name) ?? failureResponse(...parts))
  return { $ref: COMPONENTS + name }
}

function failureResponse(
  status: number,
  codes: readonly FailureCode[],
  libraryCodes: readonly string[],
  { headers, price, format = 'gateway' }: FailureContext,
): OpenApiResponse {
  const all = [...codes, ...libraryCodes]
  const waits = status === 429 || codes.some((code) => WAIT.has(code))
  const challenges = status === 402 || (status === 401 && codes.some((code) => !SESSION_FAILURES.has(code)))
  const more: ResponseHeader[] = [
    ...(waits ? ['Retry-After' as const] : []),
    ...(challenges ? ['WWW-Authenticate' as const] : []),
  ]
  return {
    description: `${REASONS[status] ?? `Status ${status}`}: ${all.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headerRefs([...headers, ...more]),
    'x-error-codes': all,
    content: {
      'application/json': {
        // One schema for all: generated clients make a type of each.
        schema: ref(ERROR_FORMATS[format].schema),
        examples: Object.fromEntries(
          codes.map((code) => [code, failureExample(code, price, ERROR_FORMATS[format].path)]),
        ),
      },
      // With payment challenges, the response is a problem document (RFC 9457) as well.
      ...(status === 402 &&
        (price !== undefined || codes.includes('payment_required')) && {
          'application/problem+json': {
            schema: ref('PaymentProblem'),
            // One is enough: the others differ in their `error`, as the examples above do.
            examples: Object.fromEntries(codes.slice(0, 1).map((code) => [code, problemExample(code, price)])),
          },
        }),
    },
  }
}

/** An example body, built by the code that builds the real ones. */
function failureExample(code: FailureCode, price: Money | undefined, path: string): OpenApiExample {
  // No summary: it would repeat the message, and with it the document is a seventh larger on the wire.
  return { value: failureBody(exampleOf(code, price), REQUEST_ID, path) }
}

/** The same for a 402 that carries payment challenges. */
function problemExample(code: FailureCode, price: Money | undefined): OpenApiExample {
  const problem = exampleOf(code, price)
  const { path } = ERROR_FORMATS.gateway
  return { value: problemBody(problem, OFFERS, failureBody(problem, REQUEST_ID, path)) }
}

const REQUEST_ID = 'req_01a1fdfa942070008c603d2632ddc21a'
const OFFERS: PaymentOffers = {
  challengeId: 'aZf3TS-DK2QlgppHctscj-NGsbKVisoxNOQUtEzfxjY',
  challenges: [],
  headers: {},
  body: {},
}

function exampleOf(code: FailureCode, price: Money | undefined): Failure {
  const { status } = FAILURES[code]
  const wrong = { param: 'count', in: 'query', rule: 'must be an integer from 1 to 200', received: '0' } as const
  const missing = { param: 'q', in: 'query', rule: 'is required', received: null } as const
  return failure(code, FAILURE_MEANINGS[code], {
    ...(code === 'invalid_parameter' && { param: wrong.param, details: [{ ...wrong, code }] }),
    ...(code === 'missing_parameter' && { param: missing.param, details: [{ ...missing, code }] }),
    ...(code === 'estimated_price_exceeds_max_price' && { param: 'x-max-price-usd' }),
    ...(status === 429 && { retryAfterSeconds: 12, limitSource: code === 'upstream_rate_limit' ? 'upstream' : 'key' }),
    ...(status === 402 && { price: price ?? ZERO }),
  })
}
