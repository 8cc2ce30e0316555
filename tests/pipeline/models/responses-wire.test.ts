import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { mayHideOutput } from '../../../server/pipeline/models/wires/hidden-output'
import { serves, type WirePath, wireAt } from '../../../server/pipeline/models/wires/model-wire'
import { RESPONSES } from '../../../server/pipeline/models/wires/openai/responses/responses-wire'
import { openAi } from '../../support/vendor-double'

const SSE: WirePath = { model: null, stream: true, events: true }
const SIZES = [1, 2, 7, 64, 100_000]
const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
const textOf = (of: Uint8Array) => new TextDecoder().decode(of)

function upstream(more: object = {}) {
  const entry = { id: 'm', upstream: { kind: 'openai', ...more }, price: { input: 1, output: 1 } }
  const parsed = parseModelEntry(entry, { created: 1, priceVersion: () => 'v' })
  const [first] = parsed.ok ? parsed.value.upstreams : []
  if (!first) throw new Error('no upstream')
  return first
}
const NATIVE = upstream({ model: 'real' })
const CHAT_ONLY = upstream({ base_url: 'http://127.0.0.1:11434/v1', model: 'real' })

function read(body: object) {
  const request = RESPONSES.read(bytes({ model: 'm', input: 'Hello', ...body }), SSE)
  if (!request.ok) throw new Error(request.error.message)
  return request.value
}
const refused = (body: unknown) => {
  const request = RESPONSES.read(bytes(body), SSE)
  return request.ok ? 'taken' : `${request.error.code} ${request.error.param}`
}
const asChat = (body: object) => JSON.parse(textOf(wireAt(CHAT_ONLY, RESPONSES).bodyFor(read(body), CHAT_ONLY, 9)))
/** The translation of an answer of chat completions. */
function answered(chat: object, body: object = {}) {
  const translated = wireAt(CHAT_ONLY, RESPONSES).answerOf?.(Object(chat), read(body), bytes(chat))
  return translated ? JSON.parse(textOf(translated)) : null
}
/** A stream at this upstream, cut at every `size` bytes: the events that its caller gets, and the meter. */
function through(at: ReturnType<typeof upstream>, stream: string, size: number, body: object = {}) {
  const meter = wireAt(at, RESPONSES).meter(read({ stream: true, ...body }), SSE)
  const whole = bytes(stream)
  const out: Uint8Array[] = []
  for (let from = 0; from < whole.length; from += size) out.push(meter.push(whole.slice(from, from + size)).slice())
  out.push(meter.close().slice())
  const before = textOf(Buffer.concat(out))
  return { before, sent: before + textOf(meter.ending), meter }
}
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [name, data] = event.split('\n')
      const json = JSON.parse(data?.replace('data: ', '') ?? '')
      expect(name).toBe(`event: ${json.type}`)
      return json
    })

const FUNCTION = { type: 'function', name: 'weather', description: 'd', parameters: { type: 'object' }, strict: true }

describe('a call of Responses', () => {
  test('is read: its cap, its text, images and files, and whether it has tools', () => {
    const request = read({
      max_output_tokens: 20,
      tools: [FUNCTION],
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          ],
        },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'f' }] },
        { type: 'reasoning', summary: [], encrypted_content: 'AAAA' },
      ],
    })
    expect(request).toMatchObject({
      model: 'm',
      stream: false,
      cap: 20,
      choices: 1,
      hasTools: true,
      parts: { images: 1, imageBytes: 4, opaque: 1 },
      uncovered: [],
    })
    expect(read({ stream: true, max_output_tokens: null })).toMatchObject({ stream: true, cap: null })
  })

  test.each([
    [{ input: 'x' }, 'missing_parameter model'],
    [{ model: 1, input: 'x' }, 'invalid_parameter model'],
    [{ model: 'm' }, 'missing_parameter input'],
    [{ model: 'm', input: [] }, 'invalid_parameter input'],
    [{ model: 'm', input: ['x'] }, 'invalid_parameter input'],
    [{ model: 'm', input: { role: 'user' } }, 'invalid_parameter input'],
    [{ model: 'm', input: 'x', max_output_tokens: 0 }, 'invalid_parameter max_output_tokens'],
    [{ model: 'm', input: 'x', stream: 'yes' }, 'invalid_parameter stream'],
    [{ model: 'm', input: 'x', store: 1 }, 'invalid_parameter store'],
    [{ model: 'm', input: 'x', background: true }, 'unsupported_parameter background'],
    [{ model: 'm', input: 'x', previous_response_id: 'resp_1' }, 'unsupported_parameter previous_response_id'],
    [{ model: 'm', input: 'x', conversation: { id: 'conv_1' } }, 'unsupported_parameter conversation'],
    [{ model: 'm', prompt: { id: 'pmpt_1' } }, 'unsupported_parameter prompt'],
    [{ model: 'm', input: 'x', background: false, previous_response_id: null, conversation: null }, 'taken'],
  ])('%j: %s', (body, outcome) => {
    expect(refused(body)).toBe(outcome)
  })

  test("is covered by a token price with everything that SDKs send, and without the vendor's own tools", () => {
    const sent = {
      instructions: 'i',
      temperature: 1,
      top_p: 1,
      parallel_tool_calls: false,
      metadata: { a: 'b' },
      user: 'u',
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: true,
      background: false,
      service_tier: 'auto',
      truncation: 'disabled',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      stream_options: {},
      top_logprobs: 1,
      max_tool_calls: 3,
      prompt_cache_retention: '24h',
      tool_choice: { type: 'function', name: 'weather' },
      tools: [FUNCTION, { type: 'custom', name: 'patch' }],
    }
    // A token price has one for each known lifetime of caches.
    expect(read(sent).uncovered).toEqual(['prompt_cache_retention.24h'])
    const hosted = ['web_search', 'file_search', 'computer_use_preview', 'code_interpreter', 'image_generation', 'mcp']
    for (const type of hosted) expect(read({ tools: [{ type }] }).uncovered).toEqual([`tools.${type}`])
    expect(
      read({
        tools: ['x'],
        tool_choice: { type: 'mcp' },
        include: ['file_search_call.results'],
        moderation: {},
        reasoning: { mode: 'pro' },
        context_management: [],
        service_tier: 'flex',
        input: [{ type: 'code_interpreter_call' }, { role: 'user', content: [{ type: 'input_audio' }] }],
      }).uncovered.toSorted(),
    ).toEqual([
      'context_management',
      'include.file_search_call.results',
      'input.code_interpreter_call',
      'input.input_audio',
      'moderation',
      'reasoning.mode',
      'service_tier.flex',
      'tool_choice.mcp',
      'tools.type',
    ])
  })

  test('hides no image, file or vendor tool as a single object in place of a list, or inside another item', () => {
    const file = { type: 'input_file', file_id: 'f' }
    const hidden = read({
      tools: FUNCTION,
      input: [
        { role: 'user', content: file },
        { type: 'function_call_output', call_id: 'c', output: { type: 'input_image', file_id: 'f' } },
        { type: 'reasoning', summary: [], content: [file] },
      ],
    })
    expect(hidden).toMatchObject({ hasTools: true, parts: { images: 1, opaque: 2 }, uncovered: [] })
    expect(read({ tools: { type: 'web_search' } }).uncovered).toEqual(['tools.web_search'])
    const sound = { role: 'user', content: { type: 'input_audio' } }
    expect(read({ input: [sound] }).uncovered).toEqual(['input.input_audio'])
    expect(asChat({ tools: FUNCTION, input: [{ role: 'user', content: { type: 'input_text', text: 'x' } }] })).toEqual(
      asChat({ tools: [FUNCTION], input: 'x' }),
    )
  })

  test('may hide output if it reasons', () => {
    expect(mayHideOutput(read({ reasoning: { effort: 'low' } }))).toBe(true)
    expect(mayHideOutput(read({ reasoning: { effort: 'none' }, tools: [FUNCTION] }))).toBe(false)
  })
})

describe('an upstream that speaks Responses', () => {
  test('gets the call unchanged, except for its name of the model, the missing cap, and store: false', () => {
    const body = (text: string, cap = 9) => {
      const request = RESPONSES.read(bytes(text), SSE)
      if (!request.ok) throw new Error(request.error.message)
      return textOf(wireAt(NATIVE, RESPONSES).bodyFor(request.value, NATIVE, cap))
    }
    expect(body('{ "model":"m", "input":"Ünï" }')).toBe(
      '{"store":false,"max_output_tokens":9, "model":"real", "input":"Ünï" }',
    )
    expect(body('{"store":true,"model":"real","input":"x","max_output_tokens":5}')).toBe(
      '{"store":false,"model":"real","input":"x","max_output_tokens":5}',
    )
    expect(body('{"model":"real","input":"x","max_output_tokens":null}')).toContain('"max_output_tokens":9')
  })

  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    output_tokens: 40,
    output_tokens_details: { reasoning_tokens: 30 },
    total_tokens: 140,
  }

  test('reports its usage in a plain answer; a failed one is not a success', () => {
    expect(RESPONSES.usageOf({ usage })).toEqual({
      input: 100,
      output: 40,
      cacheRead: 60,
      cacheWrite: 10,
      parts: { output_reasoning: 30 },
    })
    expect(RESPONSES.usageOf({ usage: { ...usage, input_tokens: -1 } })).toBeNull()
    expect(RESPONSES.usageOf({})).toBeNull()
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'abcd' }] }]
    const answer = { instructions: [{ text: 'long long' }], tools: [{ text: 'x' }], output }
    expect(RESPONSES.textBytes(JSON.stringify(answer))).toBe(4)
    const own = bytes({ status: 'completed', output })
    expect(RESPONSES.answerOf?.({ status: 'completed', output }, read({}), own)).toBe(own)
    expect(RESPONSES.answerOf?.({ status: 'completed' }, read({}), own)).toBeNull()
    expect(RESPONSES.answerOf?.({ status: 'failed', output }, read({}), own)).toBeNull()
  })

  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const opening = [
    event('response.created', { sequence_number: 0, response: { usage: null, error: null } }),
    event('response.output_text.delta', { sequence_number: 1, delta: 'Hel' }),
    event('response.output_text.delta', { sequence_number: 2, delta: 'response.completed error' }),
    event('response.output_text.done', { sequence_number: 3, text: 'Hel...' }),
  ].join('')

  test.each(SIZES)('streams byte for byte, split every %i bytes, and its end waits for the charge', (size) => {
    for (const type of ['response.completed', 'response.incomplete']) {
      const last = event(type, { sequence_number: 4, response: { usage } })
      const { before, sent, meter } = through(NATIVE, opening + last, size)
      expect([before, sent]).toEqual([opening, opening + last])
      expect(meter).toMatchObject({ isComplete: true, hasFailed: false, sentEvents: 4 })
      const counts = { input: 100, output: 40, cacheRead: 60, cacheWrite: 10, parts: { output_reasoning: 30 } }
      expect(meter.seen).toEqual({ counts, isFinal: true, textBytes: 27 })
    }
  })

  test.each(SIZES)('that fails or breaks off is incomplete, split every %i bytes', (size) => {
    expect(through(NATIVE, opening, size).meter).toMatchObject({ isComplete: false, hasFailed: false })
    for (const failed of [
      event('response.failed', { sequence_number: 4, response: { error: { message: 'no' } } }),
      event('error', { sequence_number: 4, message: 'no' }),
    ]) {
      const { sent, meter } = through(NATIVE, opening + failed, size)
      expect(sent).toBe(opening + failed)
      expect(meter).toMatchObject({ isComplete: false, hasFailed: true })
    }
  })
})

describe('an upstream that speaks chat completions only', () => {
  test('gets text as a chat, with its own names of the model and the cap', () => {
    expect(asChat({ input: 'Hello', instructions: 'Be brief' })).toEqual({
      model: 'real',
      max_tokens: 9,
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hello' },
      ],
    })
    expect(asChat({ stream: true, max_output_tokens: 5 })).toMatchObject({
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('gets a conversation with images and function calls; adjacent system texts are joined, reasoning is left out', () => {
    const { messages } = asChat({
      instructions: 'Be brief',
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'and kind' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'at' },
            { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'low' },
            { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'original' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I call' }] },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Paris"}' },
        { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'Rain' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'Sun' }] },
        { type: 'function_call', call_id: 'c3', name: 'weather', arguments: '{}' },
      ],
    })
    const call = (id: string, text: string) => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: text },
    })
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief\n\nand kind' },
      { role: 'user', content: 'Look' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'at' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        ],
      },
      { role: 'assistant', content: 'I call', tool_calls: [call('c1', '{"city":"Paris"}'), call('c2', '{}')] },
      { role: 'tool', tool_call_id: 'c1', content: 'Rain' },
      { role: 'tool', tool_call_id: 'c2', content: 'Sun' },
      { role: 'assistant', content: null, tool_calls: [call('c3', '{}')] },
    ])
  })

  test('gets tools, formats and settings under its names; what does not affect the answer is left out', () => {
    const schema = { type: 'object' }
    const sent = asChat({
      tools: [FUNCTION],
      tool_choice: { type: 'function', name: 'weather' },
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'n', schema, strict: null }, verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto' },
      temperature: 0.5,
      top_p: null,
      user: 'u',
      metadata: { a: 'b' },
      store: true,
      prompt_cache_key: 'k',
      include: ['reasoning.encrypted_content'],
    })
    const { type: _, ...weather } = FUNCTION
    expect(sent).toEqual({
      model: 'real',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [{ type: 'function', function: weather }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
      verbosity: 'low',
      reasoning_effort: 'low',
      temperature: 0.5,
      user: 'u',
    })
    expect(asChat({ text: { format: { type: 'json_object' } }, parallel_tool_calls: true })).toEqual({
      model: 'real',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
      response_format: { type: 'json_object' },
    })
  })

  test('gets the functions of a namespace as functions of its own, and their calls find back to it', () => {
    const group = (name: string, ...names: string[]) => ({
      type: 'namespace',
      name,
      description: 'd',
      tools: names.map((one) => ({ ...FUNCTION, name: one })),
    })
    const long = 'n'.repeat(70)
    const body = {
      tools: [{ ...FUNCTION, name: 'files__read' }, group('files', 'read', 'list'), group('a.b', long), FUNCTION],
      input: [
        { type: 'function_call', call_id: 'c1', namespace: 'files', name: 'list', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'x' },
        { type: 'function_call', call_id: 'c2', namespace: 'gone', name: 'f', arguments: '{}' },
      ],
      tool_choice: { type: 'function', namespace: 'files', name: 'list' },
    }
    const { tools, messages, tool_choice: choice } = asChat(body)
    const names: string[] = tools.map((tool: { function: { name: string } }) => tool.function.name)
    expect(names.slice(0, 2)).toEqual(['files__read', 'weather'])
    expect(names[3]).toBe('files__list')
    expect(new Set(names).size).toBe(5)
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect([messages[0].tool_calls[0].function.name, messages[2].tool_calls[0].function.name]).toEqual([
      'files__list',
      'gone__f',
    ])
    expect(choice.function.name).toBe('files__list')
    const called = (name: string) => ({ type: 'function', function: { name, arguments: '{}' } })
    const made = names.map((name, at) => ({ ...called(name), id: `c${at}`, index: at }))
    const targets = [
      { name: 'files__read' },
      { name: 'weather' },
      { namespace: 'files', name: 'read' },
      { namespace: 'files', name: 'list' },
      { namespace: 'a.b', name: long },
    ].map((target) => ({ namespace: undefined, ...target }))
    const plain = { message: { content: null, tool_calls: made }, finish_reason: 'tool_calls', index: 0 }
    const answer = answered({ id: 'x', choices: [plain], usage: openAi.usage({ input: 1, output: 1 }) }, body)
    const of = ({ namespace, name }: { namespace?: string; name: string }) => ({ namespace, name })
    expect(answer.output.map(of)).toEqual(targets)
    const delta = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: made } }] })}\n\n`
    const end = openAi.words([], { input: 1, output: 1 }).join('')
    const events = eventsOf(through(CHAT_ONLY, delta + end, 64, body).sent)
    expect(events.at(-1).response.output.map(of)).toEqual(targets)
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    expect(done.map(({ item }) => of(item))).toEqual(targets)
  })

  test('gets tools that take text as functions with one text, also those that come as an item of the input', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    const tool = (name: string) => ({ type: 'custom', name, description: 'Runs it.', format })
    const body = {
      tools: [tool('patch')],
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'own', tools: [tool('exec')] }],
        },
        { role: 'user', content: 'Hello' },
        { type: 'custom_tool_call', call_id: 'c1', namespace: 'own', name: 'exec', input: 'text("a")' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'a' },
      ],
    }
    expect(read(body)).toMatchObject({ hasTools: true, vendorTools: 0, uncovered: [] })
    const { tools, messages } = asChat(body)
    expect(tools.map(({ function: { name } }: { function: { name: string } }) => name)).toEqual(['patch', 'own__exec'])
    expect(tools[1].function).toMatchObject({
      description: expect.stringMatching(/^Runs it\.[\s\S]*lark grammar:\nstart: "x"$/),
      parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
    })
    expect(messages.slice(1)).toMatchObject([
      { tool_calls: [{ id: 'c1', function: { name: 'own__exec', arguments: '{"input":"text(\\"a\\")"}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'a' },
    ])
    const made = [
      { index: 0, id: 'c2', type: 'function', function: { name: 'own__exec', arguments: '{"input":"1+1"}' } },
      { index: 1, id: 'c3', type: 'function', function: { name: 'patch', arguments: 'plain text' } },
    ]
    const expected = [
      { type: 'custom_tool_call', call_id: 'c2', namespace: 'own', name: 'exec', input: '1+1', status: 'completed' },
      { type: 'custom_tool_call', call_id: 'c3', name: 'patch', input: 'plain text', status: 'completed' },
    ]
    const choice = { message: { content: null, tool_calls: made }, finish_reason: 'tool_calls', index: 0 }
    expect(
      answered({ id: 'x', choices: [choice], usage: openAi.usage({ input: 1, output: 1 }) }, body).output,
    ).toMatchObject(expected)
    const halves = [made, made.map(({ index }) => ({ index, function: { arguments: '' } }))].map(
      (calls) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: calls } }] })}\n\n`,
    )
    const events = eventsOf(
      through(CHAT_ONLY, [...halves, ...openAi.words([], { input: 1, output: 1 })].join(''), 64, body).sent,
    )
    expect(events.at(-1).response.output).toMatchObject(expected)
    const inputs = events.filter(({ type }) => type === 'response.custom_tool_call_input.done')
    expect(inputs.map(({ input }) => input)).toEqual(['1+1', 'plain text'])
    expect(events.some(({ type }) => type.includes('function_call'))).toBe(false)
  })

  test("gets the caller's search for tools as a function, and offers what it found", () => {
    const found = { type: 'namespace', name: 'mcp__files', tools: [{ ...FUNCTION, name: 'read' }] }
    const body = {
      tools: [{ type: 'tool_search', execution: 'client', description: 'Finds', parameters: { type: 'object' } }],
      input: [
        { type: 'tool_search_call', call_id: 't1', execution: 'client', arguments: { query: 'files' } },
        { type: 'tool_search_output', call_id: 't1', execution: 'client', tools: [found] },
      ],
    }
    const [, output] = body.input
    const { tools } = asChat({
      ...body,
      tools: [...body.tools, FUNCTION],
      input: [...body.input, { ...output, tools: [found, FUNCTION] }],
    })
    // Found by two searches, offered once.
    expect(tools).toHaveLength(3)
    const { messages } = asChat(body)
    expect(tools.map(({ function: { name } }: { function: { name: string } }) => name)).toEqual([
      'tool_search',
      'weather',
      'mcp__files__read',
    ])
    expect(messages).toMatchObject([
      { tool_calls: [{ id: 't1', function: { name: 'tool_search', arguments: '{"query":"files"}' } }] },
      { role: 'tool', tool_call_id: 't1', content: JSON.stringify([found]) },
    ])
    const made = [
      { index: 0, id: 't2', type: 'function', function: { name: 'tool_search', arguments: '{"query":"x"}' } },
    ]
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: made } }] })}\n\n`
    const stream = [chunk, ...openAi.words([], { input: 1, output: 1 })].join('')
    expect(eventsOf(through(CHAT_ONLY, stream, 64, body).sent).at(-1).response.output).toEqual([
      {
        id: expect.stringMatching(/^tsc_/),
        type: 'tool_search_call',
        status: 'completed',
        call_id: 't2',
        execution: 'client',
        arguments: { query: 'x' },
      },
    ])
  })

  test('gets members that both APIs have in common with open servers, and no search that is switched off', () => {
    const sent = asChat({
      chat_template_kwargs: { enable_thinking: false },
      top_k: 4,
      client_metadata: { a: 'b' },
      tools: [{ type: 'web_search', external_web_access: false }],
      input: [
        { type: 'web_search_call', id: 'w', action: {} },
        { role: 'user', content: 'Hello' },
      ],
    })
    expect(sent).toEqual({
      model: 'real',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
      chat_template_kwargs: { enable_thinking: false },
      top_k: 4,
    })
  })

  test.each([
    [{ tools: [{ type: 'local_shell' }] }, 'tools.local_shell'],
    [{ tool_choice: { type: 'allowed_tools', tools: [] } }, 'tool_choice.allowed_tools'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ include: ['message.output_text.logprobs'] }, 'include.message.output_text.logprobs'],
    [{ truncation: 'auto' }, 'truncation'],
    [{ text: { format: { type: 'grammar' } } }, 'text.format'],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }, 'input.input_file'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, 'input.input_image'],
    [{ input: [{ type: 'local_shell_call_output', call_id: 'c', output: 'x' }] }, 'input.local_shell_call_output'],
    [
      { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'x' }] }] },
      'input.input_image',
    ],
  ])('does not receive %j, which a chat cannot express', (body, beyond) => {
    const request = read(body)
    expect(request.chat?.beyond).toBe(beyond)
    expect([serves(CHAT_ONLY, RESPONSES, request), serves(NATIVE, RESPONSES, request)]).toEqual([false, true])
  })

  const choice = (message: object, finish = 'stop') => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 7,
    model: 'real',
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: { ...openAi.usage({ input: 10, output: 4, cached: 6 }), completion_tokens_details: { reasoning_tokens: 3 } },
  })

  test('answers with a response that repeats the settings of its call, and stores nothing', () => {
    const body = { instructions: 'Be\nbrief', tools: [FUNCTION], metadata: { a: 'b' }, temperature: 0.5, store: true }
    const { id, output, ...response } = answered(choice({ role: 'assistant', content: 'Hi' }), body)
    expect(id).toMatch(/^resp_[0-9a-f]{32}$/)
    expect(output).toEqual([
      {
        id: id.replace('resp_', 'msg_'),
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'Hi' }],
      },
    ])
    expect(response).toMatchObject({
      object: 'response',
      created_at: 7,
      model: 'real',
      status: 'completed',
      store: false,
      error: null,
      instructions: 'Be\nbrief',
      tools: [FUNCTION],
      metadata: { a: 'b' },
      temperature: 0.5,
      tool_choice: 'auto',
      incomplete_details: null,
      previous_response_id: null,
      parallel_tool_calls: true,
      top_p: 1,
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 6, cache_write_tokens: 0 },
        output_tokens: 4,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 14,
      },
    })
  })

  test('answers with function calls, a refusal, or an end at the cap; an answer without a choice is a failure', () => {
    const calls = ['c1', ''].map((id) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } }))
    const called = answered(choice({ content: null, tool_calls: calls }, 'tool_calls')).output
    expect(called).toMatchObject([
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}', status: 'completed' },
      { type: 'function_call', call_id: expect.stringMatching(/^call_[0-9a-f]{32}_1$/) },
    ])
    expect(new Set(called.map(({ id }: { id: string }) => id)).size).toBe(2)
    expect(answered(choice({ content: null, refusal: 'No' })).output[0].content).toEqual([
      { type: 'refusal', refusal: 'No' },
    ])
    expect(answered(choice({ content: 'Hel' }, 'length'))).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    })
    expect(answered(choice({ content: '' })).output[0].content[0].text).toBe('')
    expect(answered({ choices: [] })).toBeNull()
    expect(answered({ error: { message: 'no' } })).toBeNull()
  })

  test.each(SIZES)('streams typed events, split every %i bytes, metered as the underlying chat', (size) => {
    const stream = openAi.words(['Hel', 'lo "ü"\n'], { input: 10, output: 4 }).join('')
    const { before, sent, meter } = through(CHAT_ONLY, `: keep\n\n${stream}`, size, { instructions: 'i' })
    expect(meter).toMatchObject({ isComplete: true, hasFailed: false })
    expect(meter.seen).toMatchObject({ counts: { input: 10, output: 4 }, isFinal: true })
    const events = eventsOf(sent.replace(': keep\n\n', ''))
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at))
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.delta', 'output_text.done'],
      ...['content_part.done', 'output_item.done', 'completed'],
    ])
    expect(events.at(6)).toMatchObject({ text: 'Hello "ü"\n', output_index: 0, content_index: 0 })
    expect(events.at(-1).response).toMatchObject({
      status: 'completed',
      instructions: 'i',
      output: [{ content: [{ text: 'Hello "ü"\n' }] }],
      usage: { input_tokens: 10, output_tokens: 4, total_tokens: 14 },
    })
    expect(new Set(events.flatMap(({ response }) => (response ? [response.id] : []))).size).toBe(1)
    // The event that says that it ended is held back until the charge is durable.
    expect(before).not.toContain('response.completed')
  })

  test.each(SIZES)('streams text and interleaved function calls, split every %i bytes', (size) => {
    const call = (index: number, text: string, head: object = {}) =>
      openAi.chunk({ tool_calls: [{ index, ...head, function: { ...head, arguments: text } }] })
    const stream = [
      openAi.chunk({ role: 'assistant', content: 'I call' }),
      call(0, '', { id: 'c0', name: 'weather' }),
      call(1, '{', { id: 'c1', name: 'time' }),
      call(0, '{"a":'),
      call(1, '}'),
      call(0, '1}'),
      openAi.chunk({ content: 'and wait' }, 'tool_calls'),
      openAi.total({ input: 10, output: 4 }),
      openAi.done,
    ].join('')
    const events = eventsOf(through(CHAT_ONLY, stream, size).sent)
    const { output } = events.at(-1).response
    expect(output).toMatchObject([
      { type: 'message', content: [{ text: 'I call' }] },
      { type: 'function_call', call_id: 'c0', name: 'weather', arguments: '{"a":1}', status: 'completed' },
      { type: 'function_call', call_id: 'c1', name: 'time', arguments: '{}' },
      { type: 'message', content: [{ text: 'and wait' }] },
    ])
    expect(new Set(output.map(({ id }: { id: string }) => id)).size).toBe(4)
    const added = events.filter(({ type }) => type === 'response.output_item.added')
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    expect(added.map(({ output_index: at }) => at)).toEqual([0, 1, 2, 3])
    for (const { item, output_index: at } of done) expect(item).toEqual(output[at])
    expect(done).toHaveLength(4)
  })

  test('streams an end at the cap, a refusal, and an empty answer', () => {
    const capped = through(CHAT_ONLY, openAi.chunk({ content: 'x' }, 'length') + openAi.done, 64)
    expect(eventsOf(capped.sent).at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage: null },
    })
    const no = [openAi.chunk({ content: 'So' }), openAi.chunk({ refusal: 'No' }, 'stop'), openAi.done].join('')
    const { content } = eventsOf(through(CHAT_ONLY, no, 64).sent).at(-1).response.output[0]
    expect(content).toMatchObject([
      { type: 'output_text', text: 'So' },
      { type: 'refusal', refusal: 'No' },
    ])
    const empty = eventsOf(through(CHAT_ONLY, openAi.done, 64).sent)
    expect(empty.at(-1)).toMatchObject({ response: { output: [{ content: [{ text: '' }] }] } })
  })

  test('repeats settings that were sent on several lines without splitting an event', () => {
    const body = '{"model":"m","stream":true,"input":"x","tools":[\r\n\r\n],"metadata":{\n\n"event":"data: x\\n\\n"}}'
    const request = RESPONSES.read(bytes(body), SSE)
    if (!request.ok) throw new Error(request.error.message)
    const meter = wireAt(CHAT_ONLY, RESPONSES).meter(request.value, SSE)
    const sent = textOf(meter.push(bytes(openAi.chunk({ content: 'Hi' }, 'stop') + openAi.done))) + textOf(meter.ending)
    const events = eventsOf(sent)
    for (const at of [0, 1, -1])
      expect(events.at(at).response).toMatchObject({ tools: [], metadata: { event: 'data: x\n\n' } })
    expect(events).toHaveLength(9)
  })

  test("uses the upstream's report, even if the end of the stream does not follow it", () => {
    const [start, word, , report] = openAi.words(['Hi'], { input: 10, output: 4 })
    const { meter } = through(CHAT_ONLY, `${start}${word}${report}`, 64)
    expect([meter.isComplete, meter.seen.isFinal, meter.seen.counts?.output]).toEqual([false, true, 4])
  })

  test('is always sent as whole, numbered events, and each opened item is closed once', () => {
    const odd = fc.jsonValue({ maxDepth: 2 })
    const or = <T>(good: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary: good as fc.Arbitrary<unknown> }, odd)
    const call = fc.record({
      index: or(fc.nat(2)),
      id: or(fc.constantFrom('c0', '')),
      function: or(fc.record({ name: or(fc.constant('f')), arguments: or(fc.string()) })),
    })
    const delta = fc.record({
      content: or(fc.string()),
      refusal: or(fc.constantFrom(null, 'No')),
      tool_calls: or(fc.array(call, { maxLength: 2 })),
    })
    const choice = fc.record({ delta: or(delta), finish_reason: or(fc.constantFrom(null, 'stop', 'length')) })
    const chunk = fc.record({ id: odd, created: odd, model: odd, choices: or(fc.array(or(choice), { maxLength: 1 })) })
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), fc.integer({ min: 1, max: 200 }), (chunks, size) => {
        const stream = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('') + openAi.done
        const events = eventsOf(through(CHAT_ONLY, stream, size).sent)
        expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at))
        const places = (type: string) => events.filter((event) => event.type === type).map(({ output_index: at }) => at)
        const opened = places('response.output_item.added')
        expect(opened).toEqual(opened.map((_, at) => at))
        expect(places('response.output_item.done').toSorted((a, b) => a - b)).toEqual(opened)
        expect(events.at(-1).response.output).toHaveLength(opened.length)
      }),
      { numRuns: 300 },
    )
  })

  test('that breaks off sends no end; a failure that it reports is a failed response', () => {
    const start = openAi.chunk({ content: 'Hel' })
    expect(through(CHAT_ONLY, start, 64).meter).toMatchObject({ isComplete: false, sentEvents: 5 })
    const { sent, meter } = through(CHAT_ONLY, `${start}data: {"error":{"message":"too hot"}}\n\n${openAi.done}`, 64)
    expect(meter.hasFailed).toBe(true)
    const events = eventsOf(sent)
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error', message: 'too hot' } },
    })
  })
})

test('sends a failure of the gateway as an error event in the form of both official clients, with the next number', () => {
  const event = RESPONSES.errorEvent('{"error":{"type":"api_error","code":"upstream_error","message":"no"}}', SSE, 7)
  expect(eventsOf(event)).toEqual([
    {
      type: 'error',
      sequence_number: 7,
      code: 'upstream_error',
      message: 'no',
      param: null,
      error: { type: 'api_error', code: 'upstream_error', message: 'no' },
    },
  ])
})
