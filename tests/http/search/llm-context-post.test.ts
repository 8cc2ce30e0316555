import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { LlmContextInput } from '../../../server/core/catalog/llm-context'
import { type Harness, type MadeKey, OVER_SOCKET, openHarness } from '../../support/harness'
import { CONTEXT, endAndReconcile, refusalOf, verdictOf } from '../wire'
import { askedBy, wrongIn } from './context-bench'
import { BAD_LOCATION, DEFAULTS, GOOD_LOCATION } from './context-parameters'

const MIB = 1024 * 1024

describe('POST /apis/v1/websearch/llm/context (spec 4.2, spec D5)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(10))
  })
  afterAll(() => endAndReconcile(gateway))

  const JSON_TYPE = { 'content-type': 'application/json' }
  const send = (body: BodyInit | undefined, headers: Record<string, string> = JSON_TYPE, query = '') =>
    gateway.as(key, CONTEXT + query, { method: 'POST', headers, ...(body !== undefined && { body }) })
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    send(JSON.stringify(body), { ...JSON_TYPE, ...headers })
  const asked = (body: unknown, headers?: Record<string, string>) => askedBy(gateway, () => post(body, headers))
  const wrong = (body: unknown, headers?: Record<string, string>) => wrongIn(gateway, () => post(body, headers))

  test('a body with only q asks the provider with every default, like GET', async () => {
    expect(await asked({ q: 'card' })).toEqual(DEFAULTS as LlmContextInput)
  })

  test('the whole body is the GET parameters as one flat object', async () => {
    const body = {
      q: 'card',
      count: 5,
      country: 'DE',
      search_lang: 'de',
      context_threshold_mode: 'lenient',
      enable_local: false,
      enable_source_metadata: true,
      freshness: 'pw',
      goggles: ['$discard'],
      maximum_number_of_snippets: 10,
      maximum_number_of_snippets_per_url: 2,
      maximum_number_of_tokens: 2048,
      maximum_number_of_tokens_per_url: 600,
      maximum_number_of_urls: 3,
      safesearch: 'moderate',
      spellcheck: false,
    } as const
    expect(await asked(body)).toEqual({ ...body, 'api-version': '2026-07-31' })
  })

  test('goggles are one string or a list of up to three, none empty', async () => {
    expect((await asked({ q: 'a', goggles: '$discard' })).goggles).toEqual(['$discard'])
    expect((await asked({ q: 'a', goggles: ['a', 'b', 'c'] })).goggles).toEqual(['a', 'b', 'c'])
    for (const goggles of [['a', 'b', 'c', 'd'], [''], '', [7], 7, null])
      expect(await wrong({ q: 'a', goggles })).toMatchObject({ param: 'goggles', in: 'body' })
  })

  test('location and version come as headers here too, each in its bounds (spec 4.2)', async () => {
    for (const [name, value, expected] of GOOD_LOCATION)
      expect(await asked({ q: 'a' }, { [name]: value })).toMatchObject({ [name]: expected })
    for (const [name, value, rule] of BAD_LOCATION) {
      const refusal = await wrong({ q: 'a' }, { [name]: value })
      expect(refusal).toMatchObject({ param: name, in: 'header' })
      expect(refusal?.rule).toMatch(rule)
    }
    const answer = await post({ q: 'a' }, { 'api-version': '2026-02-06' })
    expect(answer.headers.get('api-version')).toBe('2026-02-06')
  })

  describe('members', () => {
    test.each(['offset', 'Q', 'x-loc-city', 'api-version', 'constructor', '__proto__', 'toString'])(
      'an unknown member %p is a 400 that names it (spec D2)',
      async (member) => {
        const refusal = await wrongIn(gateway, () => send(`{"q":"a",${JSON.stringify(member)}:"1"}`))
        expect(refusal).toMatchObject({ param: member, in: 'body', rule: 'is not a known property' })
      },
    )

    test('every unknown member is listed, with every wrong one', async () => {
      const { details } = await refusalOf(post({ count: 0, one: 1, two: 2 }))
      expect(details?.map(({ param }) => param).toSorted()).toEqual(['count', 'one', 'q', 'two'])
    })

    test('the query is not read: the body alone holds the parameters', async () => {
      const body = JSON.stringify({ q: 'card' })
      const input = await askedBy(gateway, () => send(body, JSON_TYPE, '?count=3&q=other'))
      expect(input).toEqual(DEFAULTS as LlmContextInput)
    })
  })

  describe('the body itself', () => {
    test('an absent body is an empty object: q is missing, whatever its type says (spec D2)', async () => {
      for (const headers of [{}, JSON_TYPE, { 'content-type': 'text/plain' }])
        expect(await verdictOf(send(undefined, headers))).toBe('400 missing_parameter')
      expect(await verdictOf(send('', JSON_TYPE))).toBe('400 missing_parameter')
    })

    test.each(['{', '{"q":"a"', "{'q':'a'}", '{"q":"a"}x', ' ', '\ufeff', 'NaN'])(
      '%p is a 400 json_parse_error',
      async (body) => {
        expect(await verdictOf(send(body))).toBe('400 json_parse_error')
      },
    )

    test('bytes that are no UTF-8 are a 400 json_parse_error', async () => {
      const bytes = Buffer.concat([Buffer.from('{"q":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
      expect(await verdictOf(send(bytes))).toBe('400 json_parse_error')
    })

    test.each(['[]', '"q"', '7', 'true', 'null'])('%s is JSON but no object: 400 invalid_request', async (body) => {
      expect(await verdictOf(send(body))).toBe('400 invalid_request')
    })

    test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp', ''])(
      'a body of type %p is 415 unsupported_media_type',
      async (type) => {
        const before = gateway.context.asked.length
        const answer = send('{"q":"a"}', { 'content-type': type })
        expect(await verdictOf(answer)).toBe('415 unsupported_media_type')
        expect(gateway.context.asked).toHaveLength(before)
      },
    )

    test.each(['br', 'deflate', 'GZIP, identity', 'gzip, gzip'])(
      'a body in %s, which is not read, is 415 that names it',
      async (encoding) => {
        const before = gateway.context.asked.length
        const refusal = await refusalOf(
          send('{"q":"a"}', { 'content-type': 'application/json', 'content-encoding': encoding }),
        )
        expect(refusal).toMatchObject({ status: 415, code: 'unsupported_media_type' })
        expect(refusal.message).toContain(`Content-Encoding: ${encoding.toLowerCase()}`)
        expect(gateway.context.asked).toHaveLength(before)
      },
    )

    test('a body that says identity is as it is', async () => {
      expect(
        (await send('{"q":"a"}', { 'content-type': 'application/json', 'content-encoding': 'identity' })).status,
      ).toBe(200)
    })

    test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/ld+json'])(
      'a body of type %p is JSON',
      async (type) => {
        expect((await send('{"q":"a"}', { 'content-type': type })).status).toBe(200)
      },
    )

    const ofSize = (bytes: number) => `{"q":"a"}${' '.repeat(bytes - 9)}`

    test('a body of exactly 1 MiB is read, one byte more is 413 payload_too_large (spec D2)', async () => {
      expect((await send(ofSize(MIB))).status).toBe(200)
      expect(await verdictOf(send(ofSize(MIB + 1)))).toBe('413 payload_too_large')
    })

    test('a body without a length is cut off at 1 MiB, long before it would end', async () => {
      let sent = 0
      const long = new ReadableStream({
        pull(controller) {
          sent += 65_536
          controller.enqueue(new Uint8Array(65_536).fill(32))
          if (sent === 4 * MIB) controller.close()
        },
      })
      expect(await verdictOf(send(long))).toBe('413 payload_too_large')
      expect(sent).toBeLessThan(2 * MIB)
    })

    test.skipIf(OVER_SOCKET)('a declared length over 1 MiB is refused before the body is read', async () => {
      const headers = { ...JSON_TYPE, 'content-length': String(MIB + 1) }
      expect(await verdictOf(send('{"q":"a"}', headers))).toBe('413 payload_too_large')
    })

    test('no refused body is charged or asks the provider', async () => {
      const before = gateway.context.asked.length
      for (const answer of [await send('{'), await send('x', {}), await send(ofSize(MIB + 1))])
        expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
      expect(gateway.context.asked).toHaveLength(before)
    })
  })
})
