import { expect, test } from 'bun:test'
import { RunningCalls } from '../../server/mcp/running-calls'
import { answerMcp } from '../../server/mcp/server'
import type { Tool } from '../../server/mcp/tool'
import { until } from '../support/until'

const SLOW: Tool = {
  name: 'slow',
  title: 'Slow',
  description: 'Takes its time.',
  inputSchema: { type: 'object' },
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  isFromOutside: false,
  isLong: true,
  route: { kind: 'free', name: 'slow', scope: 'any' },
  call: () => ({ method: 'GET', path: '/slow', headers: {}, body: undefined }),
}

function asked(progressToken?: string) {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'slow', arguments: {}, ...(progressToken && { _meta: { progressToken } }) },
  }
  const answer = Promise.withResolvers<Response>()
  const ticks: (() => void)[] = []
  const stopped: boolean[] = []
  const response = answerMcp({
    request: new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(message),
    }),
    message,
    caller: 'key_1',
    payment: null,
    tools: [SLOW],
    running: new RunningCalls(),
    takesEvents: true,
    isListed: () => true,
    run: () => answer.promise,
    every: (_ms, tick) => {
      ticks.push(tick)
      return () => stopped.push(true)
    },
  })
  return { response, ticks, stopped, end: () => answer.resolve(Response.json({ done: true })) }
}

test('a long tool answers with a stream: progress while it works, then its result, and progress stops', async () => {
  const { response, ticks, stopped, end } = asked('p1')
  const stream = await response
  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  const text = stream.text()
  await until(() => ticks.length > 0)
  ticks[0]?.()
  ticks[0]?.()
  await new Promise((resolve) => setImmediate(resolve))
  end()
  const messages = [...(await text).matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? 'null'))
  expect(messages.slice(0, -1).map(({ method }) => method)).toEqual(Array(2).fill('notifications/progress'))
  expect(messages[0].params).toMatchObject({ progressToken: 'p1', progress: expect.any(Number) })
  expect(messages.at(-1).result.structuredContent).toEqual({ done: true, gateway: { cost_micros_usd: 0 } })
  expect(stopped).toEqual([true])
})

test('without a progress token no progress is sent', async () => {
  const { response, ticks, end } = asked()
  const stream = await response
  end()
  expect([...(await stream.text()).matchAll(/^data: /gm)]).toHaveLength(1)
  expect(ticks).toEqual([])
})
