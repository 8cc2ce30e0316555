import { type Attempt, framed, type RequestParts, single, type World } from './attempt'
import type { BareCondition } from './bare-answers'
import type { Random } from './random'

const IMAGES = '/apis/v1/websearch/images/search?q=a&count=1'
const CONTEXT = '/apis/v1/websearch/llm/context'
const BODY = '{"q":"card"}'
const HOST = 'Host: 127.0.0.1'
const JSON_TYPE = 'Content-Type: application/json'

type Row = readonly [condition: BareCondition, ...lines: readonly string[]]

/** First lines that are none. */
const FIRST_LINES: readonly Row[] = [
  ['no request line', 'garbage'],
  ['no request line', ''],
  ['no request line', '\0\x01\x02\xff\xfe'],
  ['no request line', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'],
  ['no request line', 'PRI * HTTP/2.0'],
  ['no request line', 'OPTIONS * HTTP/1.1'],
  ['no request line', 'GET apis HTTP/1.1'],
  ['no request line', 'GET ?q=1 HTTP/1.1'],
  ['no request line', 'GET \\apis HTTP/1.1'],
  ['no request line', ` ${IMAGES} HTTP/1.1`],
  ['no HTTP/1.x', `GET ${IMAGES}`],
  ['no HTTP/1.x', `GET ${IMAGES} HTTP/2.0`],
  ['no HTTP/1.x', `GET ${IMAGES} HTTP/1.2`],
  ['no HTTP/1.x', `GET ${IMAGES} HTCPCP/1.0`],
  ['no HTTP/1.x', `GET ${IMAGES}\0 HTTP/1.1`],
  ['no HTTP/1.x', `GET ${IMAGES} b HTTP/1.1`],
  ['no HTTP/1.x', `GET ${IMAGES}\tb HTTP/1.1`],
  ['no HTTP/1.x', `GET ${IMAGES}\x01 HTTP/1.1`],
  ['no method', `FOO ${IMAGES} HTTP/1.1`],
  ['no method', `get ${IMAGES} HTTP/1.1`],
  ['no method', `${'A'.repeat(300)} ${IMAGES} HTTP/1.1`],
]

/** Headers that are none, or lie about the body. */
const HEADERS: readonly Row[] = [
  ['no header line', 'X-A: a\0b'],
  ['no header line', 'X-A: a\rX-Injected: 1'],
  ['no header line', 'X-A: a\nX-Injected: 1'],
  ['no header line', 'X-A: a\r\n folded'],
  ['no header line', 'X-A: \x01'],
  ['no header line', 'no colon'],
  ['no header line', 'X A: b'],
  ['no header line', ': b'],
  ['no header line', 'X-A : b'],
  ['no header line', 'X\xe9: b'],
  ['no body length', 'Content-Length: -1'],
  ['no body length', 'Content-Length: 99999999999999999999999'],
  ['no body length', 'Content-Length: abc'],
  ['no body length', 'Content-Length: +12'],
  ['no body length', 'Content-Length: 0xc'],
  ['no body length', 'Content-Length:'],
  ['no body length', 'Content-Length: 12, 12'],
  ['no body length', 'Content-Length: 12', 'Content-Length: 4'],
  ['no body length', 'Content-Length: 12', 'Transfer-Encoding: chunked'],
  ['no body length', 'Transfer-Encoding: chunked', 'Content-Length: 4'],
  ['no body length', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
  ['no body length', 'Transfer-Encoding: gzip, chunked'],
  ['no body length', 'Transfer-Encoding: identity'],
  ['no body length', 'Transfer-Encoding: xchunked'],
]

/** Chunked bodies that are none. */
const CHUNKS: readonly string[] = [
  'zz\r\n{}\r\n0\r\n\r\n',
  'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n',
  '-1\r\n{}\r\n0\r\n\r\n',
  `c\r\n${BODY}XX0\r\n\r\n`,
  `c\r\n${BODY}\r\n0\r\nX-T: 1\r\n\r\n`,
  `c\n${BODY}\n0\n\n`,
]

const REQUEST = { method: 'POST', path: CONTEXT }
/** Refused before anything is charged, so that a lost answer costs nothing. */
const UNKNOWN_KEY = 'Authorization: Bearer gwk_unknown'

/** Bytes that are no HTTP, or a frame that lies: either Bun refuses in its known way, or we answer whole. */
export function framingAttempt(random: Random, world: World): Attempt {
  const bare = (kind: string, condition: BareCondition, text: string): Attempt => ({
    kind,
    parts: [text],
    asked: [{ method: 'GET', path: null }],
    bare: condition,
    isLast: false,
    ending: 'read',
  })
  const key = `Authorization: Bearer ${world.goodKey}`
  return random.pick<() => Attempt>([
    () => {
      const [condition, line] = random.pick(FIRST_LINES)
      return bare('no request', condition, `${line}\r\n${HOST}\r\n${key}\r\n\r\n`)
    },
    () => {
      const [condition, ...lines] = random.pick(HEADERS)
      const head = [`POST ${CONTEXT} HTTP/1.1`, HOST, JSON_TYPE, ...lines]
      return bare('no header', condition, `${head.join('\r\n')}\r\n\r\n${condition === 'no body length' ? BODY : ''}`)
    },
    () => bare('no Host', 'no request line', `GET ${IMAGES} HTTP/1.1\r\n${key}\r\n\r\n`),
    () => bare('bare line feeds', 'no HTTP/1.x', `GET ${IMAGES} HTTP/1.1\n${HOST}\n\n`),
    () => oversized(random, key),
    () => badChunks(random),
    () => unfinished(random),
  ])()
}

function oversized(random: Random, key: string): Attempt {
  const lines = random.pick<() => string[]>([
    () => Array.from({ length: random.int(210, 2000) }, (_, i) => `X-${i}: 1`),
    () => [`X-Long: ${'a'.repeat(random.int(17_000, 100_000))}`],
    () => Array.from({ length: 40 }, (_, i) => `X-${i}: ${'a'.repeat(1000)}`),
    () => [`Cookie: ${'a=b; '.repeat(5000)}`],
  ])()
  const target = random.chance(0.2) ? `${IMAGES}${'a'.repeat(20_000)}` : IMAGES
  return { ...single('head too large', { method: 'GET', target, lines: [key, ...lines] }), bare: 'head too large' }
}

function badChunks(random: Random): Attempt {
  const head = `POST ${CONTEXT} HTTP/1.1\r\n${HOST}\r\n${UNKNOWN_KEY}\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`
  return {
    kind: 'no chunk',
    parts: [head + random.pick(CHUNKS)],
    asked: [REQUEST],
    bare: 'no chunk',
    isLast: false,
    ending: 'read',
  }
}

/** A request that stops somewhere, and then hangs up. Never one that could be charged. */
function unfinished(random: Random): Attempt {
  const whole = framed({ method: 'POST', target: CONTEXT, lines: [UNKNOWN_KEY, JSON_TYPE], body: BODY })
  return {
    kind: 'unfinished',
    parts: [whole.slice(0, random.int(1, whole.length - 1))],
    asked: [REQUEST],
    bare: 'hung up',
    isLast: false,
    ending: random.chance(0.5) ? 'half-close' : 'leave',
  }
}

/** Bodies in many pieces, with pauses: whole in the end, so that they are answered like any other. */
export function slowAttempt(random: Random, world: World): Attempt {
  const lines = [`Authorization: Bearer ${world.goodKey}`, JSON_TYPE]
  const asked = { method: 'POST', target: CONTEXT, lines } as const
  const isChunked = random.chance(0.5)
  const pieces = BODY.match(new RegExp(`.{1,${random.int(1, 6)}}`, 'g')) ?? []
  const parts = isChunked
    ? [
        framed({ ...asked, lines: [...lines, 'Transfer-Encoding: Chunked'] }),
        ...pieces.map((piece) => `${piece.length.toString(16)};x=y\r\n${piece}\r\n`),
        '0\r\n\r\n',
      ]
    : [framed({ ...asked, lines: [...lines, `Content-Length: ${BODY.length}`] }), ...pieces]
  return { kind: 'slow body', parts, asked: [REQUEST], bare: null, isLast: false, ending: 'read' }
}

/** Several requests at once, without a charge. Behind one that is not answered at once, Bun hangs up. */
export function pipelineAttempt(random: Random): Attempt {
  const requests = Array.from({ length: random.int(2, 6) }, (): RequestParts => {
    const lines = random.chance(0.5) ? [UNKNOWN_KEY] : []
    return random.pick([
      { method: 'GET', target: '/health', lines: [] },
      { method: 'GET', target: '/v1/nothing', lines },
      { method: 'GET', target: IMAGES, lines },
      { method: 'DELETE', target: '/v1/usage', lines },
      { method: 'POST', target: CONTEXT, lines: [...lines, JSON_TYPE], body: BODY },
      { method: 'GET', target: '/v1/usage/%zz', lines },
    ])
  })
  return {
    kind: 'pipeline',
    parts: [requests.map(framed).join('')],
    asked: requests.map(({ method, target }) => ({ method, path: target.split('?')[0] ?? '' })),
    bare: 'answer under way',
    isLast: false,
    ending: 'read',
  }
}

/** A good request with more behind it than it said. */
export function smugglingAttempt(random: Random): Attempt {
  const behind = random.pick(['{}', 'GET /api/keys HTTP/1.1\r\nX: ', '0\r\n\r\n', '\0', '\r\n\r\n\r\n'])
  const first = framed({ method: 'POST', target: CONTEXT, lines: [UNKNOWN_KEY, JSON_TYPE], body: BODY })
  return {
    kind: 'bytes behind',
    parts: [first + behind],
    asked: [REQUEST],
    bare: 'bytes behind',
    isLast: false,
    ending: 'read',
  }
}
