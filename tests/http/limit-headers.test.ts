import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { UpstreamFailure } from '../../server/core/providers/provider'
import { err, ok } from '../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT, endAndReconcile, IMAGES, IMAGES_CALL } from './wire'

const HEADERS = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'x-ratelimit-limit-concurrency',
  'x-ratelimit-remaining-concurrency',
]

describe('the limit headers are on every answer of the gated prefixes (spec 8, spec D9)', () => {
  let gateway: Harness
  let key: MadeKey
  let spent: MadeKey
  let elsewhere: MadeKey
  let full: MadeKey
  let off: string

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: '1000' } })
    const account = await gateway.account(10)
    key = await gateway.key(account)
    spent = await gateway.key(account, { spending_limit: 0.001 })
    elsewhere = await gateway.key(account, { allowed_ips: ['203.0.113.7'] })
    full = await gateway.key(account, { rpm_limit: 1 })
    await gateway.as(full, IMAGES_CALL)
    const { api } = await gateway.owner()
    const made = await (await api('/api/keys', { name: 'off' })).json()
    await api(`/api/keys/${made.key.id}/disable`, {})
    off = made.secret
  })
  afterAll(() => endAndReconcile(gateway))

  const post = (body: string, type = 'application/json') =>
    gateway.as(key, CONTEXT, { method: 'POST', headers: { 'content-type': type }, body })
  const failing = async (problem: UpstreamFailure) => {
    gateway.images.answer = async () => err(problem)
    const answer = await gateway.as(key, IMAGES_CALL)
    gateway.images.answer = async () => ok({ body: '{}' })
    return answer
  }
  const passThrough = { status: 422, contentType: 'application/json', body: '{}' }

  const calls: [number, string, () => Promise<Response>][] = [
    [200, 'image search', () => gateway.as(key, IMAGES_CALL)],
    [200, 'LLM context by POST', () => post('{"q":"a"}')],
    [200, 'a quote without a key', async () => gateway.call(IMAGES_CALL, { headers: { 'x-cost-mode': 'quote' } })],
    [200, '/v1/usage', () => gateway.as(key, '/v1/usage')],
    [200, '/v1/credits/balance', () => gateway.as(key, '/v1/credits/balance')],
    [400, 'wrong input', () => gateway.as(key, IMAGES)],
    [400, 'broken JSON', () => post('{')],
    [400, 'a wrong /v1/usage', () => gateway.as(key, '/v1/usage?bucket_width=2h')],
    [401, 'an unknown key', () => gateway.as('gwk_nobody', IMAGES_CALL)],
    [401, 'a disabled key', () => gateway.as(off, IMAGES_CALL)],
    [401, '/v1/usage without a key', async () => gateway.call('/v1/usage')],
    [402, 'no credential', async () => gateway.call(IMAGES_CALL)],
    [402, 'an exhausted key', () => gateway.as(spent, IMAGES_CALL)],
    [403, 'a wrong address', () => gateway.as(elsewhere, IMAGES_CALL)],
    [403, 'scope=account', () => gateway.as(key, '/v1/usage?scope=account')],
    [404, '/apis', () => gateway.as(key, '/apis')],
    [404, '/apis/v1/nothing', () => gateway.as(key, '/apis/v1/nothing')],
    [404, '/v1/nothing without a key', async () => gateway.call('/v1/nothing')],
    [404, '/v1/usage/nothing', () => gateway.as(key, '/v1/usage/nothing')],
    [404, '/v1beta', () => gateway.as(key, '/v1beta')],
    [404, '/v1beta/files', () => gateway.as(key, '/v1beta/files')],
    [404, 'below /mcp', () => gateway.as(key, '/mcp/nothing', { method: 'POST', body: '{}' })],
    [404, '/mcp/nothing without a key', async () => gateway.call('/mcp/nothing')],
    [405, 'a wrong method', () => gateway.as(key, IMAGES, { method: 'POST' })],
    [405, 'HEAD', () => gateway.as(key, IMAGES_CALL, { method: 'HEAD' })],
    [200, 'HEAD of what is free', () => gateway.as(key, '/v1/usage', { method: 'HEAD' })],
    [406, 'no JSON accepted', () => gateway.as(key, IMAGES_CALL, { headers: { accept: 'text/html' } })],
    [412, 'too dear', () => gateway.as(key, IMAGES_CALL, { headers: { 'x-max-price-usd': '0' } })],
    [413, 'a large body', () => post(' '.repeat(1024 * 1024 + 1))],
    [415, 'a body of text', () => post('q=a', 'text/plain')],
    [422, 'an error body of the upstream', () => failing({ kind: 'error', reason: 'no', passThrough })],
    [429, 'a full minute', () => gateway.as(full, IMAGES_CALL)],
    [429, 'a full minute on /v1', () => gateway.as(full, '/v1/usage')],
    [429, 'a busy upstream', () => failing({ kind: 'rate_limited', reason: 'busy' })],
    [502, 'a failing upstream', () => failing({ kind: 'error', reason: 'no' })],
    [503, 'an upstream that is away', () => failing({ kind: 'unavailable', reason: 'no' })],
    [504, 'a slow upstream', () => failing({ kind: 'timeout', reason: 'no' })],
  ]

  test.each(calls)('%d: %s', async (status, _, call) => {
    const answer = await call()
    expect(answer.status).toBe(status)
    for (const name of HEADERS) expect(`${name}: ${answer.headers.get(name)}`).toMatch(/: \d+$/)
    expect(answer.headers.get('x-request-id')).toStartWith('req_')
    const wait = answer.headers.get('retry-after')
    if (status === 429) expect(Number(wait)).toBeGreaterThanOrEqual(1)
    else expect(wait).toBeNull()
  })

  test('a response outside the gated prefixes has none', async () => {
    const answer = await gateway.call('/health')
    for (const name of HEADERS) expect(answer.headers.get(name)).toBeNull()
  })
})
