import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const chat = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  const claude = { kind: 'anthropic', base_url: `${vendor.origin}/v1`, key_env: 'ANTHROPIC_DOUBLE_KEY' } as const
  gateway = await openModelGateway([
    { id: 'gpt', upstream: chat, price: PRICE },
    { id: 'gpt-more', upstream: chat, price: PRICE, extra_members: ['best_of', 'tools.web_search'] },
    { id: 'codex', upstream: { ...chat, responses: true }, price: PRICE },
    { id: 'codex-web', upstream: { ...chat, responses: true }, price: PRICE, extra_members: ['tools.web_search'] },
    { id: 'gpt-credit', upstream: chat, price: PRICE, recharge_required: false },
    { id: 'claude', upstream: claude, price: PRICE },
    { id: 'claude-long', upstream: claude, price: PRICE, betas: ['context-1m-2025-08-07'] },
    { id: 'gem', upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` }, price: PRICE },
  ])
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const hello = { max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
const errorOf = async (answer: Response) => ((await answer.json()) as { error: Record<string, unknown> }).error

describe('a property whose cost the token price does not cover', () => {
  test('is 422 and named, on each wire; the vendor is not called and nothing is charged', async () => {
    const { key, balance } = await gateway.funded()
    vendor.received.length = 0
    const asked = [
      ['/v1/chat/completions', { ...hello, model: 'gpt', models: ['gpt-dearer'] }, 'models'],
      ['/v1/chat/completions', { ...hello, model: 'gpt', best_of: 128 }, 'best_of'],
      [
        '/v1/messages',
        { ...hello, model: 'claude', tools: [{ type: 'web_search_20250305' }] },
        'tools.web_search_20250305',
      ],
    ] as const
    for (const [path, body, param] of asked) {
      const answer = await gateway.post(key, path, body)
      expect(answer.status).toBe(422)
      const { message, ...error } = await errorOf(answer)
      expect(error).toMatchObject({ code: 'unsupported_parameter', param })
      // The message names the member and the cure.
      expect(message).toStartWith(`${param} is not available`)
      expect(message).toContain(`extra_members: ["${param}"]`)
    }
    const google = await gateway.post(key, '/v1beta/models/gem:generateContent', {
      contents: [{ parts: [{ text: 'Hi' }] }],
      tools: { google_search: {} },
    })
    expect(google.status).toBe(422)
    expect(JSON.stringify(await errorOf(google))).toContain('tools.googleSearch')
    expect(vendor.received).toEqual([])
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test("passes if the model's entry names it, and best_of multiplies the hold", async () => {
    const { key } = await gateway.funded()
    const body = { ...hello, model: 'gpt-more', best_of: 20, tools: [{ type: 'web_search' }] }
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    expect((await gateway.post(key, '/v1/chat/completions', body)).status).toBe(200)
    expect(vendor.received.at(-1)?.body).toEqual(body)
    const quoted = async (more: object) => {
      const headers = { 'x-cost-mode': 'quote' }
      const answer = await gateway.chat(key, { ...hello, model: 'gpt-more', ...more }, { headers })
      return ((await answer.json()) as { quote: { cost_micros_usd: number } }).quote.cost_micros_usd
    }
    // 19 more answers of 10 tokens at 10, and 13 bytes of ',"best_of":20' at 3.125.
    expect((await quoted({ best_of: 20 })) - (await quoted({}))).toBeCloseTo(19 * 10 * 10 + 13 * 3.125, -1)
  })

  test('thinking, which a vendor may bill on top of the cap, is held, and bounded where the caller did not', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    const quoted = async (more: object) => {
      const answer = await gateway.chat(
        key,
        { ...hello, model: 'gpt', ...more },
        { headers: { 'x-cost-mode': 'quote' } },
      )
      return ((await answer.json()) as { quote: { cost_micros_usd: number } }).quote.cost_micros_usd
    }
    const usual = await quoted({})
    const input = (more: object) => Math.ceil((JSON.stringify(more).length - 1) * 3.125)
    // Tokens of output at 10: as many again as the cap, or the caller's budget.
    for (const [more, tokens] of [
      [{ enable_thinking: true }, 10],
      [{ enable_thinking: true, thinking_budget: 500 }, 500],
      [{ thinking_budget: 500 }, 500],
      [{ enable_thinking: false, thinking_budget: 500 }, 0],
      // 1,024 tokens of input at 3.125, for tools that a template describes.
      [{ chat_template_kwargs: { builtin_tools: ['python'] } }, 320],
    ] as const)
      expect(Math.abs((await quoted(more)) - usual - input(more) - tokens * 10)).toBeLessThanOrEqual(1)
    const body = { ...hello, model: 'gpt', enable_thinking: true }
    expect((await gateway.post(key, '/v1/chat/completions', body)).status).toBe(200)
    expect(vendor.received.at(-1)?.body).toEqual({ ...body, thinking_budget: 10 })
    const wrong = await gateway.post(key, '/v1/chat/completions', { ...body, thinking_budget: -1 })
    expect([wrong.status, (await errorOf(wrong))['param']]).toEqual([400, 'thinking_budget'])
  })
})

describe('anthropic-beta', () => {
  // What Claude Code sends with its first call.
  const SENT =
    'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24,context-1m-2025-08-07, mine'
  const KNOWN = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24'
  const call = async (model: string, more: object = {}) => {
    const { key } = await gateway.funded()
    return gateway.post(key, '/v1/messages', { ...hello, model, ...more }, { headers: { 'anthropic-beta': SENT } })
  }

  test('passes if it does not change billing; removed values are named, and the call works', async () => {
    vendor.answer = () => anthropic.plain('Hi', { input: 10, output: 4 })
    const answer = await call('claude')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-gateway-removed-betas')).toBe('context-1m-2025-08-07, mine')
    expect(vendor.received.at(-1)?.headers.get('anthropic-beta')).toBe(KNOWN)
  })

  test('removed values are named in streams and refusals too', async () => {
    vendor.answer = () => eventStream(anthropic.words(['Hi'], { input: 10, output: 4 }))
    const stream = await call('claude', { stream: true })
    expect(stream.headers.get('x-gateway-removed-betas')).toBe('context-1m-2025-08-07, mine')
    expect(await stream.text()).toContain('message_stop')
    vendor.answer = () => anthropic.error(400, 'invalid_request_error')
    expect((await call('claude')).headers.get('x-gateway-removed-betas')).toBe('context-1m-2025-08-07, mine')
  })

  test("passes where the model's entry names it", async () => {
    vendor.answer = () => anthropic.plain('Hi', { input: 10, output: 4 })
    const answer = await call('claude-long')
    expect(answer.headers.get('x-gateway-removed-betas')).toBe('mine')
    expect(vendor.received.at(-1)?.headers.get('anthropic-beta')).toBe(`${KNOWN},context-1m-2025-08-07`)
  })

  test('without a known value is not sent at all', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => anthropic.plain('Hi', { input: 10, output: 4 })
    const headers = { 'anthropic-beta': ' fast-mode-2026-02-01 ,, x'.padEnd(4000, ',y') }
    const answer = await gateway.post(key, '/v1/messages', { ...hello, model: 'claude' }, { headers })
    expect(answer.status).toBe(200)
    expect(vendor.received.at(-1)?.headers.has('anthropic-beta')).toBe(false)
  })
})

describe('402 on a model call', () => {
  const call = { model: 'gpt', messages: [{ role: 'user', content: 'Hello' }] }
  const capIn = (message: unknown) => Number(/output cap of at most (\d+) tokens would fit/.exec(String(message))?.[1])

  test('names the amount needed and the largest output cap that would fit, which then fits', async () => {
    const { key } = await gateway.funded(0.05)
    const answer = await gateway.chat(key, { ...call, max_tokens: 900_000 / 90 })
    expect(answer.status).toBe(402)
    const { message, code } = await errorOf(answer)
    expect(code).toBe('insufficient_balance')
    expect(message).toMatch(/costs at most 0\.1\d+ USD/)
    const cap = capIn(message)
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    expect((await gateway.chat(key, { ...call, max_tokens: cap + 2 })).status).toBe(402)
    expect((await gateway.chat(key, { ...call, max_tokens: cap })).status).toBe(200)
  })

  test("goes by the key's limit, and says when no cap would fit", async () => {
    const { key } = await gateway.funded(10, { spending_limit: 0.01 })
    const limited = await errorOf(await gateway.chat(key, { ...call, max_tokens: 5000 }))
    expect(limited['code']).toBe('insufficient_api_key_balance')
    expect(capIn(limited['message'])).toBeGreaterThan(900)
    const poor = await gateway.funded(0.0001)
    const refused = await errorOf(await gateway.chat(poor.key, { ...call, max_tokens: 50 }))
    expect(refused['message']).toContain('no output cap would fit')
  })
})

test('a call exactly as large as the tokens of a minute goes through, and one token more does not', async () => {
  const body = { model: 'gpt', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 9000 }
  // The estimate of the window: a quarter of the bytes, and the cap.
  const estimate = Math.ceil(JSON.stringify(body).length / 4) + body.max_tokens
  vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
  const answered = async (tpm: number) => {
    const { key } = await gateway.funded(10, {}, { rpm: 100, tpm, concurrency: 2 })
    return gateway.post(key, '/v1/chat/completions', body)
  }
  expect((await answered(estimate)).status).toBe(200)
  const refused = await answered(estimate - 1)
  expect(refused.status).toBe(422)
  expect(await errorOf(refused)).toMatchObject({ code: 'max_tokens_exceeded' })
})

test('"error": null in every chunk is no failure', async () => {
  const { key, balance } = await gateway.funded()
  const nulled = (event: string) => event.replace('data: {', 'data: {"error": null,')
  const total = openAi.total({ input: 10, output: 4 })
  vendor.answer = () =>
    eventStream([...openAi.words(['Hel', 'lo'], null).slice(0, -1).map(nulled), nulled(total), openAi.done])
  const answer = await gateway.chat(key, { model: 'gpt', max_tokens: 10, stream: true })
  const text = await answer.text()
  expect(text).toEndWith('data: [DONE]\n\n')
  expect(await balance()).toEqual({ paid: 10_000_000 - 65, held: 0 })
})
