import { SIGNUP_CREDIT } from '../../core/accounts/signup-credit'
import { DEFAULT_BRAND } from '../../core/brand'
import { CATALOG_VERSION } from '../../core/catalog/operation'
import { OPERATIONS } from '../../core/catalog/operations'
import { isJson } from '../../core/json'
import { TIER_LIMITS } from '../../core/limits/tier'
import { formatUsd } from '../../core/money'
import { TAGS } from './documented'
import { ERROR_SCHEMAS } from './error-schemas'
import { extractNamed } from './named-schemas'
import type { CodeSample, OpenApiDocument, OpenApiOperation } from './open-api'
import { RESPONSE_HEADERS } from './response-headers'

const DEFAULT_TITLE = 'Paid data API gateway'
const SUMMARY = 'Data APIs, paid per successful request, with enforced spending limits.'

/** The `info` for @elysiajs/swagger, which inserts it into the page unescaped, so it must be short and plain. */
export const GENERATOR_INFO = { title: DEFAULT_TITLE, version: CATALOG_VERSION, description: SUMMARY }

/** Schemas, headers and security schemes that operations refer to. */
const COMPONENTS = {
  schemas: ERROR_SCHEMAS,
  headers: RESPONSE_HEADERS,
  securitySchemes: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description:
        'An API key: `Authorization: Bearer gwk_...`, or the key alone in `x-api-key`, `x-goog-api-key` or `api-key`; below `/v1beta` also `?key=`. Keep it on servers, never in client code or repositories.',
    },
    oauth: {
      type: 'http',
      scheme: 'bearer',
      description:
        "An app's access token: `Authorization: Bearer gwat_...`, granted by an owner with OAuth 2.1 (see Apps). Works wherever a key works, on the resource it was issued for.",
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'better-auth.session_token',
      description: 'The cookie set by sign-up and sign-in. Over https its name starts with `__Secure-`.',
    },
  },
}

/** The document of these operations, with samples for the gateway at `origin`. */
export function openApiDocument(
  collected: OpenApiDocument['paths'],
  origin: string,
  { name, sentence } = DEFAULT_BRAND,
): OpenApiDocument {
  const isBranded = name !== DEFAULT_BRAND.name
  const { node, schemas } = extractNamed({ paths: collected, components: COMPONENTS })
  return {
    openapi: '3.1.0',
    info: {
      title: isBranded ? name : DEFAULT_TITLE,
      version: CATALOG_VERSION,
      summary: isBranded ? sentence : SUMMARY,
      description: introduction(origin),
    },
    servers: [{ url: origin, description: 'This gateway.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      Object.entries(node.paths)
        .sort(([, a], [, b]) => tagOrder(a) - tagOrder(b))
        .map(([path, item]) => [path, withSamples(path, item, origin)]),
    ),
    components: { ...node.components, schemas: { ...node.components.schemas, ...schemas } },
  }
}

type PathItem = OpenApiDocument['paths'][string]

function withSamples(path: string, item: PathItem, origin: string): PathItem {
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => [
      method,
      { ...operation, 'x-codeSamples': curlSamples(origin, method, path, operation) },
    ]),
  )
}

/** Orders paths by tag, and within a tag by mounting order. */
function tagOrder(item: PathItem): number {
  const [first] = Object.values(item)
  return Object.keys(TAGS).indexOf(first?.tags[0] ?? '')
}

function introduction(origin: string): string {
  const prices = Object.values(OPERATIONS).map(
    ({ title, price, unit }) =>
      `- ${title}: ${formatUsd(price)} USD per ${unit === 'request' ? 'successful request' : unit}`,
  )
  const tiers = Object.entries(TIER_LIMITS).map(
    ([name, { rpm, tpm, concurrency }]) => `| ${name} | ${rpm} | ${tpm} | ${concurrency} |`,
  )
  return [
    `${SUMMARY} Only successful requests are charged; every response states its cost in \`X-Cost-Micros-USD\`.`,
    '## Start',
    `1. [Sign up](#tag/sign-in) (${formatUsd(SIGNUP_CREDIT)} USD of credit, no card) or open the [dashboard](${origin}/).`,
    '2. [Create a key](#tag/keys), with a spending limit.',
    '3. Call with `Authorization: Bearer <API_KEY>`. Samples read the key from `$GATEWAY_API_KEY` and the session from `cookies.txt`.',
    '## Prices of the catalog',
    prices.join('\n'),
    'The operator may sell more: `GET /v1/catalog` has the prices of imported APIs, `GET /v1/models` those of models.',
    'Your account may have different prices, set by the operator. `X-Cost-Mode: quote` returns what a request would cost you, and `X-Max-Price-USD` refuses a request that would cost more than you allow.',
    '## Limits',
    'Per key and minute; every response under `/apis` and `/v1` carries the counters. After a 429, wait `Retry-After` seconds, then back off exponentially with jitter, at most 30 s.',
    ['| tier | requests | tokens | concurrent |', '|---|---|---|---|', ...tiers].join('\n'),
    '## Errors',
    'Every failure of the gateway has one shape: `{"error": {"type", "code", "message", "request_id", ...}}`. Programs should read `code`. An unknown path returns 404 `unknown_endpoint`, a wrong method 405 `method_not_allowed` with `Allow`. HEAD is answered where the GET is free.',
    'A request that is not valid HTTP never reaches the gateway: the server answers 400 or 505 without a body or headers of ours and closes the connection, and 431 to more than 16 KiB of request line and headers, or more than 200 headers.',
    `For agents: [llms.txt](${origin}/llms.txt).`,
  ].join('\n\n')
}

/** The shell variable to show for an id in samples, by the id's prefix. */
const ID_VARIABLES: Readonly<Record<string, string>> = {
  key: 'KEY_ID',
  req: 'REQUEST_ID',
  hook: 'WEBHOOK_ID',
  dlv: 'DELIVERY_ID',
}

/** Curl commands for an operation, with its required parameters and its first body example. */
function curlSamples(origin: string, method: string, path: string, operation: OpenApiOperation): CodeSample[] {
  const command = curl(origin, method, path, operation, [])
  const samples = [{ lang: 'Shell', label: 'curl', source: command }]
  if (operation['x-price'] === undefined) return samples
  const quote = curl(origin, method, path, operation, ["-H 'X-Cost-Mode: quote'"])
  return [...samples, { lang: 'Shell', label: 'curl, price quote only', source: quote }]
}

function curl(
  origin: string,
  method: string,
  path: string,
  { parameters = [], requestBody, security, responses }: OpenApiOperation,
  more: readonly string[],
): string {
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
  const ids = new Map(
    parameters.filter(({ in: location }) => location === 'path').map(({ name, example }) => [name, example]),
  )
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => sampleId(String(ids.get(name))))
  const content = requestBody?.content ?? {}
  const body = exampleOf(content['application/json'])
  const form = exampleOf(content['multipart/form-data'])
  const isPost = body !== undefined || form !== undefined
  const needs = (scheme: string) => security.some((way) => scheme in way)
  const success = responses['200']
  const givesCookie = success && 'headers' in success && success.headers?.['Set-Cookie'] !== undefined
  const lines = [
    `curl ${quoted(`${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`)}`,
    ...(method !== 'get' && !(method === 'post' && isPost) ? [`-X ${method.toUpperCase()}`] : []),
    ...(needs('apiKey') ? ['-H "Authorization: Bearer $GATEWAY_API_KEY"'] : []),
    ...(needs('oauth') ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...(needs('session') ? ['-b cookies.txt'] : []),
    ...(givesCookie ? ['-c cookies.txt'] : []),
    ...more,
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
    // A field that is a file has its name.
    ...Object.entries(Object(form)).map(
      ([name, value]) => `-F ${quoted(`${name}=${FILE_FIELDS.has(name) ? '@' : ''}${value}`)}`,
    ),
  ]
  return lines.join(' \\\n  ')
}

/** Fields of forms that are files. */
const FILE_FIELDS: ReadonlySet<string> = new Set(['file', 'image'])

function exampleOf(media: { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> } | undefined) {
  return Object.values(media?.examples ?? {})[0]?.value
}

/** Ids differ between installs, so samples show a variable in their place. Anything else is shown as is. */
function sampleId(id: string): string {
  const variable = ID_VARIABLES[id.split('_')[0] ?? '']
  return variable === undefined ? id : `$${variable}`
}

/** Quotes one word for a POSIX shell: in double quotes if it contains one of our variables, otherwise in single quotes. */
function quoted(word: string): string {
  if (/\$[A-Z_]+/.test(word)) return `"${word.replace(/["\\`]/g, '\\$&')}"`
  return `'${word.replaceAll("'", "'\\''")}'`
}

/**
 * A document whose texts are safe in comments: code generators put them there, and `*` followed by `/` ends a comment in Go, Java and
 * TypeScript. Imported operations bring texts of their own.
 */
export function withSafeTexts<T>(node: T): T {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (!isJson(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        typeof member === 'string' && COMMENTED.has(name) ? member.replaceAll('*/', '*\u200b/') : walk(member),
      ]),
    )
  }
  return walk(node) as T // only texts changed
}

const COMMENTED: ReadonlySet<string> = new Set(['description', 'summary', 'title'])
