import type { FailureCode } from '../../core/failure'
import { isJson } from '../../core/json'
import { FAILURES } from '../middleware/response/failures'
import { FAILURE_MEANINGS } from './failure-meanings'
import type { OpenApiDocument, OpenApiOperation } from './open-api'
import type { OpenApiParameter } from './parameter-documents'

/** `/llms.txt`: the OpenAPI document as compact text, for readers that pay per token. */
export function agentGuide(document: OpenApiDocument, origin: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const sections = document.tags.map(({ name, description }) => {
    // Imported operations may be thousands; they are searched instead.
    const own = operations.filter(({ operation }) => operation.tags?.[0] === name && name !== 'Catalog')
    const entries = own.map(({ method, path, operation }) => entry(method, path, operation, name === 'Data'))
    return [`## ${name}`, '', description, '', ...entries].join('\n')
  })
  return [
    `# ${document.info.title}`,
    '',
    `> ${document.info.summary}`,
    '',
    `Base URL: ${origin}. Version ${document.info.version}. JSON, snake_case, times in RFC 3339 unless noted.`,
    '',
    '## How to authenticate',
    '',
    '- `Authorization: Bearer <API_KEY>` on every request under /apis and /v1. Ask your user for a key; do not sign up without being asked.',
    '- Without a key, a data endpoint returns 402 with its price in `error.price` and runs nothing.',
    '- With a wallet you need no key: answer the `Payment` challenge of the 402 (`WWW-Authenticate`), then send the same request with `Authorization: Payment <CREDENTIAL>` and the same `X-Request-ID`. The response carries a `Payment-Receipt`. After 409 or 503, send the same credential again; never pay a second time.',
    '- If the 402 carries `PAYMENT-REQUIRED`, you can also pay with x402 (`exact`, or `upto` where the price follows from the answer): send the payment in `PAYMENT-SIGNATURE`; the response carries `PAYMENT-RESPONSE`. Clients of version 1 read the body and send `X-PAYMENT`.',
    `- Over MCP: ${origin}/mcp with a key or a browser sign-in; ${origin}/mcp/paid without an account, paying per call (send the credential in \`_meta["org.paymentauth/credential"]\`).`,
    '- Routes under /api are for the signed-in owner (session cookie) and never accept an API key.',
    '',
    document.info.description
      .replace(/^[\s\S]*?## Prices of the catalog/, '## Prices of the catalog')
      .replace(/For agents:.*$/, ''),
    ...sections,
    '## Codes',
    '',
    ...Object.keys(FAILURES).map(
      (code) => `- ${FAILURES[code as FailureCode].status} \`${code}\`: ${FAILURE_MEANINGS[code as FailureCode]}`,
    ),
    '',
    '## Links',
    '',
    `- [OpenAPI 3.1](${origin}/openapi.json): every route with its schemas, limits and errors`,
    `- [Human-readable docs](${origin}/docs)`,
    `- [Guide](${origin}/docs/guide): how to use and run this gateway, with a search`,
    '',
  ].join('\n')
}

function entry(method: string, path: string, operation: OpenApiOperation, inFull: boolean): string {
  const { summary, description, 'x-price': price, parameters = [], requestBody, responses } = operation
  const offers = (operation['x-payment-info']?.offers ?? []).map(
    (offer) => `${offer['method']} ${offer['amount']} of ${offer['currency']}`,
  )
  const cost = price ? `, ${[`${price.amount} ${price.currency}`, ...offers].join(' or ')} per success` : ''
  const head = `### ${method} ${path}: ${summary}${cost}`
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const body = media?.schema
  const members = isJson(body?.['properties']) ? Object.keys(body['properties']) : []
  const sample = operation['x-codeSamples']?.[0]?.source
  return [
    head,
    '',
    description.replaceAll('\n\n', ' '),
    '',
    ...parameters.map(parameterLine),
    ...(members.length > 0
      ? [
          `- body (${type === 'application/json' ? 'JSON' : 'form'}): ${members.map((name) => `\`${name}\``).join(', ')}`,
        ]
      : []),
    `- statuses: ${Object.keys(responses).join(', ')}`,
    ...(inFull && sample ? ['', '```sh', sample, '```'] : []),
    '',
  ].join('\n')
}

function parameterLine({ name, in: location, required, description, schema }: OpenApiParameter): string {
  const { type, minimum, maximum, minLength, maxLength, enum: values, default: fallback, maxItems } = schema
  const details = [
    location,
    String(type),
    ...(required ? ['required'] : []),
    ...(minimum === undefined ? [] : [`${minimum} to ${maximum}`]),
    ...(minLength === undefined ? [] : [`${minLength} to ${maxLength} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(Array.isArray(values) ? [`one of ${values.join(' ')}`] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ]
  return `- \`${name}\` (${details.join(', ')}): ${description}`
}
