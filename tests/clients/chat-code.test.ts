import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ENDPOINT_TYPES } from '../../dashboard/src/api/playground/chat-wires'
import { chatCode } from '../../dashboard/src/features/playground/chat-code'
import type { MadeKey } from '../support/harness'
import { type ModelGateway, openModelGateway } from '../support/model-gateway'

const ROOT = join(import.meta.dir, '..', '..')
/** Texts that would break out of bad quotes, in a shell, in Python or in TypeScript. */
const ODD = `It's "odd": \`$(id)\` \${HOME} \\n äöü 🙂`

let gateway: ModelGateway
let key: MadeKey
let origin: string
beforeAll(async () => {
  gateway = await openModelGateway([])
  key = (await gateway.funded()).key
  origin = gateway.serve()
})
afterAll(() => gateway.close())

const ask = (stream: boolean) => ({
  model: 'sandbox/echo',
  system: 'Repeat.',
  messages: [
    { role: 'user', text: 'Hello' },
    { role: 'assistant', text: 'Hello' },
    { role: 'user', text: ODD },
  ] as const,
  temperature: 0.5,
  maxTokens: 200,
  stream,
})

async function ran(command: string[], input: string): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: ROOT,
    env: { ...Bun.env, GATEWAY_API_KEY: key.secret },
    stdin: new TextEncoder().encode(input),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect(await child.exited, problems).toBe(0)
  return out
}

describe('the code of the playground, pasted and run', () => {
  test.each(ENDPOINT_TYPES.flatMap((type) => [true, false].map((stream) => [type, stream] as const)))(
    'TypeScript by the official client of %s (stream: %p) gives the answer',
    async (type, stream) => {
      const code = chatCode('typescript', type, ask(stream), origin)
      expect((await ran([process.execPath, 'run', '-'], code)).trimEnd()).toBe(ODD)
    },
  )

  test.each(ENDPOINT_TYPES)('curl of %s gives the answer', async (type) => {
    const answer: unknown = JSON.parse(await ran(['sh'], chatCode('curl', type, ask(false), origin)))
    expect(JSON.stringify(answer)).toContain(JSON.stringify(ODD).slice(1, -1))
    expect(await ran(['sh'], chatCode('curl', type, ask(true), origin))).toStartWith(
      type === 'messages' ? 'event: ' : 'data: ',
    )
  })
})
