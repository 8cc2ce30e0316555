import { expect, test } from 'bun:test'
import { type Attempt, single } from '../support/fuzz/attempt'
import { judge } from '../support/fuzz/judge'
import type { Answer, Read } from '../support/fuzz/raw-connection'

/** The judge of the fuzz pass must be able to say no: each row is a good answer with one thing wrong. */
const ID = 'req_01a1fd6c3e7e70008dde46a723b40c00'
const ATTEMPT = single('a call', { method: 'GET', target: '/apis/v1/websearch/images/search?q=a', lines: [] })
const [ASKED = { method: '', path: null }] = ATTEMPT.asked

const reset = String(Math.floor(Date.now() / 1000) + 30)
const HEADERS: Record<string, string> = {
  'x-request-id': ID,
  'x-gateway-request-id': ID,
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-cost-micros-usd': '0',
  'x-ratelimit-limit-requests': '60',
  'x-ratelimit-remaining-requests': '59',
  'x-ratelimit-reset-requests': reset,
  'x-ratelimit-limit-tokens': '60000',
  'x-ratelimit-remaining-tokens': '60000',
  'x-ratelimit-reset-tokens': reset,
  'x-ratelimit-limit-concurrency': '5',
  'x-ratelimit-remaining-concurrency': '5',
}
const ERROR = { type: 'invalid_request_error', code: 'missing_parameter', message: 'q is required', request_id: ID }

function answer(status: number, headers: Record<string, string | null> = {}, body: unknown = { error: ERROR }): Answer {
  const all = Object.entries({ ...HEADERS, ...headers }).filter((pair): pair is [string, string] => pair[1] !== null)
  return { status, headers: new Map(all.map(([name, value]) => [name, [value]])), body: JSON.stringify(body) }
}

const problems = (read: Read, attempt: Attempt = ATTEMPT) => judge(attempt, ASKED, read).problems
const BARE: Answer = { status: 400, headers: new Map([['connection', ['close']]]), body: '' }

test('good answers are no problem', () => {
  expect(problems(answer(400))).toEqual([])
  expect(problems(answer(200, { 'x-cost-micros-usd': '5000' }, { type: 'images' }))).toEqual([])
  expect(problems(answer(200, {}, { quote: {} }))).toEqual([])
  expect(problems(BARE, { ...ATTEMPT, bare: 'no header line' })).toEqual([])
})

const error = (change: object) => ({ error: { ...ERROR, ...change } })
const ROWS: [string, Read][] = [
  ['a 500', answer(500, {}, error({ type: 'api_error', code: 'internal_error' }))],
  ['no id', answer(400, { 'x-gateway-request-id': null })],
  ['no echo', answer(400, { 'x-request-id': null })],
  ['another id in the body', answer(400, {}, error({ request_id: 'req_x' }))],
  ['a code that the status does not have', answer(400, {}, error({ code: 'unknown_endpoint' }))],
  ['a code that nobody knows', answer(400, {}, error({ code: 'toString' }))],
  ['another type', answer(400, {}, error({ type: 'api_error' }))],
  ['no message', answer(400, {}, error({ message: '' }))],
  ['a stack', answer(400, {}, error({ message: 'at f (/work/main/server/app.ts:1:1)' }))],
  ['a member too many', answer(400, {}, error({ stack: 'x' }))],
  ['text', answer(400, { 'content-type': 'text/plain' })],
  ['another shape', answer(400, {}, { message: 'no' })],
  ['a failure that is cached', answer(400, { 'cache-control': null })],
  ...Object.keys(HEADERS)
    .filter((name) => name.startsWith('x-ratelimit'))
    .map((name): [string, Read] => [`no ${name}`, answer(400, { [name]: null })]),
  ['a reset in the past', answer(400, { 'x-ratelimit-reset-tokens': '1' })],
  ['more left than there is', answer(400, { 'x-ratelimit-remaining-requests': '61' })],
  ['a refusal that cost', answer(400, { 'x-cost-micros-usd': '5000' })],
  ['a success for nothing', answer(200, {}, { type: 'images' })],
  ['a success of another price', answer(200, { 'x-cost-micros-usd': '4999' }, { type: 'images' })],
  ['an injected header', answer(400, { 'x-injected': '1' })],
  ['a 405 that allows nothing', answer(405, {}, error({ code: 'method_not_allowed' }))],
  ['a 405 that allows it', answer(405, { allow: 'GET' }, error({ code: 'method_not_allowed' }))],
  ['a bare answer to a good request', BARE],
  ['a hang', 'hang'],
  ['a closed connection', 'closed'],
  ['no HTTP', 'not HTTP'],
]
test.each(ROWS)('%s is a problem', (_, read) => {
  expect(problems(read)).not.toEqual([])
})
