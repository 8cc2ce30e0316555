import { describe, expect, test } from 'bun:test'
import type { WirePath } from '../../../server/pipeline/models/wires/model-wire'
import { COMPLETIONS } from '../../../server/pipeline/models/wires/openai/completions-wire'
import { openAi } from '../../support/vendor-double'

const SSE: WirePath = { model: null, stream: true, events: true }
const bytes = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
const textOf = (of: Uint8Array) => new TextDecoder().decode(of)
function read(body: object) {
  const request = COMPLETIONS.read(bytes({ model: 'm', prompt: 'Hello', ...body }), SSE)
  if (!request.ok) throw new Error(request.error.message)
  return request.value
}
function through(stream: string, size: number, body: object = {}) {
  const meter = COMPLETIONS.meter(read({ stream: true, ...body }), SSE)
  const whole = bytes(stream)
  const out: Uint8Array[] = []
  for (let at = 0; at < whole.length; at += size) out.push(meter.push(whole.slice(at, at + size)).slice())
  out.push(meter.close().slice())
  return { sent: textOf(Buffer.concat(out)), meter }
}
const jsonOf = (sent: string) =>
  sent
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.replace('data: ', '')))

describe('completions of one prompt', () => {
  test('become a chat of one message, with the settings that both forms share', () => {
    const settings = { temperature: 0.5, stop: ['\n'], seed: 7, logit_bias: { 1: 2 }, user: 'u', top_p: null }
    const request = read({ ...settings, prompt: ['Hello'], echo: false, suffix: null, n: 1, max_tokens: 5 })
    expect(request).toMatchObject({ cap: 5, choices: 1, hasTools: false, uncovered: [] })
    const { top_p: _, ...shared } = settings
    expect(JSON.parse(textOf(request.chat?.body ?? bytes({})))).toEqual({
      messages: [{ role: 'user', content: 'Hello' }],
      ...shared,
    })
    expect(read({ echo: true, logprobs: 1, best_of: 2 }).uncovered).toEqual(['echo', 'logprobs', 'best_of'])
  })

  test.each([1, 2, 7, 64, 100_000])('stream as text, split every %i bytes, with usage only if requested', (size) => {
    const stream = openAi.words(['Hel', 'lo'], { input: 10, output: 4 }).join('')
    const { sent, meter } = through(stream, size)
    expect(jsonOf(sent).map(({ choices: [choice] }) => [choice.text, choice.finish_reason])).toEqual([
      ['Hel', null],
      ['lo', null],
      ['', 'stop'],
    ])
    expect(sent).not.toContain('usage')
    expect(textOf(meter.ending)).toBe('data: [DONE]\n\n')
    expect(meter.seen).toMatchObject({ counts: { input: 10, output: 4 }, isFinal: true })
    const asked = jsonOf(through(stream, size, { stream_options: { include_usage: true } }).sent)
    expect(asked.at(-1)).toMatchObject({ object: 'text_completion', choices: [], usage: { total_tokens: 14 } })
    expect(asked[0].usage).toBeNull()
  })

  test('pass a failure of the upstream on, and omit the end marker then', () => {
    const { sent, meter } = through(`${openAi.chunk({ content: 'x' })}data: {"error":{"message":"no"}}\n\n`, 64)
    expect(jsonOf(sent).at(-1)).toEqual({ error: { message: 'no' } })
    expect([meter.hasFailed, meter.isComplete, meter.ending.length]).toEqual([true, false, 0])
  })
})
