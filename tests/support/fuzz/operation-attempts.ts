import { type Attempt, type RequestParts, single, type World } from './attempt'
import { hostileBody } from './bodies'
import type { Operation, Parameter } from './document'
import { HOSTILE_TEXT, inHeader, inQuery, percent, utf8 } from './hostile'
import type { Random } from './random'
import { badValue, goodObject, goodValue } from './values'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const HOSTS = ['', 'x', 'gw', 'a b', 'x:99999', 'evil.example', 'a@b', '[::', '%zz', '\xe9', 'h, i', '0x7f.1']
/** How often a request is as the document wants it, has one fault, or many. */
const FAULTS = { none: 0.4, one: 0.4 }

/** A request out of the document: its parameters good, at a bound, past it, of another type, repeated, empty, hostile. */
export function operationAttempt(random: Random, operation: Operation, world: World): Attempt {
  const roll = random.next()
  const share = roll < FAULTS.none ? 0 : roll < FAULTS.none + FAULTS.one ? 1 / (operation.parameters.length + 1) : 0.4
  const isBad = () => random.chance(share)
  const query: string[] = []
  const lines = credentialLines(random, operation, world)
  let path = operation.path
  for (const parameter of operation.parameters) {
    const values = sent(random, parameter, isBad)
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, () => pathValue(random, values[0], world))
    for (const value of parameter.in === 'path' ? [] : values)
      if (parameter.in === 'query') query.push(`${percent(parameter.name)}=${inQuery(random, textOf(value))}`)
      else lines.push(`${parameter.name}: ${inHeader(textOf(value)).slice(0, 3000)}`)
  }
  if (random.chance(0.05))
    query.push(random.pick(['=', '&&&', '__proto__=1', 'q[]=1', 'q%00=1', 'constructor[prototype]=1']))
  lines.push(...oddLines(random))
  const method = random.chance(0.06) ? random.pick(METHODS) : operation.method
  const target = oddTarget(random, `${path}${query.length > 0 ? `?${query.join('&')}` : ''}`)
  return single(`${operation.method} ${operation.path}`, {
    method,
    target,
    ...version(random),
    ...withBody(random, operation, lines, isBad),
  })
}

/** The input for a parameter: nothing, one value, or several. */
function sent(
  random: Random,
  { name, required, schema, example, in: place }: Parameter,
  isBad: () => boolean,
): unknown[] {
  if (isBad()) {
    if (random.chance(0.15) && place !== 'path') return []
    const bad = badValue(random, schema)
    return random.chance(0.15) ? [goodValue(random, schema, example), bad] : [bad]
  }
  if (!required && place !== 'path' && !random.chance(0.25)) return []
  // Quotes run nothing; most good requests are to be charged.
  if (name === 'x-cost-mode' && random.chance(0.7)) return []
  const value = goodValue(random, schema, example)
  return Array.isArray(value) ? value : [value]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function pathValue(random: Random, value: unknown, { keyIds }: World): string {
  if (random.chance(0.5)) return random.pick(keyIds)
  return inQuery(random, textOf(value).slice(0, 1000)).replaceAll('/', '%2f').replaceAll('?', '%3f')
}

export function credentialLines(
  random: Random,
  { takes, path }: Pick<Operation, 'takes' | 'path'>,
  world: World,
): string[] {
  const cookie = path.startsWith('/api/auth/') ? world.doomedCookie : world.ownerCookie
  const roll = random.next()
  if (takes === 'key' ? roll < 0.75 : roll < 0.08) return [`Authorization: Bearer ${world.goodKey}`]
  if (takes === 'session' ? roll < 0.8 : roll < 0.12) return [`Cookie: ${cookie}`]
  if (roll < 0.92) return [`Authorization: Bearer ${random.pick(world.otherKeys)}`]
  if (roll < 0.95) return []
  const { goodKey } = world
  return random.pick([
    ['Authorization: Bearer'],
    ['Authorization: Basic dTpw'],
    ['Authorization: Payment x'],
    [`Authorization: ${goodKey}`],
    [`Authorization: Bearer ${goodKey}, Bearer x`],
    [`Authorization: Bearer x`, `Authorization: Bearer ${goodKey}`],
    [`Authorization: Bearer ${inHeader(random.pick(HOSTILE_TEXT)).slice(0, 500)}`],
    [`Cookie: ${cookie.slice(0, -8)}AAAAAAA%3D`],
    [`Cookie: ${cookie}; ${cookie}`],
    ['Cookie: better-auth.session_token=%zz; =; ;;;a'],
    [`Cookie: better-auth.session_token=${'a'.repeat(4000)}`],
    [`x-api-key: ${goodKey}`, `x-goog-api-key: ${goodKey}`],
  ])
}

/** Headers that no parameter names. */
function oddLines(random: Random): string[] {
  if (!random.chance(0.15)) return []
  return random.pick([
    ['X-Request-ID: a\r\nX-Injected: 1'],
    [`X-Request-ID: ${inHeader(random.pick(HOSTILE_TEXT)).slice(0, 300)}`],
    ['X-Forwarded-For: 1.2.3.4, ::1, "x'],
    ['Forwarded: for="[::1]:80";host=evil, for=_x'],
    ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https', 'X-Original-URL: /api/keys'],
    ['X-HTTP-Method-Override: DELETE'],
    ['Origin: https://evil.example', 'Sec-Fetch-Site: cross-site'],
    ['Origin: null'],
    ['Accept: text/html;q=1, */*;q=0'],
    [`Accept: ${'a/b;q=0.1,'.repeat(300)}*/*`],
    ['Accept-Encoding: br;q=0, *;q=0'],
    ['Range: bytes=0-1', 'If-None-Match: *'],
    [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
    ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'],
    ['Connection: close'],
    ['Expect: 200-maybe'],
    ['X-Max-Price-USD: 0.004999'],
    ['Idempotency-Key: same'],
    Array.from({ length: 150 }, (_, i) => `X-Many-${i}: ${i}`),
    Array.from({ length: 60 }, () => 'X-Request-ID: again'),
    [`X-Long: ${'a'.repeat(random.int(9000, 12_000))}`],
  ])
}

/** The same path as another spelling of it: most are other paths, and none may be a way round the door. */
function oddTarget(random: Random, target: string): string {
  if (!random.chance(0.1)) return target
  const [path = '/', query = ''] = target.split(/\?(.*)/s)
  const more = query === '' ? '' : `?${query}`
  return random.pick([
    `${path}/${more}`,
    `/${path}${more}`,
    `${path.toUpperCase()}${more}`,
    `${path}#x${more}`,
    `${path};a=b${more}`,
    `${path}%00${more}`,
    `${path}%20${more}`,
    `${path}%0d%0aX-Injected:%201${more}`,
    `/x/..${path}${more}`,
    `/x/%2e%2e${path}${more}`,
    `/./.${path}${more}`,
    `${path.replaceAll('/', '\\').replace('\\', '/')}${more}`,
    `${path.replace(/\w(?=\w*$)/, (c) => percent(c, () => false))}${more}`,
    `${path.replace(/(?<=.)\/(?!.*\/)/, '%2f')}${more}`,
    `http://evil.example${path}${more}`,
    `https://u:p@evil.example:1${path}${more}`,
    `${path}?${more}`,
    `${utf8(path)}\xff${more}`,
  ])
}

function version(random: Random): Pick<RequestParts, 'version' | 'host'> {
  const roll = random.next()
  if (roll < 0.02) return { version: '1.0', host: random.chance(0.5) ? null : 'gw' }
  return roll < 0.06 ? { host: random.pick(HOSTS) } : {}
}

function withBody(
  random: Random,
  { body, method }: Operation,
  lines: readonly string[],
  isBad: () => boolean,
): Pick<RequestParts, 'lines' | 'body'> {
  if (!body && (method === 'GET' || random.chance(0.8))) return { lines, body: method === 'POST' ? '' : null }
  if (isBad() || !body) {
    const made = hostileBody(random, body)
    return { lines: [...lines, ...made.lines], body: made.bytes }
  }
  const { properties = {} } = body.schema
  const value = goodObject(random, body.schema, body.example)
  for (const name of Object.keys(properties)) if (isBad()) value[name] = badValue(random, properties[name] ?? {})
  return { lines: [...lines, 'Content-Type: application/json'], body: utf8(JSON.stringify(value)) }
}
