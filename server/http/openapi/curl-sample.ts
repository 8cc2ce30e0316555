import type { CodeSample, OpenApiOperation } from './open-api'

/** The shell variable to show for an id in samples, by the id's prefix. */
const ID_VARIABLES: Readonly<Record<string, string>> = {
  key: 'KEY_ID',
  req: 'REQUEST_ID',
  hook: 'WEBHOOK_ID',
  dlv: 'DELIVERY_ID',
}

/** Curl commands for an operation, with its required parameters and its first body example. */
export function curlSamples(origin: string, method: string, path: string, operation: OpenApiOperation): CodeSample[] {
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
  const body = Object.values(requestBody?.content['application/json']?.examples ?? {})[0]?.value
  const needs = (scheme: string) => security.some((way) => scheme in way)
  const success = responses['200']
  const givesCookie = success && 'headers' in success && success.headers?.['Set-Cookie'] !== undefined
  const lines = [
    `curl ${quoted(`${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`)}`,
    ...(method !== 'get' && !(method === 'post' && body !== undefined) ? [`-X ${method.toUpperCase()}`] : []),
    ...(needs('apiKey') ? ['-H "Authorization: Bearer $GATEWAY_API_KEY"'] : []),
    ...(needs('oauth') ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
    ...(needs('session') ? ['-b cookies.txt'] : []),
    ...(givesCookie ? ['-c cookies.txt'] : []),
    ...more,
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ]
  return lines.join(' \\\n  ')
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
