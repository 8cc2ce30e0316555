import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT, endAndReconcile, IMAGES, IMAGES_CALL, refusalOf } from './wire'

describe('the shape of failures (spec 7, spec D2)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(10))
  })
  afterAll(() => endAndReconcile(gateway))

  const get = (query: string, headers: Record<string, string> = {}) =>
    gateway.as(key, `${IMAGES}?${query}`, { headers })

  describe('one shape', () => {
    test.each<[string, () => Promise<Response>, string, string]>([
      ['400', () => get('count=1'), 'invalid_request_error', 'missing_parameter'],
      ['401', () => gateway.as('nobody', IMAGES_CALL), 'authentication_error', 'invalid_api_key'],
      ['402', async () => gateway.call(IMAGES_CALL), 'billing_error', 'payment_required'],
      ['404', () => gateway.as(key, '/v1/nothing'), 'invalid_request_error', 'unknown_endpoint'],
      ['404', () => gateway.as(key, '/v1/usage/nothing'), 'invalid_request_error', 'resource_not_found'],
      ['405', () => gateway.as(key, IMAGES, { method: 'POST' }), 'invalid_request_error', 'method_not_allowed'],
      ['406', () => get('q=a', { accept: 'text/html' }), 'invalid_request_error', 'not_acceptable'],
      [
        '412',
        () => get('q=a', { 'x-max-price-usd': '0' }),
        'invalid_request_error',
        'estimated_price_exceeds_max_price',
      ],
    ])('%s is {error: {type, code, message, request_id}} and no more than helps', async (status, call, type, code) => {
      const refusal = await refusalOf(call())
      expect(refusal).toMatchObject({ status: Number(status), type, code })
      expect(refusal.message).toMatch(/\.$|is required|must/)
      const extra = ['status', 'type', 'code', 'message', 'request_id', 'param', 'details', 'price']
      expect(Object.keys(refusal).filter((name) => !extra.includes(name))).toEqual([])
    })

    test('/v1/messages wraps it the Anthropic way', async () => {
      const answer = await gateway.as(key, '/v1/messages', { method: 'POST', body: '{}' })
      expect(answer.status).toBe(415)
      expect(await answer.json()).toEqual({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          code: 'unsupported_media_type',
          message: expect.any(String),
          request_id: answer.headers.get('x-gateway-request-id'),
        },
      })
    })

    test('/v1beta/* wraps it the Google way, with our code as reason', async () => {
      const answer = await gateway.as(key, '/v1beta/models/m:generateContent', { method: 'POST', body: '{}' })
      expect(answer.status).toBe(415)
      expect(await answer.json()).toEqual({
        error: {
          code: 415,
          message: expect.any(String),
          status: 'FAILED_PRECONDITION',
          type: 'invalid_request_error',
          request_id: answer.headers.get('x-gateway-request-id'),
          details: [expect.objectContaining({ reason: 'unsupported_media_type' })],
        },
      })
    })

    test('other routes near those two keep the plain shape', async () => {
      for (const path of ['/v1/messages/counts', '/v1beta', '/v1/message'])
        expect((await refusalOf(gateway.as(key, path))).code).toBe('unknown_endpoint')
    })

    test('paths are case-sensitive, for the shape of errors too; %3a and %3A are the same', async () => {
      const spelled = { body: '{}', method: 'POST', headers: { 'content-type': 'application/json' } }
      const answer = (path: string) => gateway.as(key, path, spelled)
      for (const path of ['/V1BETA/MODELS/M:GENERATECONTENT', '/V1/MESSAGES'])
        expect(await refusalOf(answer(path))).toMatchObject({ status: 404, code: 'unknown_endpoint' })
      // The id of a model, which only GET can ask for.
      const id = await refusalOf(answer('/v1/models/m:generatecontent'))
      expect(id).toMatchObject({ status: 405, code: 'method_not_allowed' })
      for (const path of ['/v1/models/m%3agenerateContent', '/v1beta/models/m%3AgenerateContent'])
        expect((await (await answer(path)).json()).error.details[0].reason).toBe('missing_parameter')
    })
  })

  describe('wrong parameters', () => {
    test('GET: all of query and headers are listed at once, each with param, in, rule and received', async () => {
      const headers = { 'api-version': '1999-01-01', 'x-max-price-usd': 'cheap', 'x-cost-mode': 'guess' }
      const refusal = await refusalOf(get('count=0&country=XX&spellcheck=maybe', headers))
      expect(refusal).toMatchObject({ status: 400, code: 'missing_parameter', param: 'q' })
      expect(refusal.message).toBe('q is required (and 6 more, see details)')
      const listed = Object.fromEntries((refusal.details ?? []).map((wrong) => [wrong.param, wrong]))
      expect(listed).toEqual({
        q: { param: 'q', in: 'query', code: 'missing_parameter', rule: 'is required', received: null },
        count: {
          param: 'count',
          in: 'query',
          code: 'invalid_parameter',
          rule: 'must be an integer from 1 to 200',
          received: '0',
        },
        country: expect.objectContaining({ in: 'query', received: 'XX' }),
        spellcheck: expect.objectContaining({ in: 'query', received: 'maybe', rule: 'must be true or false' }),
        'api-version': expect.objectContaining({ in: 'header', received: '1999-01-01' }),
        'x-max-price-usd': expect.objectContaining({ in: 'header', received: 'cheap' }),
        'x-cost-mode': expect.objectContaining({ in: 'header', received: 'guess', rule: 'must be one of quote' }),
      })
    })

    test('POST: all of body and headers are listed at once', async () => {
      const refusal = await refusalOf(
        gateway.as(key, CONTEXT, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-loc-lat': '91', 'x-cost-mode': '' },
          body: JSON.stringify({ q: '', count: '5', extra: 1 }),
        }),
      )
      expect(refusal.details?.map(({ param, in: place }) => `${place} ${param}`).toSorted()).toEqual([
        'body count',
        'body extra',
        'body q',
        'header x-cost-mode',
        'header x-loc-lat',
      ])
    })

    test('one wrong parameter is named in the message, with its rule', async () => {
      const { message, param } = await refusalOf(get('q=a&count=201'))
      expect(param).toBe('count')
      expect(message).toBe('count must be an integer from 1 to 200')
    })

    test('the received value is shown, cut to 100 characters', async () => {
      const { details } = await refusalOf(get(`q=a&country=${'😀'.repeat(300)}`))
      expect(details?.[0]?.received).toBe(`${'😀'.repeat(100)}...`)
    })

    test('a repeated scalar is a 400 that shows what was received (spec D2)', async () => {
      const { details } = await refusalOf(get('q=one&q=two'))
      expect(details).toEqual([
        { param: 'q', in: 'query', code: 'invalid_parameter', rule: 'must be given once', received: 'one, two' },
      ])
    })

    test('unknown query parameters are ignored, whatever they hold (spec D2)', async () => {
      expect((await get('q=a&unknown=1&unknown=2&=&__proto__=x&constructor=')).status).toBe(200)
    })

    test('input is validated for every caller: with a key, and without one before the 402', async () => {
      const { request_id: _1, ...withKey } = await refusalOf(get('count=0'))
      const { request_id: _2, ...without } = await refusalOf(gateway.call(`${IMAGES}?count=0`))
      expect(without).toEqual(withKey)
      expect(without.status).toBe(400)
    })
  })

  describe('characters and words (spec D5)', () => {
    const status = async (q: string) => (await get(new URLSearchParams({ q }).toString())).status

    test('characters are code points: a pair of UTF-16 units is one, a combining mark is one', async () => {
      expect(await status('𝒳'.repeat(400))).toBe(200)
      expect(await status('𝒳'.repeat(401))).toBe(400)
      expect(await status('e\u0301'.repeat(200))).toBe(200)
      expect(await status(`${'e\u0301'.repeat(200)}e`)).toBe(400)
    })

    const separators = [' ', '\t', '\n', '\u0085', '\u00a0', '\u1680', '\u2003', '\u2028', '\u202f', '\u205f', '\u3000']
    test.each(separators.map((c) => [`U+${c.charCodeAt(0).toString(16).padStart(4, '0')}`, c] as const))(
      'Unicode white space %s separates words and is no word',
      async (_, space) => {
        expect(await status(Array<string>(50).fill('a').join(space))).toBe(200)
        expect(await status(Array<string>(51).fill('a').join(space))).toBe(400)
        expect(await status(`${space}${Array<string>(50).fill('a').join(space.repeat(2))}${space}`)).toBe(200)
        expect(await status(space)).toBe(400)
      },
    )

    test.each([
      ['U+200B', '\u200b'],
      ['U+FEFF', '\ufeff'],
      ['U+2060', '\u2060'],
    ] as const)('%s is not Unicode white space and does not separate words', async (_, joiner) => {
      expect(await status(Array<string>(51).fill('a').join(joiner))).toBe(200)
    })

    test('words in a script without spaces are one word', async () => {
      expect(await status('信用卡'.repeat(100))).toBe(200)
    })
  })
})
